"""The layers of the model: variables, pooling, dense layers, normalization.

Variables are float32. Convolutions and matrix products are computed in the
type of the enclosing variable scope, see `compute_in`; Winograd's convolutions
in at least float32.
"""

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.nets import winograd
from cifar10.util import session_settings
from cifar10.util import summaries

_IMAGES_IN_HISTOGRAMS = 16


def compute_in(dtype):
  """A variable scope in which layers compute in the type `dtype`.

  Args:
    dtype: 'float32', 'bfloat16' or 'float16'.

  Returns:
    tf.variable_scope, a context manager.
  """
  return tf.variable_scope(
    tf.get_variable_scope(),
    dtype=tf.as_dtype(dtype),
    auxiliary_name_scope=False,
  )


def variable_on_cpu(name, shape, initializer, *, dtype=None):
  """A float32 variable in the memory of the CPU, where towers can share it.

  Args:
    name: name of the variable within the variable scope.
    shape: list of ints.
    initializer: initializer of the variable.
    dtype: type of the result; None for the type of the variable scope.

  Returns:
    The value of the variable, a tensor of type `dtype`.
  """
  var = _float32_on_cpu(name, shape, initializer, tf.no_regularizer)
  return tf.cast(var, dtype or tf.get_variable_scope().dtype)


def _float32_on_cpu(name, shape, initializer, regularizer):
  with tf.device('/cpu:0'):
    return tf.get_variable(name, shape, tf.float32, initializer, regularizer)


def untrained_variable(name, shape, initializer, collections=()):
  """A variable of the model that training does not change by gradients.

  Args:
    name: name of the variable within the variable scope.
    shape: list of ints.
    initializer: initializer of the variable.
    collections: what it joins besides GLOBAL_VARIABLES and MODEL_VARIABLES.

  Returns:
    tf.Variable, float32, in the memory of the CPU.
  """
  with tf.device('/cpu:0'):
    return tf.get_variable(
      name,
      shape,
      tf.float32,
      initializer,
      tf.no_regularizer,
      trainable=False,
      collections=[
        tf.GraphKeys.GLOBAL_VARIABLES,
        tf.GraphKeys.MODEL_VARIABLES,
        *collections,
      ],
    )


def variable_with_weight_decay(
  name, shape, *, stddev=None, wd=None, initializer=None
):
  """Weights with truncated normal initialization and optional weight decay.

  An initializer or a regularizer of the variable scope takes the place of what
  the arguments describe.

  Args:
    name: name of the variable within the variable scope.
    shape: list of ints.
    stddev: standard deviation of the distribution before truncation.
    wd: factor of the variable's L2 loss, which joins the collection 'losses';
      None for no weight decay.
    initializer: initializer in place of the truncated normal one.

  Returns:
    The value of the variable, a tensor of the type of the variable scope. The
    variable joins the collection WEIGHTS.
  """
  scope = tf.get_variable_scope()
  initializer = (
    scope.initializer
    or initializer
    or tf.truncated_normal_initializer(stddev=stddev)
  )
  regularizer = scope.regularizer or tf.no_regularizer
  var = _float32_on_cpu(name, shape, initializer, regularizer)
  if not scope.reuse:
    tf.add_to_collection(tf.GraphKeys.WEIGHTS, var)
  # The L2 loss of the float32 variable, not of a rounded copy.
  var = tf.cast(var, tf.float32)
  if wd is not None and scope.regularizer is None:
    weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name='weight_loss')
    tf.add_to_collection('losses', weight_decay)
  return tf.cast(var, scope.dtype)


def check_images(images, name):
  """Checks the shape of the images that a network takes.

  Raises:
    ValueError: `images` is not of rank 4, or more than the batch is unknown.
  """
  shape = images.shape
  if shape.rank != 4 or not shape[1:].is_fully_defined():
    raise ValueError(
      '%s: %s has shape %s; expected [batch, height, width, depth]'
      % (name, images.name, shape)
    )


