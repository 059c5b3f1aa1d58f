"""The layers of the model: variables, convolution, normalization, summaries.

Functions named as in tf.nn take its arguments and compute the same, by the
algorithm that is fastest here. Variables are float32. Convolutions and matrix
products are computed in the type of the enclosing variable scope, see
`compute_in`; Winograd's convolutions in at least float32.
"""

import contextlib
import contextvars
import functools
import re
from typing import NamedTuple

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.nets import matmul_gradient
from cifar10.nets import max_pool_gradients
from cifar10.nets import variable_scope
from cifar10.nets import winograd
from cifar10.util import session_settings
from cifar10.util import summaries


class BuildOptions(NamedTuple):
  """The options of `build_options`."""

  conv: str = 'auto'
  is_portable: bool = False
  is_training: bool = False


_OPTIONS = contextvars.ContextVar(
    'options', default=BuildOptions())  # noqa: B039  A tuple.
current_options = _OPTIONS.get


@contextlib.contextmanager
def build_options(**options):
  """A context in which layers are built with these options.

  Args:
    conv: 'direct', tf.nn.conv2d; 'winograd', winograd.conv2d; or 'auto', the
      one expected to be fastest of these two and matmul_gradient.conv2d.
    is_portable: use TensorFlow's own operations only, for a graph that runs
      elsewhere.
    is_training: gradients will be computed.
  """
  before = _OPTIONS.set(BuildOptions(**options))
  try:
    yield
  finally:
    _OPTIONS.reset(before)


def network(build):
  """Decorates a function of images that builds a network.

  The images may be anything that converts to a tensor; raises ValueError unless
  that has rank 4 and all sizes but the batch's are known. The network computes
  in the type of the images if that is not float32, with the gradients of
  max_pool_gradients.py.
  """

  @functools.wraps(build)
  def inference(images, *args, **optional):
    images = tf.convert_to_tensor(images)
    shape, dtype = images.shape, images.dtype
    if shape.rank != 4 or not shape[1:].is_fully_defined():
      raise ValueError(
          f'inference: {images.name} has shape {shape}; expected [batch, '
          'height, width, depth]')
    scope = contextlib.nullcontext()
    if dtype not in (tf.float32, tf.get_variable_scope().dtype):
      scope = compute_in(dtype)
    with scope, _max_pool_gradients():
      return build(images, *args, **optional)

  return inference


def _max_pool_gradients():
  """A context in which ReLU and biases have the gradients of that module."""
  overrides = max_pool_gradients.OVERRIDES
  return tf.get_default_graph().gradient_override_map(
      {} if current_options().is_portable else overrides)


def compute_in(dtype):
  """A variable scope in which layers compute in `dtype`, such as 'bfloat16'."""
  scope = tf.get_variable_scope()
  return tf.variable_scope(scope, dtype=tf.as_dtype(dtype),
                           auxiliary_name_scope=False)


def float32_variable(name, shape, initializer, regularizer=None, **options):
  """A float32 tf.Variable on the CPU, where towers share it.

  It takes no regularizer from the scope.
  """
  regularizer = regularizer or tf.no_regularizer
  with tf.device('/cpu:0'):
    return tf.get_variable(name, shape, tf.float32, initializer, regularizer,
                           **options)


def variable_on_cpu(name, shape, initializer, dtype=None):
  """A `float32_variable`, or its value in `dtype`, or else the scope's type."""
  var = float32_variable(name, shape, initializer)
  return _in_type(_whole(var), dtype or tf.get_variable_scope().dtype)


def _whole(var):
  """The variable itself, or the value of a partitioned one."""
  # Not by the number of its parts: it may have one.
  is_whole = variable_scope.parts(var)[0] is var
  return var if is_whole else tf.convert_to_tensor(var)


def _in_type(value, dtype):
  """The float32 variable or value itself; cast if that is not its type."""
  return value if dtype == tf.float32 else tf.cast(value, dtype)


def untrained_variable(name, shape, initializer, collection):
  """A tf.Variable of the model and of `collection`, without gradients."""
  keys = tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES, collection
  return float32_variable(name, shape, initializer, trainable=False,
                          collections=keys)


