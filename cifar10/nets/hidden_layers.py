"""The network of --hidden_layers: fewer, more or other fully connected layers.

They are local3, local4, local5 and so on, each like the tutorial's local4; the
convolutions below and softmax_linear above are the tutorial's.
"""

import re

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.nets import layers
from cifar10.nets import local_layers

_FIRST = 3  # The number of the first one: conv1 and conv2 are below.
_SIZES = re.compile('([1-9][0-9]{0,4}(,[1-9][0-9]{0,4})*)?')


def by_name(sizes):
  """The sizes of layers, by name, from --hidden_layers: an ordered dict.

  Raises UserError if `sizes` is not a list of them.
  """
  if not _SIZES.fullmatch(sizes):
    raise UserError(
        f'--hidden_layers={sizes}: expected the size of each layer, from 1 to '
        '99999, separated by commas, such as 384,192; or nothing, for no layer')
  numbers = map(int, filter(None, sizes.split(',')))
  return {f'local{n}': size for n, size in enumerate(numbers, _FIRST)}


def inference(images, techniques):
  """Builds the network, with the signature of `cifar10.inference`."""
  x = local_layers.convolutions(images, techniques)
  for name, units in by_name(techniques.settings.hidden_layers).items():
    x = _hidden_layer(x, units, name, techniques)
  return local_layers.softmax_linear(x, techniques)


def _hidden_layer(x, units, name, techniques):
  """A fully connected layer of the outputs `x`; returns [batch, units]."""
  with tf.variable_scope(name) as scope:
    rows, dim = layers.flatten(x)
    weights = layers.variable_with_weight_decay('weights', [dim, units],
                                                stddev=0.04, wd=0.004)
    product = techniques.matmul(rows, weights)
    layer = techniques.outputs(product, [units], 0.1, scope.name)
  return techniques.dropout(layer, 'dropout')
