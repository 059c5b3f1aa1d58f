"""Activation functions."""

import tensorflow.compat.v1 as tf

_LEAKY_SLOPE = 0.2  # TensorFlow's default.

# Slopes of RReLU: 1/8 to 1/3. The paper draws their inverse, 3 to 8.
_SMALLEST_SLOPE, _LARGEST_SLOPE = 1 / 8, 1 / 3

_FIRST_PRELU_SLOPE = 0.25  # The paper's.


def activate(x, kind, is_training, name):
  """Applies an activation function.

  Args:
    x: float tensor, [batch, ..., channels].
    kind: name of the function, as --activation takes it.
    is_training: whether it is for training.
    name: name of the operation.

  Returns:
    Tensor of the type and shape of `x`.

  Raises:
    ValueError: `kind` is unknown.
  """
  if kind not in _FUNCTIONS:
    raise ValueError(
      'activation is %r; expected one of %s' % (kind, ', '.join(_FUNCTIONS))
    )
  return _FUNCTIONS[kind](x, is_training, name)


def _leaky_relu(x, is_training, name):
  """Maas et al., "Rectifier Nonlinearities Improve Neural Network Acoustic
  Models", 2013.
  """
  del is_training
  return tf.nn.leaky_relu(x, _LEAKY_SLOPE, name=name)


def _rrelu(x, is_training, name):
  """Slopes drawn at random: Xu et al., arXiv 1505.00853, section 2.4."""
  if not is_training:
    mean = (_SMALLEST_SLOPE + _LARGEST_SLOPE) / 2
    return tf.nn.leaky_relu(x, mean, name=name)
  slopes = tf.random_uniform(
    tf.shape(x), _SMALLEST_SLOPE, _LARGEST_SLOPE, tf.float32
  )
  return tf.maximum(x, tf.cast(slopes, x.dtype) * x, name=name)


def _prelu(x, is_training, name):
  """A trained slope for each channel: He et al., arXiv 1502.01852, section 2.1.

  Without weight decay, which would draw the slopes to zero.
  """
  del is_training
  with tf.device('/cpu:0'):
    slopes = tf.get_variable(
      'prelu_slopes',
      x.shape[-1:],
      tf.float32,
      tf.constant_initializer(_FIRST_PRELU_SLOPE),
      regularizer=tf.no_regularizer,
    )
  below = tf.cast(slopes, x.dtype) * tf.minimum(x, 0)
  return tf.add(tf.maximum(x, 0), below, name=name)


def _gelu(x, name=None):
  """x times the normal distribution's: Hendrycks and Gimpel, arXiv 1606.08415.

  By the error function; TensorFlow 1 has no operation for it.
  """
  return tf.multiply(x, 0.5 * (1 + tf.erf(x * 0.5**0.5)), name=name)


def _in_float32(function):
  """A function that is the same in training, computed in at least float32.

  TensorFlow 1 has it for no smaller type on CPUs.
  """

  def activate_in_float32(x, is_training, name):
    del is_training
    if x.dtype.size >= 4:
      return function(x, name=name)
    return tf.cast(function(tf.cast(x, tf.float32)), x.dtype, name=name)

  return activate_in_float32


_FUNCTIONS = {
  # Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural
  # Networks", 2012, section 3.1.
  'relu': lambda x, is_training, name: tf.nn.relu(x, name=name),
  'leaky_relu': _leaky_relu,
  'rrelu': _rrelu,
  'prelu': _prelu,
  'elu': _in_float32(tf.nn.elu),  # Clevert et al., arXiv 1511.07289.
  'selu': _in_float32(tf.nn.selu),  # Klambauer et al., arXiv 1706.02515.
  'gelu': _in_float32(_gelu),
  'tanh': _in_float32(tf.nn.tanh),
  'sigmoid': _in_float32(tf.nn.sigmoid),
}
