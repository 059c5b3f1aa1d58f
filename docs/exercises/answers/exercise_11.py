"""Exercise 11: gradients clipped by value."""

import tensorflow.compat.v1 as tf


def clipped_step(optimizer, loss, limit):
  """A step with each element of the gradients clipped to -limit to limit.

  The loss does not depend on all variables.
  """
  pairs = [(tf.clip_by_value(gradient, -limit, limit), variable)
           for gradient, variable in optimizer.compute_gradients(loss)
           if gradient is not None]
  return optimizer.apply_gradients(pairs)
