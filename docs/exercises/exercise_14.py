"""Exercise 14: control dependencies."""

import tensorflow.compat.v1 as tf


def train_op(optimizer, loss, averages):
  """A step, then an update of the averages by the new variables.

  Args:
    averages: tf.train.ExponentialMovingAverage, of all trained variables.
  """
  # Change this: the two of a group run in any order.
  return tf.group(optimizer.minimize(loss),
                  averages.apply(tf.trainable_variables()))
