"""Exercise 2: a locally connected layer."""

import tensorflow.compat.v1 as tf

import cifar10


def locally_connected(x, filters, name):
  """A layer of 3 x 3 filters, with separate weights at each position.

  From [batch, height, width, channels] to [batch, height, width, filters].
  """
  channels = x.shape.as_list()[3]
  with tf.variable_scope(name):
    # Change this: a convolution has the same weights everywhere.
    weights = cifar10._variable_with_weight_decay('weights',
                                                  [3, 3, channels, filters],
                                                  stddev=0.04, wd=0.004)
    biases = cifar10._variable_on_cpu('biases', [filters],
                                      tf.constant_initializer(0.1))
    product = tf.nn.conv2d(x, weights, [1, 1, 1, 1], 'SAME')
    return tf.nn.relu(product + biases)
