"""Penalties on weights, which join the loss."""

import tensorflow.compat.v1 as tf


def create(settings):
  """The regularizer of the weights of all layers.

  Args:
    settings: model.settings.Regularization.

  Returns:
    A function of a weight variable that returns its penalty, a float32 scalar
    tensor, as tf.get_variable takes it; None for the tutorial's weight decay,
    which layers bring with them.
  """
  return {
    'tutorial': None,
    'none': tf.no_regularizer,
    'l1': lambda weights: _l1(weights, settings.l1_scale),
    'l2': lambda weights: _l2(weights, settings.l2_scale),
    'l1_l2': lambda weights: (
      _l1(weights, settings.l1_scale) + _l2(weights, settings.l2_scale)
    ),
  }[settings.regularizer]


def _l1(weights, scale):
  """Sparse weights: Tibshirani, "Regression Shrinkage via the Lasso", 1996."""
  return scale * tf.reduce_sum(tf.abs(weights))


def _l2(weights, scale):
  """Weight decay: Krogh and Hertz, "A Simple Weight Decay Can Improve
  Generalization", 1991; half the sum of squares, as in the tutorial.
  """
  return scale * tf.nn.l2_loss(weights)
