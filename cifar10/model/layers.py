"""What `inference` is made of: variables, normalization, activations."""

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.util import session_settings
from cifar10.util import summaries

_IMAGES_IN_SUMMARIES = 16


def variable_on_cpu(name, shape, initializer, *, dtype=tf.float32):
  """A float32 variable in the memory of the CPU, where towers can share it.

  Args:
    name: name of the variable within the variable scope.
    shape: list of ints.
    initializer: initializer of the variable.
    dtype: type to compute with.

  Returns:
    The variable, as a tensor of type `dtype`.
  """
  with tf.device('/cpu:0'):
    var = tf.get_variable(name, shape, tf.float32, initializer)
  return tf.cast(var, dtype)


def variable_with_weight_decay(
  name, shape, *, stddev, wd=None, dtype=tf.float32
):
  """A variable drawn from a truncated normal distribution, decayed or not.

  Args:
    name: name of the variable within the variable scope.
    shape: list of ints.
    stddev: standard deviation of the distribution before truncation.
    wd: the L2 loss of the variable times `wd` is added to the collection
      'losses'; None adds nothing.
    dtype: type to compute with.

  Returns:
    The variable, as a tensor of type `dtype`.
  """
  var = variable_on_cpu(
    name, shape, tf.truncated_normal_initializer(stddev=stddev)
  )
  if wd is not None:
    weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name='weight_loss')
    tf.add_to_collection('losses', weight_decay)
  return tf.cast(var, dtype)


def local_response_norm(x, depth_radius, alpha, name):
  """Divides each activation by what its neighbouring channels have.

  Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural
  Networks", section 3.3, with bias 1 and beta 0.75:

      x / (1 + alpha * sum of x ** 2 over the nearest channels) ** 0.75

  Args:
    x: float tensor, [batch, height, width, channels].
    depth_radius: so many channels on either side count, and the own.
    alpha: float.
    name: name of the operation.

  Returns:
    float tensor of the shape of `x`; computed in float32 at least.
  """
  dtype = x.dtype
  with tf.name_scope(name) as scope:
    if dtype.size < 4:
      x = tf.cast(x, tf.float32)
    # TensorFlow's own is made for GPUs; on CPUs it takes three times as long.
    if session_settings.has_gpu():
      x = tf.nn.lrn(x, depth_radius, 1.0, alpha, 0.75, name=scope)
    else:
      x = banded_lrn(x, depth_radius, alpha, scope)
    return tf.cast(x, dtype)


def banded_lrn(x, depth_radius, alpha, name):
  """`local_response_norm` by matrix products, for CPUs; takes the same."""
  channels = x.shape.as_list()[3]
  index = np.arange(channels)
  # Row times band: the sum over a window, for every channel at once.
  band = np.abs(index[:, np.newaxis] - index) <= depth_radius

  def windowed_sum(rows, factor):
    return tf.matmul(rows, tf.constant(factor * band, rows.dtype))

  @tf.custom_gradient
  def normalize(x):
    scale = 1 + windowed_sum(tf.square(x), alpha)
    # scale ** -0.75, from what processors are fast at.
    root = tf.rsqrt(scale)
    factor = root * tf.sqrt(root)
    y = x * factor

    def gradient(dy):
      through_scale = windowed_sum(y * dy / scale, -2 * 0.75 * alpha)
      return factor * dy + x * through_scale

    return y, gradient

  with tf.name_scope(name) as scope:
    rows = normalize(tf.reshape(x, [-1, channels]))
    return tf.reshape(rows, tf.shape(x), name=scope)


def activation_summary(x):
  """Adds a histogram of activations and the share of zeros among them.

  They are named after the variable scope, which bears no `tower_N/`. Of
  several towers the first one speaks for all.

  Args:
    x: float tensor, the output of the layer in whose variable scope this is
      called.
  """
  scope = tf.get_variable_scope()
  if scope.reuse:
    return
  # Departure from the tutorial: of some images. A histogram of all of conv1's
  # takes as long as three steps of training.
  x = tf.cast(x[:_IMAGES_IN_SUMMARIES], tf.float32)
  summaries.histogram(scope.name + '/activations', x)
  summaries.scalar(scope.name + '/sparsity', tf.nn.zero_fraction(x))
