"""Exercise 10: the updates of batch normalization."""

import tensorflow.compat.v1 as tf


def train_op(loss):
  """A step of gradient descent that also updates the moving averages.

  The operations that update them are in the collection UPDATE_OPS.
  """
  # Change this: nothing runs the updates.
  return tf.train.GradientDescentOptimizer(0.1).minimize(loss)
