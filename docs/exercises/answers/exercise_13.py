"""Exercise 13: max-norm."""

import tensorflow.compat.v1 as tf


def limit_norms(weights, limit):
  """An operation that limits the norm of each unit's weights.

  The weights are [inputs, units], or [height, width, channels, filters]. A unit
  within the limit stays as it is.
  """
  axes = list(range(weights.shape.ndims - 1))
  return tf.assign(weights, tf.clip_by_norm(weights, limit, axes=axes))
