"""The layers of --top_layers=local, as in Krizhevsky's cuda-convnet.

local3 and local4 are convolutions without weight sharing: each position of the
image has its own filters.
"""

import tensorflow.compat.v1 as tf

from cifar10.nets import layers


def layer(x, filters, name, techniques):
  """A locally connected layer, initialized like the tutorial's local3."""
  _, height, width, channels = x.shape.as_list()
  with tf.variable_scope(name) as scope:
    shape = [height, width, 3, 3, channels, filters]
    weights = layers.variable_with_weight_decay('weights', shape, stddev=0.04,
                                                wd=0.004)
    product = locally_connected(x, techniques.normalized_weights(weights))
    if layers.current_options().is_portable:
      # Without another operation in between, TensorFlow 1 converts the sum with
      # the biases wrongly.
      product = tf.concat(tf.split(product, 2, 3), 3)
    shape = [height, width, filters]
    outputs = techniques.outputs(product, shape, 0.1, scope.name)
  return techniques.dropout(outputs, 'dropout')


def locally_connected(x, weights):
  """Applies the filters of each position to the window around it.

  Takes images, [batch, height, width, channels], which it pads with zeros, and
  weights, [height, width, rows, columns, channels, filters], where rows and
  columns are odd. Returns [batch, height, width, filters].
  """
  height, width, rows, columns, _, filters = weights.shape.as_list()
  # Positions first, for one matrix product per position.
  x = tf.transpose(tf.cast(x, weights.dtype), [1, 2, 0, 3])
  top, left = rows // 2, columns // 2
  padded = tf.pad(x, [[top, top], [left, left], [0, 0], [0, 0]])
  # tf.slice: the gradient of padded[...] takes ten times as long.
  windows = [
      tf.slice(padded, [row, column, 0, 0], [height, width, -1, -1])
      for row in range(rows)
      for column in range(columns)
  ]
  windows = tf.concat(windows, axis=3)
  matrices = tf.reshape(weights, [height, width, -1, filters])
  return tf.transpose(tf.matmul(windows, matrices), [2, 0, 1, 3])
