"""Exercise 4: evaluation without the moving averages."""

import tensorflow.compat.v1 as tf

import cifar10


def restore(session, path, use_averages):
  """Restores the network of the default graph from the checkpoint `path`.

  Each variable gets the value of its moving average if use_averages is true,
  otherwise its own.
  """
  averages = tf.train.ExponentialMovingAverage(cifar10.MOVING_AVERAGE_DECAY)
  if use_averages:
    saver = tf.train.Saver(averages.variables_to_restore())
  else:
    saver = tf.train.Saver(tf.trainable_variables())
  saver.restore(session, path)
