"""Layers whose units are divided into columns, for convnet.py.

A column has its share of the filters and units of each layer, and may be on a
device of its own, see optim/model_parallelism.py. Variables are whole. Columns
are a list of tensors; a single one is the whole layer.

- --model_parallelism=filters: each column sees the outputs of all. That is the
  tutorial's network, computed in another order.
- --columns: Krizhevsky et al., "ImageNet Classification with Deep Convolutional
  Neural Networks", section 3.5: conv2 and the normalizations see their own
  column only, as in a grouped convolution; local3 and local4 see all columns.
"""

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.nets import layers
from cifar10.nets.techniques import RADIUS


def check(count, flag, filters, sizes):
  """Raises UserError unless layers can be divided into `count` columns.

  Takes the filters of a convolution, and the units of other layers by name.
  """
  if filters % count or filters // count < RADIUS:
    raise UserError(
        f'{flag}: {count} columns; expected 2, 4, 8 or 16, which divide the '
        f'{filters} filters of a convolution')
  for name, units in sizes.items():
    if units % count:
      raise UserError(f'{flag}: {name} has {units} units; expected a multiple '
                      f'of {count}, the number of columns')


def each(columns, scope, build):
  """A list of `build(column)`, in the name scopes `column_0` and so on.

  The scopes determine the devices. A single column has none of its own.
  """
  columns = list(columns)
  if len(columns) == 1:
    return [build(columns[0])]
  results = []
  with tf.name_scope(scope) as scope:
    for i, column in enumerate(columns):
      with tf.name_scope(f'{scope}column_{i}/'):
        results.append(build(column))
  return results


def concatenated(columns):
  """All columns side by side, in one tensor."""
  return tf.concat(columns, -1) if columns[1:] else columns[0]


def lrn(columns, name, techniques, are_apart):
  """Local response normalization; across columns unless they `are_apart`."""

  def normalized(x):
    return techniques.lrn(x, name)

  count, width = len(columns), columns[0].shape.as_list()[3]
  if count == 1 or are_apart or techniques.settings.normalization != 'lrn':
    return each(columns, name, normalized)

  def channels(x, begin, size):
    return tf.slice(x, [0, 0, 0, begin], [-1, -1, -1, size])

  def pieces_of(i):
    """Column i, and for each neighbor its RADIUS outer channels: a dict."""
    takers = [j for j in (i - 1, i, i + 1) if 0 <= j < count]
    copies = dict(zip(takers, _copies(columns[i], len(takers))))
    for j in copies.keys() - {i}:
      begin = 0 if j < i else width - RADIUS
      copies[j] = channels(copies[j], begin, RADIUS)
    return copies

  with tf.name_scope(name) as scope:
    pieces = each(range(count), scope, pieces_of)

    def middle(j):
      x = tf.concat([piece[j] for piece in pieces if j in piece], -1)
      return channels(normalized(x), RADIUS if j else 0, width)

    return each(range(count), scope, middle)


def all_gather(columns):
  """For each column, a copy of all columns side by side."""
  if len(columns) == 1:
    return columns
  with tf.name_scope('exchanged') as scope:
    copies = each(columns, scope, lambda x: _copies(x, len(columns)))
    return each(zip(*copies), scope, concatenated)


def _copies(x, count):
  """A list of copies of `x`; adds up their gradients on the device of `x`.

  TensorFlow itself would add them up on the first device.
  """
  if layers.current_options().is_portable:
    return [x] * count

  @tf.custom_gradient
  def copied(x):
    return [tf.identity(x) for _ in range(count)], lambda *dys: tf.add_n(dys)

  return copied(x)
