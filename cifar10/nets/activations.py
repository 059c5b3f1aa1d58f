"""Activation functions."""

import math

import tensorflow.compat.v1 as tf

from cifar10.nets import layers
from cifar10.settings import Settings

_MIN_SLOPE, _MAX_SLOPE = 1 / 8, 1 / 3


def activate(x, kind, is_training, name,
             leaky_relu_slope=Settings.leaky_relu_slope):
  """Applies the activation function `kind`, as operation `name`.

  Keeps the type and shape of `x`, [batch, ..., channels]. Raises ValueError if
  `kind` is unknown.
  """
  if kind not in _KINDS:
    known = ', '.join(_KINDS)
    raise ValueError(f'activation is {kind!r}; expected one of {known}')
  if kind == 'rrelu' and is_training:
    return _random_relu(x, name)
  is_portable = layers.current_options().is_portable
  if kind == 'gelu':
    return _portable_gelu(x, name) if is_portable else _gelu(x, name)
  if kind == 'selu' and is_portable:
    return _portable_selu(x, name)
  # Maas et al., "Rectifier Nonlinearities Improve Neural Network Acoustic
  # Models", 2013, with a slope of 0.01. The default, 0.2, is that of Radford et
  # al., arXiv 1511.06434, and of TensorFlow.
  if kind == 'leaky_relu':
    return tf.nn.leaky_relu(x, leaky_relu_slope, name=name)
  if kind in _IN_FLOAT32 and x.dtype.size < 4:
    y = _FUNCTIONS[kind](tf.cast(x, tf.float32))
    return tf.cast(y, x.dtype, name=name)
  return _FUNCTIONS[kind](x, name=name)


def _random_relu(x, name):
  """Random slopes below 0, after Xu et al., arXiv 1505.00853, section 2.4.

  Here the slopes are uniform from 1/8 to 1/3, with a mean of 11/48, the slope
  outside training. The paper draws their inverse uniformly from 3 to 8, which
  gives a mean of ln(8/3) / 5 = 0.196, and tests with 2/11.
  """
  slopes = tf.random_uniform(tf.shape(x), _MIN_SLOPE, _MAX_SLOPE, tf.float32)
  return tf.maximum(x, tf.cast(slopes, x.dtype) * x, name=name)


def _prelu(x, name):
  """A trained slope for each channel: He et al., arXiv 1502.01852, section 2.1.

  It starts at the paper's 0.25. Weight decay would pull it to zero.
  """
  slopes = layers.float32_variable('prelu_slopes', x.shape[-1:],
                                   tf.constant_initializer(0.25))
  # In float32, for the sum over images and pixels that is their gradient.
  below = slopes * tf.cast(tf.minimum(x, 0), tf.float32)
  return tf.add(tf.maximum(x, 0), tf.cast(below, x.dtype), name=name)


def _gelu(x, name):
  """Hendrycks and Gimpel, arXiv 1606.08415; TensorFlow 1 has no operation."""
  # Unfused, its dozen operations take four times as long.
  is_compiled = layers.fusion_is_faster()

  @tf.custom_gradient
  def activated(x):

    def gradient(dy):
      with layers.fused(is_compiled):
        wide = tf.cast(x, tf.float32)
        cdf = _normal_cdf(wide)
        density = tf.exp(-0.5 * tf.square(wide)) / math.sqrt(2 * math.pi)
        dx = tf.cast(dy, tf.float32) * (cdf + wide * density)
        return tf.cast(dx, dy.dtype)

    with layers.fused(is_compiled):
      wide = tf.cast(x, tf.float32)
      return tf.cast(wide * _normal_cdf(wide), x.dtype), gradient

  return tf.identity(activated(x), name=name)


def _normal_cdf(x):
  """The normal distribution function; erfc keeps its small values exact."""
  return 0.5 * tf.erfc(x * -0.5**0.5)


def _portable_gelu(x, name):
  """GELU by operations that TensorFlow Lite has, too.

  That of TensorFlow 1 has no erf: Abramowitz and Stegun, "Handbook of
  Mathematical Functions", 1964, 7.1.26, approximates it within 1.5e-7.
  """
  if tf.__version__ >= '2':
    return tf.multiply(0.5 * x, 1 + tf.erf(x * 0.5**0.5), name=name)
  distance = tf.abs(x)
  u = 1 + 0.3275911 * 0.5**0.5 * distance
  polynomial = 0.254829592
  for factor in (-0.284496736, 1.421413741, -1.453152027, 1.061405429):
    polynomial = polynomial * u + factor
  # 1 - _normal_cdf(distance). A quotient of two tensors: TensorFlow Lite has no
  # reciprocal of one.
  tail = 0.5 * polynomial * tf.exp(-0.5 * tf.square(x)) / u**5
  return tf.subtract(tf.nn.relu(x), distance * tail, name=name)


def _portable_selu(x, name):
  """SELU by ELU: the TensorFlow Lite of TensorFlow 1 has only the latter."""
  scale, alpha = 1.0507009873554805, 1.6732632423543772
  below = alpha * tf.nn.elu(tf.minimum(x, 0.0))
  return tf.multiply(scale, tf.nn.relu(x) + below, name=name)


_FUNCTIONS = {
    # Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural
    # Networks", 2012, section 3.1.
    'relu': tf.nn.relu,
    'rrelu': lambda x, name: tf.nn.leaky_relu(x, (_MIN_SLOPE + _MAX_SLOPE) / 2,
                                              name=name),
    'prelu': _prelu,
    'elu': tf.nn.elu,  # Clevert et al., arXiv 1511.07289.
    'selu': tf.nn.selu,  # Klambauer et al., arXiv 1706.02515.
    'tanh': tf.nn.tanh,
    'sigmoid': tf.nn.sigmoid
}

_KINDS = ('leaky_relu', 'gelu', *_FUNCTIONS)

# On CPUs, TensorFlow 1 lacks these for types smaller than float32.
_IN_FLOAT32 = ('elu', 'selu', 'tanh', 'sigmoid')
