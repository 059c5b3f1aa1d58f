"""Exercise 14: control dependencies."""

import tensorflow.compat.v1 as tf


def train_op(optimizer, loss, averages):
  """A step, then an update of the averages with the new values.

  Args:
    averages: tf.train.ExponentialMovingAverage, of all trained variables.
  """
  with tf.control_dependencies([optimizer.minimize(loss)]):
    return averages.apply(tf.trainable_variables())
