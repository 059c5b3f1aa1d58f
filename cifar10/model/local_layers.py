"""Locally connected layers: convolutions without weight sharing.

As in Krizhevsky's cuda-convnet, each position of the image has its own filters.
"""

import tensorflow.compat.v1 as tf

from cifar10.model import layers


def local_layer(x, filters, name, techniques):
  """A layer with its own 3 x 3 filters and biases at each position.

  Initialization and weight decay are those of the tutorial's local3 and local4,
  which agree with cuda-convnet.

  Args:
    x: float tensor, [batch, height, width, channels]; only the batch size may
      be unknown.
    filters: number of filters at each position.
    name: name of the layer and its variable scope.
    techniques: techniques.Techniques.

  Returns:
    Tensor of the type of `x`, [batch, height, width, filters].
  """
  _, height, width, channels = x.shape.as_list()
  with tf.variable_scope(name) as scope:
    weights = layers.variable_with_weight_decay(
      'weights',
      [height, width, 3, 3, channels, filters],
      stddev=0.04,
      wd=0.004,
    )
    biases = layers.variable_on_cpu(
      'biases', [height, width, filters], tf.constant_initializer(0.1)
    )
    norm = techniques.normalization(filters)
    linear = norm.outputs(locally_connected(x, norm.weights(weights)))
    layer = techniques.activate(linear + norm.biases(biases), name=scope.name)
    layers.activation_summary(layer)
  return techniques.dropout(layer, 'dropout')


def locally_connected(x, weights):
  """Applies the filters of each position to the window around it.

  Pads the image with zeros, as padding 'SAME' of tf.nn.conv2d does.

  Args:
    x: float tensor, [batch, height, width, channels].
    weights: tensor of the type of `x`, [height, width, rows, columns,
      channels, filters]: for each position the filters that tf.nn.conv2d would
      take for all. `rows` and `columns` are odd.

  Returns:
    Tensor of the type of `x`, [batch, height, width, filters].
  """
  height, width, rows, columns, _, filters = weights.shape.as_list()
  # Positions first, for one matrix product per position.
  x = tf.transpose(x, [1, 2, 0, 3])
  top, left = rows // 2, columns // 2
  padded = tf.pad(x, [[top, top], [left, left], [0, 0], [0, 0]])
  # tf.slice: the gradient of padded[...] takes ten times as long.
  windows = tf.concat(
    [
      tf.slice(padded, [row, column, 0, 0], [height, width, -1, -1])
      for row in range(rows)
      for column in range(columns)
    ],
    axis=3,
  )
  matrices = tf.reshape(weights, [height, width, -1, filters])
  return tf.transpose(tf.matmul(windows, matrices), [2, 0, 1, 3])
