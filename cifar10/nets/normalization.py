"""Batch normalization: Ioffe and Szegedy, arXiv 1502.03167.

The outputs of a linear layer, before its biases are added, become

    scale * (x - mean) / sqrt(variance + epsilon) + biases

for each channel: in training with the mean and variance of the batch,
afterwards with their moving averages. The offset of the paper is the biases.
"""

import tensorflow.compat.v1 as tf

from cifar10.nets import layers
from cifar10.util import graph_keys

_EPSILON = 1e-3


class BatchNormalization:
  """Normalizes a layer's outputs, [batch, ..., channels], over a batch.

  The first tower updates the moving averages, which have `decay`, by
  UPDATE_OPS. The batch's float32 statistics are in BATCH_STATISTICS.
  """

  def __init__(self, scale, mean, variance, decay):
    self._scale, self._decay = scale, decay
    self._mean, self._variance = mean, variance

  def weights(self, weights):
    return weights

  def outputs(self, x):
    # tf.nn.fused_batch_norm takes images.
    rows = tf.reshape(x, [-1, 1, 1, x.shape[-1]])
    return tf.reshape(self._normalized(rows, 0.0), tf.shape(x))

  def with_biases(self, x, biases):
    if x.shape.rank != 4 or biases.shape.rank != 1:
      return layers.bias_add(self.outputs(x), biases)
    return self._normalized(x, tf.cast(biases, tf.float32))

  def _normalized(self, images, offset):
    """Normalizes [batch, height, width, channels]; then adds the offset."""
    dtype = images.dtype
    # Only TensorFlow 2's operation takes 16 bits, float16 not on all CPUs.
    if dtype != tf.bfloat16 or tf.__version__ < '2':
      images = tf.cast(images, tf.float32)
    normalized, mean, variance = tf.nn.fused_batch_norm(
        images, self._scale, offset + tf.zeros_like(self._mean),
        epsilon=_EPSILON)
    if not tf.get_variable_scope().reuse:
      self._update(self._mean, mean)
      self._update(self._variance, variance)
    return tf.cast(normalized, dtype)

  def _update(self, average, value):
    with tf.colocate_with(average):
      update = tf.assign_sub(average, (average - value) * (1 - self._decay))
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
    tf.add_to_collection(graph_keys.FOLLOWING_STATISTICS, average)
    tf.add_to_collection(graph_keys.BATCH_STATISTICS, value)


class FoldedBatchNormalization:
  """Normalizes by the moving averages, folded into the weights and biases."""

  def __init__(self, scale, mean, variance):
    self._factor = scale * tf.rsqrt(variance + _EPSILON)
    self._shift = mean * self._factor

  def weights(self, weights):
    folded = tf.cast(weights, tf.float32) * self._factor
    return tf.cast(folded, weights.dtype)

  def outputs(self, x):
    return self.weights(x) - self._shift

  def with_biases(self, x, biases):
    shifted = tf.cast(biases, tf.float32) - self._shift
    return layers.bias_add(x, tf.cast(shifted, biases.dtype))


def variables(channels, scaled=True):
  """Creates a layer's scale, constant 1 if not `scaled`, mean and variance."""
  shape, key = [channels], graph_keys.STATISTICS
  zeros, ones = tf.zeros_initializer(), tf.ones_initializer()
  with tf.device('/cpu:0'), tf.variable_scope('batch_normalization') as scope:
    scope.set_partitioner(None)  # Too small to be split over servers.
    scale = tf.ones(shape)
    if scaled:
      scale = layers.float32_variable('scale', shape, ones)
    mean = layers.untrained_variable('moving_mean', shape, zeros, key)
    variance = layers.untrained_variable('moving_variance', shape, ones, key)
    return scale, mean, variance
