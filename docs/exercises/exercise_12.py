"""Exercise 12: frozen layers."""

import tensorflow.compat.v1 as tf

import cifar10


def train_upper_layers(total_loss, global_step):
  """A step that trains local3, local4 and softmax_linear, and counts itself.

  conv1 and conv2 are frozen: they stay as they are.
  """
  return cifar10.train(total_loss, global_step)  # Change this.
