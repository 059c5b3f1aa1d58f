"""Normalization, activation and dropout, as the settings choose them."""

import tensorflow.compat.v1 as tf

from cifar10.nets import activations
from cifar10.nets import layers
from cifar10.nets import normalization
from cifar10.settings import Settings
from cifar10.util import graph_keys

RADIUS = 4  # The depth_radius of local response normalization.


class Techniques:
  """Normalization, activation and dropout in one call of `inference`.

  Call the methods in the variable scope of a layer. In training, dropout drops
  and batch normalization updates its moving averages.
  """

  def __init__(self, settings=Settings(), is_training=False, num_classes=10):
    self.settings = settings
    self.num_classes = num_classes
    self.is_training = is_training
    self._normalizations = {}  # By name of layer.

  def conv2d(self, x, kernel, scaled=True, needed=None):
    """A `layers.conv2d`; `scaled`: batch normalization has a trained scale."""
    tf.add_to_collection(graph_keys.LAYER_INPUTS, x)
    kernel = self.normalized_weights(kernel, scaled)
    return layers.conv2d(x, kernel, needed=needed)

  def matmul(self, x, weights):
    """The product of a fully connected layer, [batch, units]."""
    tf.add_to_collection(graph_keys.LAYER_INPUTS, x)
    return layers.matmul(x, self.normalized_weights(weights))

  def bias_add(self, x, biases):
    """Normalizes the linear part of a layer if asked to, and adds the biases.

    `x` is [batch, ..., channels]; biases are [channels], or those of a locally
    connected layer, [height, width, channels].
    """
    if self.settings.normalization != 'batch':
      return layers.bias_add(x, biases)
    norm = self._normalizations[tf.get_variable_scope().name]
    return norm.with_biases(x, biases)

  def logits(self, product):
    """The last layer's product, [batch, classes], normalized if asked to."""
    if not self.settings.normalize_logits:
      return product
    return self._batch_normalization(product).outputs(product)

  def normalized_weights(self, weights, scaled=True):
    """Creates the layer's batch normalization, which `bias_add` looks up.

    Returns the weights to compute with, which may include the normalization.
    """
    if self.settings.normalization != 'batch':
      return weights
    norm = self._batch_normalization(weights, scaled)
    self._normalizations[tf.get_variable_scope().name] = norm
    return norm.weights(weights)

  def _batch_normalization(self, x, scaled=True):
    """For the layer whose weights or outputs are `x`, [..., channels]."""
    variables = normalization.variables(x.shape.as_list()[-1], scaled)
    # A frozen layer keeps its moving averages, too.
    name = tf.get_variable_scope().name
    trained = variables[0].op.name if scaled else name + '/weights'
    frozen = {v.op.name for v in tf.get_collection(graph_keys.FROZEN)}
    if self.is_training and trained not in frozen:
      decay = self.settings.batch_norm_decay
      return normalization.BatchNormalization(*variables, decay)
    return normalization.FoldedBatchNormalization(*variables)

  def lrn(self, x, name):
    """The tutorial's local response normalization, if asked to."""
    if self.settings.normalization != 'lrn':
      return x
    return layers.lrn(x, RADIUS, bias=1.0, alpha=0.001 / 9.0, beta=0.75,
                      name=name)

  def activation(self, x, name):
    """The activation function of `x`, see `activations.activate`."""
    settings = self.settings
    return activations.activate(x, settings.activation, self.is_training, name,
                                settings.leaky_relu_slope)

  def outputs(self, linear, shape, bias, name, dtype=None):
    """The outputs of a layer, from its linear part; with a summary.

    The biases, of `shape`, start at `bias`; `dtype` is as for
    `layers.variable_on_cpu`.
    """
    initial = tf.constant_initializer(bias)
    biases = layers.variable_on_cpu('biases', shape, initial, dtype=dtype)
    outputs = self.activation(self.bias_add(linear, biases), name)
    layers.activation_summary(outputs)
    return outputs

  def dropout(self, x, kind):
    """Drops values of `x` at the rate of the setting `kind`.

    Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
    Overfitting", 2014. A network must call it for the images, then for the
    outputs of each layer but the last: frozen_layers.py counts the calls.
    """
    rate = getattr(self.settings, kind) if self.is_training else 0.0
    return layers.dropout(x, rate, kind) if rate else x