def variable_with_weight_decay(name, shape, stddev=None, wd=None,
                               initializer=None):
  """Weights with truncated normal initialization and optional weight decay.

  `stddev` is the deviation before truncation, unless there is an `initializer`;
  `wd` the factor of the L2 loss, which joins the collection 'losses'. The
  scope's initializer replaces `stddev` and `initializer`, its regularizer `wd`.
  The variable, or its parts, joins the collection WEIGHTS. Returns it, or its
  value in the type of the scope, as `variable_on_cpu` does.
  """
  scope = tf.get_variable_scope()
  initializer = initializer or tf.truncated_normal_initializer(stddev=stddev)
  initializer = scope.initializer or initializer
  var = float32_variable(name, shape, initializer, scope.regularizer)
  if scope.reuse is not True:
    for part in variable_scope.parts(var):
      tf.add_to_collection(tf.GraphKeys.WEIGHTS, part)
  var = _whole(var)
  if wd is not None and scope.regularizer is None:
    weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name='weight_loss')
    tf.add_to_collection('losses', weight_decay)
  return _in_type(var, scope.dtype)  # The L2 loss is of unrounded values.


def upcast(x):
  """Casts a tensor of 16 bits to float32; returns any other as it is."""
  return tf.cast(x, tf.float32) if x.dtype.size < 4 else x


def bias_add(value, bias):
  """As tf.nn.bias_add; `bias` has the shape of the last axes of `value`.

  The gradient of the biases, a sum over the other axes, is computed in float32:
  in 16 bits it would stall.
  """
  if value.shape.rank == 4 and bias.shape.rank == 1:
    with _max_pool_gradients():
      return tf.nn.bias_add(value, tf.cast(bias, value.dtype))
  return tf.cast(upcast(value) + upcast(bias), value.dtype)


def dropout(x, rate, name):
  """tf.nn.dropout, in float32: 16 bits would round the mask and the scale.

  TensorFlow draws the mask in the type of `x`, and bfloat16 has 128 numbers
  from 0.5 to 1.
  """
  with tf.name_scope(name) as scope:
    dropped = tf.nn.dropout(upcast(x), rate=rate, name=scope)
    return tf.cast(dropped, x.dtype)


def conv2d(images, kernel, strides=(1, 1, 1, 1), padding='SAME', needed=None):
  """As tf.nn.conv2d; returns the kernel's type, or by Winograd the images'.

  Takes images [batch, height, width, channels], of which only the batch size
  may be unknown, and a kernel [rows, columns, channels, filters]. `needed` is
  the height and width of the outputs that matter, if not all do: Winograd's
  algorithm leaves out the rows and columns beyond. Raises ValueError if the
  build options name an unknown algorithm, or Winograd's for a kernel that is
  too large for it.
  """
  conv, is_portable, _ = current_options()
  if conv not in ('auto', 'direct', 'winograd'):
    raise ValueError(
        f'conv2d: conv is {conv!r}; expected auto, direct or winograd')
  if is_portable or set(strides) != {1} or padding != 'SAME':
    conv = 'direct'
  is_auto, kernel = conv == 'auto', tf.convert_to_tensor(kernel)
  if conv == 'winograd' or (is_auto and winograd.is_faster(images, kernel)):
    return winograd.conv2d(images, kernel, needed)
  images = tf.cast(images, kernel.dtype)
  if is_auto and matmul_gradient.is_faster(images, kernel):
    return matmul_gradient.conv2d(images, kernel)
  return tf.nn.conv2d(images, kernel, list(strides), padding=padding)


def matmul(x, weights):
  """As tf.matmul, in the type of the weights."""
  weights = tf.convert_to_tensor(weights)
  return tf.matmul(tf.cast(x, weights.dtype), weights)


def activation_summary(x):
  """Adds a histogram and the fraction of zeros of a layer, in its scope.

  The tags begin with the name of the variable scope, or else of `x`, without
  `tower_N/`. Only the first of several towers adds summaries.
  """
  scope = tf.get_variable_scope()
  if scope.reuse is True:  # tf.AUTO_REUSE may make a layer.
    return
  name = scope.name or re.sub('tower_[0-9]*/', '', x.op.name)
  x = tf.cast(x, tf.float32)
  # Departure from the tutorial: the histogram is of the first 16 images. One of
  # all activations of conv1 takes longer than a training step.
  summaries.histogram(name + '/activations', x[:16])
  summaries.scalar(name + '/sparsity', tf.nn.zero_fraction(x))


def flatten(x):
  """Reshapes `x`, [batch, ...], to rows, [batch, dim]; returns them and dim."""
  dim = x.shape[1:].num_elements()
  return tf.reshape(x, [-1, dim]), dim


