"""The tutorial's network, with whatever the settings can change in its layers.

`cifar10.inference` is written to be read, this one to be varied. At the
defaults both compute the same.
"""

import re

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.nets import columns
from cifar10.nets import layers
from cifar10.nets import local_layers

_FILTERS = 64  # In each convolution.

_FIRST = 3  # Number of the first hidden layer, local3.
_SIZES = re.compile('([1-9][0-9]{0,4}(,[1-9][0-9]{0,4})*)?')


def hidden_layers(sizes):
  """The layers of --hidden_layers, from the first one: a dict of name to units.

  Raises UserError if `sizes` is not a list of numbers.
  """
  if not _SIZES.fullmatch(sizes):
    raise UserError(
        f'--hidden_layers={sizes}: expected the size of each layer, from 1 to '
        '99999, separated by commas, such as 384,192; or nothing, for no layer')
  numbers = map(int, filter(None, sizes.split(',')))
  return {f'local{n}': size for n, size in enumerate(numbers, _FIRST)}


@layers.network
def inference(images, techniques):
  """As `cifar10.inference`, with Techniques.

  Raises UserError unless the number of columns divides the filters of a
  convolution and the units of each layer, and leaves a column enough filters.
  """
  settings = techniques.settings
  sizes = hidden_layers(settings.hidden_layers)
  num_columns, are_apart = settings.columns, settings.columns > 1
  if techniques.is_training and settings.model_parallelism == 'filters':
    num_columns = len(settings.devices)
  if num_columns > 1:
    flag = '--columns' if are_apart else '--model_parallelism=filters'
    columns.check(num_columns, flag, _FILTERS, sizes)
  images = techniques.dropout(images, 'input_dropout')
  conv1 = _convolution([images] * num_columns, 'conv1', techniques, bias=0.0)
  pool1 = _max_pool(conv1, 'pool1')
  norm1 = columns.lrn(pool1, 'norm1', techniques, are_apart)
  norm1 = _dropout(norm1, 'conv_dropout', techniques)
  if not are_apart:
    norm1 = columns.all_gather(norm1)
  conv2 = _convolution(norm1, 'conv2', techniques, bias=0.1)
  norm2 = columns.lrn(conv2, 'norm2', techniques, are_apart)
  x = _dropout(_max_pool(norm2, 'pool2'), 'conv_dropout', techniques)
  if settings.top_layers == 'local':
    x = [local_layers.layer(x[0], 64, 'local3', techniques)]
    x = [local_layers.layer(x[0], 32, 'local4', techniques)]
  else:
    for name, units in sizes.items():
      x = _fully_connected(x, name, units, techniques)
  # The few weights of the last layer stay together, on the first device.
  return _softmax_linear(columns.concatenated(x), techniques)


def _convolution(inputs, name, techniques, bias):
  """A layer of 5 x 5 filters; `inputs` are what each column sees."""
  shape = [5, 5, inputs[0].shape.as_list()[3], _FILTERS]
  return _layer(inputs, name, shape, techniques, bias, stddev=5e-2)


def _fully_connected(parts, name, units, techniques):
  """A layer whose units all see all columns; with dropout."""
  inputs = columns.all_gather(parts)
  shape = [inputs[0].shape[1:].num_elements(), units]
  outputs = _layer(inputs, name, shape, techniques, 0.1, stddev=0.04, wd=0.004)
  return _dropout(outputs, 'dropout', techniques)


def _layer(inputs, name, shape, techniques, bias, **of_weights):
  """The outputs of each column of a layer; `inputs` are what each column sees.

  `shape` is the shape of the weights of all columns.
  """

  def linear(x, weights):
    if len(shape) == 4:
      return techniques.conv2d(x, weights)
    return techniques.matmul(layers.flatten(x)[0], weights)

  with tf.variable_scope(name) as scope:
    weights = layers.variable_with_weight_decay('weights', shape, **of_weights)
    if len(inputs) == 1:
      x = linear(inputs[0], weights)
      return [techniques.outputs(x, shape[-1:], bias, scope.name)]
    biases = layers.variable_on_cpu('biases', shape[-1:],
                                    tf.constant_initializer(bias))

    def column(parts):
      x, own_weights, own_biases = parts
      x = techniques.bias_add(linear(x, own_weights), own_biases)
      return techniques.activation(x, name)

    parts = [tf.split(whole, len(inputs), -1) for whole in (weights, biases)]
    outputs = columns.each(zip(inputs, *parts), scope.original_name_scope,
                           column)
    layers.activation_summary(tf.concat(outputs, -1))
  return outputs


def _max_pool(parts, name):
  return columns.each(
      parts, name, lambda x: tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1],
                                            padding='SAME', name=name))


def _dropout(parts, kind, techniques):
  return columns.each(parts, kind, lambda x: techniques.dropout(x, kind))


def _softmax_linear(x, techniques):
  """The logits, [batch, num_classes], from the outputs of the layer below.

  The standard deviation of the weights is 1 / number of inputs: the tutorial's
  1 / 192, for any size.
  """
  with tf.variable_scope('softmax_linear') as scope:
    rows, dim = layers.flatten(x)
    num_classes = techniques.num_classes
    weights = layers.variable_with_weight_decay('weights', [dim, num_classes],
                                                stddev=1 / dim)
    biases = layers.variable_on_cpu('biases', [num_classes],
                                    tf.constant_initializer(0.0),
                                    dtype=tf.float32)
    product = tf.cast(layers.matmul(rows, weights), tf.float32)
    logits = tf.add(techniques.logits(product), biases, name=scope.name)
    layers.activation_summary(logits)
  return logits