def conv2d(x, kernel, form='auto'):
  """A convolution with stride 1 and padding 'SAME'.

  Args:
    x: float tensor, [batch, height, width, channels]; only the batch size may
      be unknown.
    kernel: tensor of the type of `x`, [rows, columns, channels, filters].
    form: 'direct', tf.nn.conv2d; 'winograd', winograd.conv2d; or 'auto', the
      one expected to be faster.

  Returns:
    Tensor of the type of `x`, [batch, height, width, filters].

  Raises:
    ValueError: `form` is unknown.
  """
  if form not in ('auto', 'direct', 'winograd'):
    raise ValueError(
      'conv2d: form is %r; expected auto, direct or winograd' % form
    )
  if form == 'winograd' or (form == 'auto' and winograd.is_faster(x, kernel)):
    return winograd.conv2d(x, kernel)
  return tf.nn.conv2d(x, kernel, [1, 1, 1, 1], padding='SAME')


def activation_summary(x):
  """Adds summaries of a layer: a histogram and the fraction of zeros.

  Their tags begin with the name of the variable scope, which has no `tower_N/`
  in it. Of several towers, only the first one adds summaries.

  Args:
    x: float tensor, [batch, ...], the output of the layer. Call this function
      in the variable scope of the layer.
  """
  scope = tf.get_variable_scope()
  if scope.reuse:
    return
  x = tf.cast(x, tf.float32)
  # Departure from the tutorial: the histogram is of the first images only. One
  # of all activations of conv1 takes as long as three training steps.
  summaries.histogram(scope.name + '/activations', x[:_IMAGES_IN_HISTOGRAMS])
  summaries.scalar(scope.name + '/sparsity', tf.nn.zero_fraction(x))


def flatten(x):
  """Reshapes each image to a row.

  Args:
    x: tensor, [batch, ...]; only the batch size may be unknown.

  Returns:
    rows: tensor of the type of `x`, [batch, dim].
    dim: int.
  """
  dim = x.shape[1:].num_elements()
  return tf.reshape(x, [-1, dim]), dim


def softmax_linear(x, num_classes):
  """The layer of the logits, as the tutorial's.

  Args:
    x: float tensor, [batch, ...].
    num_classes: number of classes.

  Returns:
    float32 tensor, [batch, num_classes].
  """
  with tf.variable_scope('softmax_linear') as scope:
    rows, dim = flatten(x)
    weights = variable_with_weight_decay(
      'weights', [dim, num_classes], stddev=1 / dim
    )
    biases = variable_on_cpu(
      'biases', [num_classes], tf.constant_initializer(0.0), dtype=tf.float32
    )
    product = tf.cast(tf.matmul(rows, weights), tf.float32)
    logits = tf.add(product, biases, name=scope.name)
    activation_summary(logits)
  return logits


def local_response_norm(x, depth_radius, alpha, name, portable=False):
  """Divides each activation by a power of a sum over neighboring channels.

  Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural
  Networks", section 3.3, with bias 1 and beta 0.75:

      x / (1 + alpha * sum of x ** 2 over the neighboring channels) ** 0.75

  Args:
    x: float tensor, [batch, height, width, channels].
    depth_radius: channels on either side that enter the sum, besides the
      channel itself.
    alpha: float.
    name: name of the operation.
    portable: whether to use TensorFlow's own operation on any device.

  Returns:
    Tensor of the type and shape of `x`, computed in at least float32.
  """
  dtype = x.dtype
  with tf.name_scope(name) as scope:
    if dtype.size < 4:
      x = tf.cast(x, tf.float32)
    # On CPUs, TensorFlow's own operation takes three to six times as long.
    if portable or session_settings.has_gpu():
      x = tf.nn.lrn(x, depth_radius, 1.0, alpha, 0.75, name=scope)
    else:
      x = banded_lrn(x, depth_radius, alpha, scope)
    return tf.cast(x, dtype)


def banded_lrn(x, depth_radius, alpha, name):
  """`local_response_norm` by matrix products, which is faster on CPUs.

  Args:
    x: float tensor, [batch, height, width, channels]; any size but `channels`
      may be unknown.
    depth_radius: channels on either side that enter the sum.
    alpha: float.
    name: name of the operation.

  Returns:
    Tensor of the type and shape of `x`.
  """
  channels = x.shape.as_list()[3]
  index = np.arange(channels)
  # A row vector times this band matrix: for each channel, the sum over its
  # window.
  band = np.abs(index[:, np.newaxis] - index) <= depth_radius

  def windowed_sum(rows, factor):
    return tf.matmul(rows, tf.constant(factor * band, rows.dtype))

  @tf.custom_gradient
  def normalize(x):
    scale = 1 + windowed_sum(tf.square(x), alpha)
    # scale ** -0.75 without a power, which is slow.
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
