"""Exercise 4: evaluation without the moving averages."""

import tensorflow.compat.v1 as tf

import cifar10


def restore(session, path, use_averages):
  """Restores the network of the default graph from the checkpoint `path`.

  Each variable gets the value of its moving average if use_averages is true,
  otherwise its own.
  """
  # Change this.
  averages = tf.train.ExponentialMovingAverage(cifar10.MOVING_AVERAGE_DECAY)
  saver = tf.train.Saver(averages.variables_to_restore())
  saver.restore(session, path)
