"""Losses of pretraining.

An autoencoder (Hinton and Salakhutdinov, "Reducing the Dimensionality of Data
with Neural Networks", 2006) or a restricted Boltzmann machine (Hinton, "A Fast
Learning Algorithm for Deep Belief Nets", 2006) trains layer by layer, each on
the outputs of the layer below; decoder weights are tied to the encoder's. The
other losses train all layers at once.
"""

import re

import tensorflow.compat.v1 as tf

from cifar10.nets import convnet
from cifar10.nets import layers
from cifar10.util import graph_keys

# Tasks that compare pairs of images, and all tasks that train all layers at
# once.
PAIRS = ('pairs', 'distorted_pairs')
AUXILIARY = ('corrupted', 'max_margin', *PAIRS)


def layer_names(settings):
  """The layers that are pretrained, from the images up."""
  return ['conv1', 'conv2', *convnet.hidden_layers(settings.hidden_layers)]


class TiedLayer:
  """A layer of the model in the default graph, and its decoder.

  Its `inputs` are [batch, height, width, channels] or [batch, dim], their
  float32 `visible_biases` [channels] or [dim].
  """

  def __init__(self, name):
    number = int(re.search('[0-9]+$', name).group())  # The first one is conv1.
    inputs = tf.get_collection(graph_keys.LAYER_INPUTS)[number - 1]
    with tf.variable_scope(name, reuse=True) as scope:
      # Biases in float32: their gradient is a sum, which stalls in 16 bits.
      weights, biases = (tf.get_variable(kind, dtype=tf.float32)
                         for kind in ('weights', 'biases'))
      self._weights = tf.cast(weights, scope.dtype)
      self._biases = tf.cast(biases, tf.float32)
    self._is_conv = self._weights.shape.rank == 4
    # The layers below are already trained.
    self.inputs = tf.stop_gradient(tf.cast(inputs, self._weights.dtype))
    with tf.variable_scope(name):
      self.visible_biases = layers.variable_on_cpu('visible_biases',
                                                   self.inputs.shape[-1:],
                                                   tf.zeros_initializer(),
                                                   dtype=tf.float32)

  def up(self, x):
    """The units of the inputs `x`, before their activation; float32."""
    multiply = layers.conv2d if self._is_conv else layers.matmul
    return layers.upcast(multiply(x, self._weights)) + self._biases

  def down(self, units):
    """The inputs, reconstructed from the units' activations; float32."""
    if self._is_conv:
      # The filters rotated by 180 degrees, from units to inputs.
      turned = tf.transpose(tf.reverse(self._weights, [0, 1]), [0, 1, 3, 2])
      inputs = layers.conv2d(units, turned)
    else:
      inputs = tf.matmul(tf.cast(units, self._weights.dtype), self._weights,
                         transpose_b=True)
    return layers.upcast(inputs) + self.visible_biases


def autoencoder_loss(layer, activate, corrupt):
  """Half the squared distance between a TiedLayer's inputs and reconstruction.

  Summed over channels, averaged over batch and pixels; a float32 scalar. If
  `corrupt` drops some of the inputs, it is a denoising autoencoder: Vincent et
  al., "Extracting and Composing Robust Features with Denoising Autoencoders",
  2008.
  """
  units = activate(layer.up(corrupt(layer.inputs)))
  return _half_squared_distance(layer.down(units), layer.inputs)


def rbm_loss(layer, activation):
  """A loss whose gradient is that of contrastive divergence, with one step.

  Hinton, "Training Products of Experts by Minimizing Contrastive Divergence",
  2002. Inputs are Gaussian with variance 1. The activation is 'sigmoid', for
  binary units, or 'relu', for rectified and noisy ones: Nair and Hinton,
  "Rectified Linear Units Improve Restricted Boltzmann Machines", 2010. Returns
  a float32 scalar.
  """
  units = _UNITS[activation]
  means, samples = units(layer.up(layer.inputs))
  inputs_back = tf.stop_gradient(layer.down(samples))
  means_back, _ = units(layer.up(inputs_back))
  divergence = _energy(layer, layer.inputs, means)
  divergence -= _energy(layer, inputs_back, means_back)
  distance = _half_squared_distance(inputs_back, layer.inputs)
  return distance + divergence - tf.stop_gradient(divergence)


def _energy(layer, inputs, units):
  """The mean of the part of the energy that depends on variables."""
  of_units = tf.reduce_sum(layer.up(inputs) * tf.stop_gradient(units), -1)
  of_inputs = tf.reduce_sum(layer.visible_biases * layers.upcast(inputs), -1)
  return -tf.reduce_mean(of_units) - tf.reduce_mean(of_inputs)


def _binary(x):
  """Means and samples of units that are 0 or 1."""
  means = tf.sigmoid(x)
  return means, tf.to_float(tf.random_uniform(tf.shape(x)) < means)


def _rectified(x):
  """Means and samples of the sum of many binary units with shifted biases."""
  noise = tf.random_normal(tf.shape(x))
  samples = tf.nn.relu(x + noise * tf.sqrt(tf.sigmoid(x)))
  return tf.nn.softplus(x), samples


# Kinds of units, by the activation function that they stand for.
_UNITS = {'sigmoid': _binary, 'relu': _rectified}


def _half_squared_distance(x, y):
  difference = layers.upcast(x) - layers.upcast(y)
  return tf.reduce_mean(tf.reduce_sum(tf.square(difference), -1)) / 2


def margin_loss(real, corrupted):
  """The hinge loss between scores, float32 [batch, 1], with a margin of 1.

  `corrupted` are scores of the same images, corrupted. Collobert and Weston, "A
  Unified Architecture for Natural Language Processing", 2008, section 5, do
  that with words.
  """
  return tf.reduce_mean(tf.nn.relu(1 - real + corrupted))


def contrastive_loss(outputs, labels):
  """Pulls outputs of the same label together, and pushes others apart.

  Hadsell, Chopra and LeCun, "Dimensionality Reduction by Learning an Invariant
  Mapping", 2006, with a margin of 1: over all pairs of a batch, at distances d,
  the mean of d ** 2 for the same label, plus the mean of max(0, 1 - d) ** 2 for
  different ones. Both count equally, although few pairs have the same label.

  Takes float32 [batch, dim] and int32 [batch]; returns a float32 scalar.
  """
  norms = tf.reduce_sum(tf.square(outputs), 1)
  products = tf.matmul(outputs, outputs, transpose_b=True)
  squares = norms[:, tf.newaxis] + norms - 2 * products  # [batch, batch]
  # Above 0, where a root has no gradient.
  squares = tf.maximum(squares, 1e-12)
  are_same = tf.equal(labels[:, tf.newaxis], labels)
  # An image does not form a pair with itself.
  same = tf.matrix_set_diag(tf.to_float(are_same), tf.zeros_like(norms))
  different = 1 - tf.to_float(are_same)
  return (_mean_where(same, squares) +
          _mean_where(different, tf.square(tf.nn.relu(1 - tf.sqrt(squares)))))


def _mean_where(mask, values):
  """The mean of the values where the mask is 1; 0 if it is 0 everywhere."""
  return tf.reduce_sum(mask * values) / tf.maximum(tf.reduce_sum(mask), 1)
