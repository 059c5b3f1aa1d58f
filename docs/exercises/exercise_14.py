"""Exercise 14: control dependencies."""

import tensorflow.compat.v1 as tf


def train_op(optimizer, loss, averages):
  """A step, then an update of the averages with the new values.

  Args:
    averages: tf.train.ExponentialMovingAverage, of all trained variables.
  """
  # Change this: the operations of a group run in any order.
  return tf.group(optimizer.minimize(loss),
                  averages.apply(tf.trainable_variables()))
