"""The network of --network=airbench, which learns fast.

Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU", arXiv 2404.00498,
section 2: 2 x 2 whitening, three groups of two convolutions with batch
normalization without scale, and a linear layer. The initial values of the last
layer and of the whitening's biases are those of the author's later record,
https://github.com/KellerJordan/cifar10-airbench.
"""

import re

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.nets import layers
from cifar10.util import graph_keys

_MIN_SIZE = 25  # In pixels; of smaller images, the poolings leave nothing.
_FILTERS = re.compile('[1-9][0-9]{0,4}(,[1-9][0-9]{0,4}){2}')


def group_filters(text):
  """The numbers in --group_filters; raises UserError unless they are three."""
  if not _FILTERS.fullmatch(text):
    raise UserError(
        f'--group_filters={text}: expected three numbers of filters, from 1 to '
        '99999, separated by commas, such as 64,256,256')
  return [int(number) for number in text.split(',')]


@layers.network
def inference(images, techniques):
  """As `cifar10.inference`; UserError for images smaller than _MIN_SIZE."""
  height, width = images.shape.as_list()[1:3]
  if min(height, width) < _MIN_SIZE:
    raise UserError(
        f'--network=airbench: images of {height} x {width} pixels; expected '
        f'{_MIN_SIZE} or more, see --image_size')
  x = _whitening(techniques.dropout(images, 'input_dropout'), techniques)
  groups = group_filters(techniques.settings.group_filters)
  for number, filters in enumerate(groups, 1):
    with tf.variable_scope(f'group{number}'):
      x = _convolution(x, filters, 'conv1', techniques, pooled=True)
      x = _convolution(x, filters, 'conv2', techniques)
    x = techniques.dropout(x, 'conv_dropout')
  # [batch, 1, 1, filters] for images of 32 x 32 pixels.
  x = tf.nn.max_pool(x, 3, 3, 'VALID', name='pool')
  # A linear layer without biases, its outputs scaled down.
  with tf.variable_scope('softmax_linear') as scope:
    rows, dim = layers.flatten(x)
    weights = layers.variable_with_weight_decay(
        'weights', [dim, techniques.num_classes],
        initializer=_uniform(3**0.5))  # Its standard deviation is 1.
    product = tf.cast(tf.matmul(rows, weights), tf.float32)
    logits = tf.multiply(product, 1 / dim, name=scope.name)
    layers.activation_summary(logits)
  return logits


def _whitening(x, techniques):
  """Whitens patches of 2 x 2 pixels, with fixed filters and their negatives.

  Only its biases are trained. Takes [batch, height, width, depth]; returns
  [batch, height - 1, width - 1, 8 * depth] in the type of the variable scope.
  """
  depth = x.shape.as_list()[3]
  shape = [2, 2, depth, 8 * depth]
  with tf.variable_scope('whitening') as scope:
    filters = layers.untrained_variable('weights', shape,
                                        tf.zeros_initializer(),
                                        graph_keys.WHITENING)
    x, filters = tf.cast(x, scope.dtype), tf.cast(filters, scope.dtype)
    white = tf.nn.conv2d(x, filters, [1, 1, 1, 1], padding='VALID')
    # PyTorch's limit: 1 / sqrt(number of inputs). In float32: the gradient is a
    # sum over all pixels, which stalls in bfloat16.
    biases = layers.variable_on_cpu('biases', shape[-1:],
                                    _uniform((4 * depth)**-0.5),
                                    dtype=tf.float32)
    white = tf.nn.bias_add(tf.cast(white, tf.float32), biases)
    outputs = techniques.activation(white, scope.name)
    layers.activation_summary(outputs)
  return tf.cast(outputs, scope.dtype)


def _uniform(limit):
  """An initializer with numbers between -limit and limit."""
  return tf.random_uniform_initializer(-limit, limit)


def _convolution(x, filters, name, techniques, pooled=False):
  """A layer of 3 x 3 filters; its output is half as high and wide if pooled."""
  with tf.variable_scope(name):
    kernel = layers.variable_with_weight_decay(
        'weights', [3, 3, x.shape.as_list()[3], filters], initializer=_identity)
    # The pooling takes no last row and column of an odd size.
    needed = [side // 2 * 2 for side in x.shape.as_list()[1:3]]
    conv = techniques.conv2d(x, kernel, scaled=False,
                             needed=needed if pooled else None)
    if pooled:
      conv = tf.nn.max_pool(conv, 2, 2, 'VALID')
    return techniques.outputs(conv, [filters], 0.0, name, dtype=tf.float32)


def _identity(shape, dtype, partition_info=None):
  """Filters that each copy a channel; those beyond the channels are random.

  Section 3.2 of the paper. Random weights are uniform with PyTorch's default
  variance, 1 / (3 * number of inputs).
  """
  del partition_info  # --partition_ps does not go with this network.
  rows, columns, channels, filters = shape
  limit = (rows * columns * channels)**-0.5
  first = min(channels, filters)
  center = tf.eye(channels, first, dtype=dtype)[tf.newaxis, tf.newaxis]
  around = [[rows // 2] * 2, [columns // 2] * 2, [0, 0], [0, 0]]
  identity = tf.pad(center, around)
  rest = [rows, columns, channels, filters - first]
  others = tf.random_uniform(rest, -limit, limit, dtype)
  return tf.concat([identity, others], 3)