def smoothed_cross_entropy(labels, logits, label_smoothing):
  """Cross entropy with a share of each label spread over all classes.

  Szegedy et al., "Rethinking the Inception Architecture", arXiv 1512.00567,
  section 7. Takes integers [batch]; returns float32 [batch].
  """
  num_classes = logits.shape.as_list()[1]
  spread = label_smoothing / num_classes
  return tf.nn.softmax_cross_entropy_with_logits_v2(
      tf.one_hot(labels, num_classes, 1 - label_smoothing + spread, spread),
      logits, name='cross_entropy_per_example')


def fusion_is_faster():
  """True where `fused` was measured to be faster: training on a CPU.

  It was not measured with TensorFlow 1.
  """
  return (current_options().is_training and tf.__version__ >= '2' and
          not session_settings.has_gpu())


def fused(is_compiled):
  """A context whose operations XLA fuses into one loop, if `is_compiled`.

  Otherwise each of them reads and writes memory.
  """
  return (tf.xla.experimental.jit_scope()
          if is_compiled else contextlib.nullcontext())


def lrn(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, name='lrn'):
  """As tf.nn.lrn: divides activations by a power of a sum over channels.

  Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural
  Networks", section 3.3:

      x / (bias + alpha * sum of x ** 2 over the neighboring channels) ** beta

  `x` is [batch, height, width, channels]; `depth_radius` channels on either
  side enter the sum, besides the channel itself. Returns the type of `x`, but
  computes in at least float32; of bfloat16 `x`, the sum is in bfloat16 on
  processors with instructions for it.
  """
  with tf.name_scope(name) as scope:
    # On CPUs, TensorFlow's own operation takes three to six times as long.
    if (beta == 0.75 and not current_options().is_portable and
        not session_settings.has_gpu()):
      return banded_lrn(x, depth_radius, bias, alpha, scope)
    if x.dtype.size >= 4:
      return tf.nn.lrn(x, depth_radius, bias, alpha, beta, name=scope)
    y = tf.nn.lrn(tf.cast(x, tf.float32), depth_radius, bias, alpha, beta)
    return tf.cast(y, x.dtype, name=scope)


def banded_lrn(x, depth_radius, bias, alpha, name):
  """`lrn` with beta = 0.75 by matrix products.

  The size of the last axis of `x` must be known.
  """
  channels = x.shape.as_list()[3]
  index = np.arange(channels)
  # A row vector times this matrix: for each channel, the sum over its window.
  band = np.abs(index[:, np.newaxis] - index) <= depth_radius
  dtype = x.dtype
  is_narrow = dtype.size < 4
  # Where there is nothing to cast, XLA gains too little for its compilation.
  is_compiled = is_narrow and fusion_is_faster()
  # Rounding the sums matters little: they are small beside the bias.
  is_fast = dtype == tf.bfloat16 and session_settings.cpu_has_bfloat16()
  sum_dtype = tf.float32 if is_narrow and not is_fast else dtype

  def windowed_sum(rows, factor):
    return tf.matmul(rows, tf.constant(factor * band, rows.dtype))

  @tf.custom_gradient
  def normalize(x):
    with fused(is_compiled):
      squares = tf.cast(tf.square(upcast(x)), sum_dtype)
    sums = windowed_sum(squares, alpha)
    with fused(is_compiled):
      scale = bias + upcast(sums)
      root = tf.rsqrt(scale)
      factor = root * tf.sqrt(root)  # scale ** -0.75; a power would be slow.
      y = upcast(x) * factor
      rounded = tf.cast(y, dtype)

    def gradient(dy):
      with fused(is_compiled):
        outputs, divisor = y, scale
        if is_compiled:  # In one loop, computing them again beats reading them.
          outputs, divisor = upcast(x) * factor, bias + upcast(sums)
        weighted = tf.cast(outputs * upcast(dy) / divisor, sum_dtype)
      through_scale = windowed_sum(weighted, -2 * 0.75 * alpha)
      with fused(is_compiled):
        dx = factor * upcast(dy) + upcast(x) * upcast(through_scale)
        return tf.cast(dx, dtype)

    return rounded, gradient

  with tf.name_scope(name) as scope:
    rows = normalize(tf.reshape(x, [-1, channels]))
    return tf.reshape(rows, tf.shape(x), name=scope)
