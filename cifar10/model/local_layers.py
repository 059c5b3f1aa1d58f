"""Locally connected layers: convolutions that share no weights.

As in Krizhevsky's cuda-convnet, each position of the image has filters of its
own.
"""

import tensorflow.compat.v1 as tf

from cifar10.model.layers import activation_summary
from cifar10.model.layers import variable_on_cpu
from cifar10.model.layers import variable_with_weight_decay


def local_layer(x, filters, name):
  """A layer of filters of 3 x 3 pixels and biases, others at each position.

  Initial values and decay are those that cuda-convnet and the tutorial's own
  local3 and local4 have in common.

  Args:
    x: float tensor, [batch, height, width, channels]; the batch size may be
      unknown, the others not.
    filters: how many there are at each position.
    name: name of the layer and its variable scope.

  Returns:
    tensor of the type of `x`, [batch, height, width, filters], not negative.
  """
  _, height, width, channels = x.shape.as_list()
  with tf.variable_scope(name) as scope:
    weights = variable_with_weight_decay(
      'weights',
      [height, width, 3, 3, channels, filters],
      stddev=0.04,
      wd=0.004,
      dtype=x.dtype,
    )
    biases = variable_on_cpu(
      'biases',
      [height, width, filters],
      tf.constant_initializer(0.1),
      dtype=x.dtype,
    )
    layer = tf.nn.relu(locally_connected(x, weights) + biases, name=scope.name)
    activation_summary(layer)
  return layer


def locally_connected(x, weights):
  """Applies to the window around each position the filters of that position.

  Windows reach beyond the edges, where there are zeros, so that the result is
  as high and wide as `x`.

  Args:
    x: float tensor, [batch, height, width, channels].
    weights: tensor of the type of `x`, [height, width, rows, columns,
      channels, filters]; for each position what tf.nn.conv2d takes for all.
      Windows have an odd number of rows and of columns.

  Returns:
    tensor of the type of `x`, [batch, height, width, filters].
  """
  height, width, rows, columns, _, filters = weights.shape.as_list()
  # Positions first: a matrix product for each.
  x = tf.transpose(x, [1, 2, 0, 3])
  top, left = rows // 2, columns // 2
  padded = tf.pad(x, [[top, top], [left, left], [0, 0], [0, 0]])
  # By tf.slice: the gradient of padded[...] takes ten times as long.
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
