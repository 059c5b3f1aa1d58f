"""Initial weights with a variance that suits the size of a layer."""

import numpy as np
import tensorflow.compat.v1 as tf

# The factor of the variance, and what it is divided by.
_VARIANCE = {
  # Glorot and Bengio, "Understanding the difficulty of training deep
  # feedforward neural networks", 2010, equation 16.
  'xavier': (1.0, 'mean'),
  # He et al., "Delving Deep into Rectifiers", arXiv 1502.01852, equation 10.
  'he': (2.0, 'in'),
  # LeCun et al., "Efficient BackProp", 1998, section 4.6; the one that SELU
  # needs.
  'lecun': (1.0, 'in'),
}

# Standard deviation of a normal distribution of deviation 1 that is truncated
# at 2, as tf.truncated_normal does.
_TRUNCATED_STDDEV = 0.87962566103423978


def create(settings):
  """The initializer of weights.

  Args:
    settings: model.settings.Initialization.

  Returns:
    A function as tf.get_variable takes it; None for the tutorial's, which each
    layer brings with it.
  """
  if settings.initializer == 'tutorial':
    return None
  factor, fan = _VARIANCE[settings.initializer]
  if settings.initializer_fan != 'default':
    fan = settings.initializer_fan

  def initial_value(shape, dtype, partition_info=None):
    # Of a variable that is split over servers, the whole shape counts.
    whole = partition_info.full_shape if partition_info else shape
    variance = factor / fans(whole)[fan]
    if settings.initializer_distribution == 'uniform':
      limit = np.sqrt(3 * variance)
      return tf.random_uniform(shape, -limit, limit, dtype)
    stddev = np.sqrt(variance) / _TRUNCATED_STDDEV
    return tf.truncated_normal(shape, 0.0, stddev, dtype)

  return initial_value


def fans(shape):
  """How many inputs a unit has, how many outputs an input goes to, their mean.

  Args:
    shape: list of ints, the shape of weights: [..., inputs, outputs] of a fully
      connected layer; [..., rows, columns, channels, filters] of a convolution
      or, with a position in front, of a locally connected layer.

  Returns:
    dict of floats by 'in', 'out', 'mean'.
  """
  *window, inputs, outputs = shape[-4:]
  positions = np.prod(window)  # 1.0 without a window.
  fan_in, fan_out = positions * inputs, positions * outputs
  return {'in': fan_in, 'out': fan_out, 'mean': (fan_in + fan_out) / 2}
