"""The tutorial's network with the units of each layer divided into columns.

A column has its share of the filters of conv1 and conv2 and of the units of
local3, local4 and so on, and may be computed on a device of its own, see
optim/model_parallelism.py. Variables are whole, and have the tutorial's names.

- --model_parallelism=filters: each column sees the outputs of all. That is the
  tutorial's network, computed in another order.
- --columns: Krizhevsky et al., "ImageNet Classification with Deep Convolutional
  Neural Networks", section 3.5: conv2 and the normalizations see their own
  column only, as in a grouped convolution; local3 and local4 see all columns.
  The filters of conv2 have fewer inputs, in its variable too.
"""

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.nets import hidden_layers
from cifar10.nets import layers
from cifar10.nets import local_layers

_FILTERS = 64  # Of each convolution.

# Channels on either side that enter a normalization; no column is narrower.
_RADIUS = 4


def inference(images, techniques, count):
  """As `cifar10.inference`, in `count` columns.

  Raises UserError unless `count` divides the filters of a convolution and the
  units of each layer, and leaves enough filters to a column.
  """
  layers.check_images(images)
  # Between the convolutions, --columns keeps the columns apart.
  are_apart = techniques.settings.columns > 1
  flag = '--columns' if are_apart else '--model_parallelism=filters'
  if _FILTERS % count or _FILTERS // count < _RADIUS:
    raise UserError(
        f'{flag}: {count} columns; expected 2, 4, 8 or 16, which divide the '
        f'{_FILTERS} filters of a convolution')
  sizes = hidden_layers.by_name(techniques.settings.hidden_layers)
  for name, units in sizes.items():
    if units % count:
      raise UserError(f'{flag}: {name} has {units} units; expected a multiple '
                      f'of {count}, the number of columns')
  images = techniques.dropout(images, 'input_dropout')
  conv1 = _convolution([images] * count, 'conv1', techniques, bias=0.0)
  pool1 = _max_pool(conv1, 'pool1')
  norm1 = _lrn(pool1, 'norm1', techniques, are_apart)
  norm1 = _dropout(norm1, 'conv_dropout', techniques)
  if not are_apart:
    norm1 = _exchanged(norm1, techniques)
  conv2 = _convolution(norm1, 'conv2', techniques, bias=0.1)
  norm2 = _lrn(conv2, 'norm2', techniques, are_apart)
  x = _dropout(_max_pool(norm2, 'pool2'), 'conv_dropout', techniques)
  for name, units in sizes.items():
    x = _fully_connected(x, name, units, techniques)
  # The few weights of the last layer stay together, on the first device.
  return local_layers.softmax_linear(tf.concat(x, -1), techniques)


def _each(columns, scope, build):
  """Builds something of each column; returns the list.

  The device of an operation follows from its name scope: in `scope`, that of
  its column, `column_0` and so on.
  """
  results = []
  with tf.name_scope(scope) as scope:
    for i, column in enumerate(columns):
      with tf.name_scope(f'{scope}column_{i}/'):
        results.append(build(column))
  return results


def _convolution(inputs, name, techniques, bias):
  """A convolution with filters of 5 x 5 pixels, of what each column sees."""
  shape = [5, 5, inputs[0].shape.as_list()[3], _FILTERS]
  return _layer(inputs, name, shape, techniques, bias, stddev=5e-2)


def _fully_connected(columns, name, units, techniques):
  """A layer each of whose units sees all columns; with dropout."""
  inputs = _exchanged(columns, techniques)
  shape = [inputs[0].shape[1:].num_elements(), units]
  outputs = _layer(inputs, name, shape, techniques, 0.1, stddev=0.04, wd=0.004)
  return _dropout(outputs, 'dropout', techniques)


def _layer(inputs, name, shape, techniques, bias, **of_weights):
  """The outputs of each column of a layer, from what each column sees.

  `shape` is that of the weights of all columns.
  """
  with tf.variable_scope(name) as scope:
    weights = layers.variable_with_weight_decay('weights', shape, **of_weights)
    biases = layers.variable_on_cpu('biases', shape[-1:],
                                    tf.constant_initializer(bias))

    def column(parts):
      x, own_weights, own_biases = parts
      if len(shape) == 4:
        x = techniques.conv2d(x, own_weights)
      else:
        x = techniques.matmul(layers.flatten(x)[0], own_weights)
      return techniques.activation(techniques.bias_add(x, own_biases), name)

    parts = [tf.split(whole, len(inputs), -1) for whole in (weights, biases)]
    outputs = _each(zip(inputs, *parts), scope.original_name_scope, column)
    layers.activation_summary(tf.concat(outputs, -1))
  return outputs


def _max_pool(columns, name):
  return _each(
      columns, name,
      lambda x: tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], padding='SAME'))


def _dropout(columns, kind, techniques):
  return _each(columns, kind, lambda x: techniques.dropout(x, kind))


def _lrn(columns, name, techniques, are_apart):
  """Local response normalization; across columns unless they `are_apart`."""

  def normalized(x):
    return techniques.lrn(x, _RADIUS, alpha=0.001 / 9.0, name=name)

  if are_apart or techniques.settings.normalization != 'lrn':
    return _each(columns, name, normalized)
  count, width = len(columns), columns[0].shape.as_list()[3]

  def channels(x, begin, size):
    return tf.slice(x, [0, 0, 0, begin], [-1, -1, -1, size])

  def given(i):
    """Copies of a column for itself and its neighbors, by their numbers."""
    takers = [j for j in (i - 1, i, i + 1) if 0 <= j < count]
    copies = dict(zip(takers, _copies(columns[i], len(takers), techniques)))
    for j in copies.keys() - {i}:
      begin = 0 if j < i else width - _RADIUS
      copies[j] = channels(copies[j], begin, _RADIUS)
    return copies

  with tf.name_scope(name) as scope:
    pieces = _each(range(count), scope, given)

    def middle(j):
      x = tf.concat([piece[j] for piece in pieces if j in piece], -1)
      return channels(normalized(x), _RADIUS if j else 0, width)

    return _each(range(count), scope, middle)


def _exchanged(columns, techniques):
  """For each column all of them, side by side."""
  with tf.name_scope('exchanged') as scope:
    copies = _each(columns, scope,
                   lambda x: _copies(x, len(columns), techniques))
    return _each(zip(*copies), scope, lambda seen: tf.concat(seen, -1))


def _copies(x, count, techniques):
  """A list of copies of `x`, whose gradients are added up where it is.

  TensorFlow itself would add them up on the first device.
  """
  if techniques.portable:
    return [x] * count

  @tf.custom_gradient
  def copied(x):
    return [tf.identity(x) for _ in range(count)], lambda *dys: tf.add_n(dys)

  return copied(x)
