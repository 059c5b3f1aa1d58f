"""Techniques of layers: one object that `cifar10.inference` asks.

By default each layer is the tutorial's. Other networks ask it too.
"""

import tensorflow.compat.v1 as tf

from cifar10.nets import activations
from cifar10.nets import layers
from cifar10.nets import normalization
from cifar10.nets import pooling
from cifar10.nets import variable_scope
from cifar10.settings import Settings
from cifar10.util import graph_keys


class Techniques:
  """Convolution, normalization, activation and dropout of a network's layers.

  Its methods are called in the variable scope of a layer. Make one for each
  call of `inference`.

  Args:
    is_training: dropout drops, and batch normalization follows the batches.
    portable: use TensorFlow's own operations only, for a graph that runs
      elsewhere.
    num_classes: None for the tutorial's.
  """

  def __init__(self, settings=Settings(), is_training=False, portable=False,
               num_classes=None):
    self.settings = settings
    self.num_classes = num_classes
    self._is_training = is_training
    self.portable = portable
    self._normalizations = {}  # By the names of layers.
    self._gradients = {} if portable else pooling.GRADIENTS

  def conv2d(self, x, kernel, scaled=True):
    """A convolution; if `scaled`, batch normalization has a trained scale."""
    tf.add_to_collection(graph_keys.LAYER_INPUTS, x)
    form = 'direct' if self.portable else self.settings.conv
    return layers.conv2d(x, self.folded(kernel, scaled), form)

  def matmul(self, x, weights):
    """The product of a fully connected layer, [batch, units]."""
    tf.add_to_collection(graph_keys.LAYER_INPUTS, x)
    return tf.matmul(tf.cast(x, weights.dtype), self.folded(weights))

  def bias_add(self, x, biases):
    """Adds biases to the linear part of a layer, [batch, ..., channels].

    If asked to, normalizes it before. Biases are [channels]; of a locally
    connected layer, [height, width, channels].
    """
    norm = self._normalizations[tf.get_variable_scope().name]
    if x.shape.rank == 4 and biases.shape.rank == 1:
      with tf.get_default_graph().gradient_override_map(self._gradients):
        return norm.with_biases(x, biases)
    return layers.bias_add(norm.outputs(x), norm.biases(biases))

  def logits(self, product):
    """The product of the last layer, float32 [batch, classes], for its biases.

    If asked to, it is normalized.
    """
    if not self.settings.normalize_logits:
      return product
    return self._batch_normalization(product).applied(product)

  def folded(self, weights, scaled=True):
    """Makes the layer's normalization; returns the weights to compute with."""
    norm = normalization.NoNormalization()
    if self.settings.normalization == 'batch':
      norm = self._batch_normalization(weights, scaled)
    self._normalizations[tf.get_variable_scope().name] = norm
    return norm.weights(weights)

  def _batch_normalization(self, x, scaled=True):
    """That of the layer, for weights or outputs `x`, [..., channels]."""
    variables = normalization.variables(x.shape.as_list()[-1], scaled)
    # A frozen layer keeps its moving averages, too.
    name = tf.get_variable_scope().name
    trained = variables[0].op.name if scaled else name + '/weights'
    frozen = {v.op.name for v in tf.get_collection(graph_keys.FROZEN)}
    if self._is_training and trained not in frozen:
      decay = self.settings.batch_norm_decay
      return normalization.BatchNormalization(*variables, decay)
    return normalization.FoldedBatchNormalization(*variables)

  def lrn(self, x, depth_radius, alpha, name):
    """Local response normalization with bias 1 and beta 0.75, if asked to."""
    if self.settings.normalization != 'lrn':
      return x
    return layers.local_response_norm(x, depth_radius, alpha, name,
                                      self.portable, self._is_training)

  def activation(self, x, name):
    """The activation function of `x`, see `activations.activate`."""
    kind, slope = self.settings.activation, self.settings.leaky_relu_slope
    with tf.get_default_graph().gradient_override_map(self._gradients):
      return activations.activate(x, kind, self._is_training, name, slope,
                                  self.portable)

  def outputs(self, linear, shape, bias, name, dtype=None):
    """The outputs of a layer, from its linear part; with a summary.

    Its biases, of a `shape` as for `bias_add`, start at `bias`; `dtype` is as
    for `layers.variable_on_cpu`.
    """
    initial = tf.constant_initializer(bias)
    biases = layers.variable_on_cpu('biases', shape, initial, dtype=dtype)
    outputs = self.activation(self.bias_add(linear, biases), name)
    layers.activation_summary(outputs)
    return outputs

  def dropout(self, x, kind):
    """Drops the share of `x` in the setting `kind`; scales the rest up.

    Networks call it for the images, then for the outputs of each layer but the
    last; see frozen_layers.py.

    Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
    Overfitting", 2014.
    """
    rate = getattr(self.settings, kind) if self._is_training else 0.0
    return layers.dropout(x, rate, kind) if rate else x


def training_scope(settings):
  """The variable scope of a model in training, with its defaults."""
  return tf.variable_scope(
      '', dtype=tf.as_dtype(settings.precision),
      initializer=variable_scope.initializer(settings),
      regularizer=variable_scope.regularizer(settings),
      custom_getter=variable_scope.freezing_getter(settings.freeze))
