"""The network of --top_layers=local: cuda-convnet's, with local layers.

As in Krizhevsky's cuda-convnet, local3 and local4 are convolutions without
weight sharing: each position of the image has its own filters. The other layers
are the tutorial's.
"""

import tensorflow.compat.v1 as tf

from cifar10.nets import layers


def inference(images, techniques):
  """Builds the network, with the signature of `cifar10.inference`."""
  pool2 = convolutions(images, techniques)
  local3 = _local_layer(pool2, 64, 'local3', techniques)
  local4 = _local_layer(local3, 32, 'local4', techniques)
  return softmax_linear(local4, techniques)


def convolutions(images, techniques):
  """The layers of `cifar10.inference` below local3, with its arguments.

  Returns pool2, [batch, height / 4, width / 4, 64] rounded up.
  """
  layers.check_images(images)
  images = techniques.dropout(images, 'input_dropout')
  conv1 = _convolution(images, 'conv1', techniques, bias=0.0)
  pool1 = _max_pool(conv1, 'pool1')
  norm1 = techniques.lrn(pool1, 4, alpha=0.001 / 9.0, name='norm1')
  norm1 = techniques.dropout(norm1, 'conv_dropout')
  conv2 = _convolution(norm1, 'conv2', techniques, bias=0.1)
  norm2 = techniques.lrn(conv2, 4, alpha=0.001 / 9.0, name='norm2')
  pool2 = _max_pool(norm2, 'pool2')
  return techniques.dropout(pool2, 'conv_dropout')


def softmax_linear(x, techniques):
  """The logits, [batch, num_classes], of the outputs of the layer below.

  The deviation of the weights is one over their inputs, the tutorial's 1 / 192
  for any size.
  """
  with tf.variable_scope('softmax_linear') as scope:
    rows, dim = layers.flatten(x)
    num_classes = techniques.num_classes
    weights = layers.variable_with_weight_decay('weights', [dim, num_classes],
                                                stddev=1 / dim)
    biases = layers.variable_on_cpu('biases', [num_classes],
                                    tf.constant_initializer(0.0),
                                    dtype=tf.float32)
    rows = tf.cast(rows, weights.dtype)
    product = tf.cast(tf.matmul(rows, weights), tf.float32)
    logits = tf.add(techniques.logits(product), biases, name=scope.name)
    layers.activation_summary(logits)
  return logits


def _convolution(x, name, techniques, bias):
  """A layer with 64 filters of 5 x 5 pixels."""
  with tf.variable_scope(name) as scope:
    kernel = layers.variable_with_weight_decay(
        'weights', [5, 5, x.shape.as_list()[3], 64], stddev=5e-2)
    conv = techniques.conv2d(x, kernel)
    return techniques.outputs(conv, [64], bias, scope.name)


def _max_pool(x, name):
  return tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME', name=name)


def _local_layer(x, filters, name, techniques):
  """A layer with its own 3 x 3 filters and biases at each position.

  Initialization and weight decay are those of the tutorial's local3 and local4,
  which agree with cuda-convnet.
  """
  _, height, width, channels = x.shape.as_list()
  with tf.variable_scope(name) as scope:
    shape = [height, width, 3, 3, channels, filters]
    weights = layers.variable_with_weight_decay('weights', shape, stddev=0.04,
                                                wd=0.004)
    product = locally_connected(x, techniques.folded(weights))
    if techniques.portable:
      # TensorFlow 1 converts the sum with biases wrongly without another
      # operation in between.
      product = tf.concat(tf.split(product, 2, 3), 3)
    shape = [height, width, filters]
    layer = techniques.outputs(product, shape, 0.1, scope.name)
  return techniques.dropout(layer, 'dropout')


def locally_connected(x, weights):
  """Applies the filters of each position to the window around it.

  Pads images, [batch, height, width, channels], with zeros, as tf.nn.conv2d
  does with 'SAME'. The weights, [height, width, rows, columns, channels,
  filters], are for each position the filters that tf.nn.conv2d would take for
  all; `rows` and `columns` are odd. Returns [batch, height, width, filters].
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
