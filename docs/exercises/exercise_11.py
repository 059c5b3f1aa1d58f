"""Exercise 11: gradients clipped by value."""

import tensorflow.compat.v1 as tf


def clipped_step(optimizer, loss, limit):
  """A step in which each number of a gradient is from -limit to limit.

  The loss does not use all variables.
  """
  return optimizer.minimize(loss)  # Change this.
