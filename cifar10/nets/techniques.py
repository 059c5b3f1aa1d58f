"""Techniques of layers: one object that `cifar10.inference` asks.

By default each layer is the tutorial's. Other networks ask it too.
"""

import tensorflow.compat.v1 as tf

from cifar10.nets import activations
from cifar10.nets import freezing
from cifar10.nets import initializers
from cifar10.nets import layers
from cifar10.nets import local_layers
from cifar10.nets import normalization
from cifar10.nets import regularizers
from cifar10.settings import Settings
from cifar10.util import graph_keys


class Techniques:
  """Convolution, normalization, activation and dropout of a network's layers.

  Its methods are called in the variable scope of a layer. Make one for each
  call of `inference`.

  Attributes:
    settings: settings.Settings.
    num_classes: number of classes; None: the tutorial's.
  """

  def __init__(
    self,
    settings=Settings(),
    is_training=False,
    portable=False,
    num_classes=None,
  ):
    """Takes the settings.

    Args:
      settings: settings.Settings.
      is_training: whether the network is trained, so that dropout drops and
        batch normalization follows the batches.
      portable: use TensorFlow's own operations only, for a graph that is to run
        elsewhere.
      num_classes: number of classes; None: the tutorial's.
    """
    self.settings = settings
    self.num_classes = num_classes
    self._is_training = is_training
    self._portable = portable
    self._normalizations = {}  # By the names of layers.

  def layer_input(self, x):
    """Notes `x` as the input of a layer; returns it in the layer's type."""
    x = tf.cast(x, tf.get_variable_scope().dtype)
    tf.add_to_collection(graph_keys.LAYER_INPUTS, x)
    return x

  def conv2d(self, x, kernel, scaled=True):
    """The convolution of a layer, with stride 1 and padding 'SAME'.

    Args:
      x: float tensor, [batch, height, width, channels].
      kernel: tensor, [rows, columns, channels, filters].
      scaled: whether batch normalization has a trained scale.

    Returns:
      Tensor of the type of `kernel`, [batch, height, width, filters].
    """
    kernel = self._normalization(kernel, scaled).weights(kernel)
    form = 'direct' if self._portable else self.settings.conv
    return layers.conv2d(x, kernel, form)

  def matmul(self, x, weights):
    """The product of a fully connected layer, [batch, units]."""
    return tf.matmul(x, self._normalization(weights).weights(weights))

  def locally_connected(self, x, weights):
    """The product of a locally connected layer, see local_layers.py."""
    weights = self._normalization(weights).weights(weights)
    return local_layers.locally_connected(x, weights)

  def bias_add(self, x, biases):
    """Normalizes the linear part of a layer, if asked to, and adds its biases.

    Args:
      x: tensor, [batch, ..., channels], from one of the methods above.
      biases: float tensor, [channels]; of a locally connected layer, [height,
        width, channels].

    Returns:
      Tensor of the type and shape of `x`.
    """
    norm = self._normalizations[tf.get_variable_scope().name]
    if x.shape.rank == 4 and biases.shape.rank == 1:
      return norm.with_biases(x, biases)
    return norm.outputs(x) + norm.biases(biases)

  def _normalization(self, weights, scaled=True):
    """Makes the normalization of the layer of the current variable scope.

    Returns:
      normalization.NoNormalization, or another class of that module.
    """
    name = tf.get_variable_scope().name
    found = normalization.NoNormalization()
    if self.settings.normalization == 'batch':
      channels = weights.shape.as_list()[-1]
      variables = normalization.variables(channels, scaled)
      # That of a frozen layer stays as it is, too.
      if scaled:
        is_frozen = not variables[0].trainable
      else:
        is_frozen = _has_frozen_weights(name)
      if self._is_training and not is_frozen:
        decay = self.settings.batch_norm_decay
        found = normalization.BatchNormalization(*variables, decay)
      else:
        found = normalization.FoldedBatchNormalization(*variables)
    self._normalizations[name] = found
    return found

  def lrn(self, x, depth_radius, alpha, name):
    """Local response normalization with bias 1 and beta 0.75, if asked to."""
    if self.settings.normalization != 'lrn':
      return x
    return layers.local_response_norm(
      x, depth_radius, alpha, name, self._portable
    )

  def activation(self, x, name):
    """The activation function of `x`, see `activations.activate`."""
    return activations.activate(
      x, self.settings.activation, self._is_training, name
    )

  def dropout(self, x, kind):
    """Drops a share of `x` in training, and scales the rest up.

    Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
    Overfitting", 2014.

    Args:
      x: float tensor.
      kind: the setting with the rate: 'input_dropout', 'conv_dropout' or
        'dropout'.

    Returns:
      Tensor of the type and shape of `x`.
    """
    rate = getattr(self.settings, kind) if self._is_training else 0.0
    return tf.nn.dropout(x, rate=rate) if rate else x

  def pooled(self, pool2):
    """What the upper layers take of `pool2`, the output of the convolutions."""
    return tf.cast(pool2, tf.get_variable_scope().dtype)


def _has_frozen_weights(layer):
  return any(
    variable.op.name == layer + '/weights'
    for variable in tf.get_collection(graph_keys.FROZEN)
  )


def training_scope(settings):
  """The variable scope of a model that is trained, a context manager.

  It carries the type that layers compute in, the initializer and the
  regularizer of weights, and which variables are not trained.
  """
  return tf.variable_scope(
    '',
    dtype=tf.as_dtype(settings.precision),
    initializer=initializers.create(settings),
    regularizer=regularizers.create(settings),
    custom_getter=freezing.custom_getter(settings.freeze),
  )
