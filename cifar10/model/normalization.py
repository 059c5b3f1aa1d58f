"""Batch normalization.

Ioffe and Szegedy, "Batch Normalization", arXiv 1502.03167. What a linear layer
computes, before its biases are added, becomes

    scale * (x - mean) / sqrt(variance + epsilon) + biases

for each channel: in training with the mean and variance of the batch, later
with their moving averages over the whole training. The biases of the layer are
the offset, so a layer has no other one.

A layer asks its normalization for three things: the weights to compute with,
what becomes of the outputs, and the biases to add.
"""

import tensorflow.compat.v1 as tf

_EPSILON = 1e-3


class NoNormalization:
  """Leaves a layer as it is."""

  def weights(self, weights):
    """The weights to compute with."""
    return weights

  def outputs(self, x):
    """What becomes of the outputs, before the biases are added."""
    return x

  def biases(self, biases):
    """The biases to add."""
    return biases


class BatchNormalization(NoNormalization):
  """Normalizes the outputs of a layer over a batch, in training.

  Of several towers, the moving averages follow the first one.
  """

  def __init__(self, scale, mean, variance, decay):
    """Takes the variables of the layer, and the decay of the averages."""
    self._scale, self._mean, self._variance = scale, mean, variance
    self._decay = decay

  def outputs(self, x):
    """Normalizes the outputs and scales them.

    The operations that update the moving averages are in the collection
    UPDATE_OPS.

    Args:
      x: float tensor, [batch, ..., channels].

    Returns:
      Tensor of the type and shape of `x`, computed in float32.
    """
    # TensorFlow's operation takes images.
    rows = tf.reshape(tf.cast(x, tf.float32), [-1, 1, 1, x.shape[-1]])
    normalized, mean, variance = tf.nn.fused_batch_norm(
      rows, self._scale, tf.zeros_like(self._scale), epsilon=_EPSILON
    )
    if not tf.get_variable_scope().reuse:
      self._follow(self._mean, mean)
      self._follow(self._variance, variance)
    return tf.reshape(tf.cast(normalized, x.dtype), tf.shape(x))

  def _follow(self, average, value):
    """Moves an average towards a value with each step."""
    with tf.colocate_with(average):
      update = tf.assign_sub(average, (average - value) * (1 - self._decay))
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)


class FoldedBatchNormalization(NoNormalization):
  """Normalizes by the moving averages, as part of the weights and biases."""

  def __init__(self, scale, mean, variance):
    """Takes the variables of the layer."""
    self._factor = scale * tf.rsqrt(variance + _EPSILON)
    self._shift = mean * self._factor

  def weights(self, weights):
    """The weights, [..., channels], times the factor of each channel."""
    folded = tf.cast(weights, tf.float32) * self._factor
    return tf.cast(folded, weights.dtype)

  def biases(self, biases):
    """The biases, [..., channels], less the normalized mean."""
    return tf.cast(tf.cast(biases, tf.float32) - self._shift, biases.dtype)


def variables(channels):
  """Makes the variables of a layer, in its variable scope.

  Args:
    channels: channels of the outputs.

  Returns:
    The trained scale, and the moving mean and variance of the outputs.
  """

  def variable(name, value, **kind):
    return tf.get_variable(
      name,
      [channels],
      tf.float32,
      tf.constant_initializer(value),
      regularizer=tf.no_regularizer,
      **kind,
    )

  # Part of the model, and not trained.
  kind = {
    'trainable': False,
    'collections': [
      tf.GraphKeys.GLOBAL_VARIABLES,
      tf.GraphKeys.MODEL_VARIABLES,
    ],
  }
  with tf.device('/cpu:0'), tf.variable_scope('batch_normalization') as scope:
    scope.set_partitioner(None)  # Too small to be split over servers.
    return (
      variable('scale', 1.0),
      variable('moving_mean', 0.0, **kind),
      variable('moving_variance', 1.0, **kind),
    )
