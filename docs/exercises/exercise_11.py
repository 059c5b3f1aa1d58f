"""Exercise 11: gradients clipped by value."""

import tensorflow.compat.v1 as tf


def clipped_step(optimizer, loss, limit):
  """A step with each element of the gradients clipped to -limit to limit.

  The loss does not depend on all variables.
  """
  return optimizer.minimize(loss)  # Change this.
