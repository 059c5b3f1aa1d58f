"""Exercise 12: frozen layers."""

import tensorflow.compat.v1 as tf

import cifar10


def train_upper_layers(total_loss, global_step):
  """A step that trains local3, local4 and softmax_linear, and counts itself.

  conv1 and conv2 are frozen: they stay as they are.
  """
  upper = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, 'local|softmax')
  opt = tf.train.GradientDescentOptimizer(cifar10.INITIAL_LEARNING_RATE)
  grads = opt.compute_gradients(total_loss, var_list=upper)
  return cifar10.train(total_loss, global_step, grads=grads)
