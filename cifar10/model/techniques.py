"""What the settings put into each layer: one object that `inference` asks.

By default it puts in nothing but ReLU.
"""

import tensorflow.compat.v1 as tf

from cifar10.model import activations
from cifar10.model import freezing
from cifar10.model import initializers
from cifar10.model import normalization
from cifar10.model import regularizers
from cifar10.util import graph_keys


class Techniques:
  """Normalization, activation and dropout of the layers of a model."""

  def __init__(self, model, training=None):
    """Takes the settings.

    Args:
      model: model.settings.Model.
      training: model.settings.Regularization of a model that is trained; None
        for one that is used.
    """
    self._model = model
    self._training = training

  def normalization(self, channels, scaled=True):
    """The normalization of a layer, in the variable scope of the layer.

    Args:
      channels: channels of its outputs.
      scaled: whether batch normalization has a trained scale.

    Returns:
      normalization.NoNormalization, or another class of that module.
    """
    if self._model.normalization != 'batch':
      return normalization.NoNormalization()
    variables = normalization.variables(channels, scaled)
    # That of a frozen layer stays as it is, too.
    if scaled:
      is_frozen = not variables[0].trainable
    else:
      is_frozen = _has_frozen_weights(tf.get_variable_scope().name)
    if self._training is None or is_frozen:
      return normalization.FoldedBatchNormalization(*variables)
    return normalization.BatchNormalization(
      *variables, self._training.batch_norm_decay
    )

  def activate(self, x, name):
    """The activation function of `x`, see `activations.activate`."""
    is_training = self._training is not None
    return activations.activate(x, self._model.activation, is_training, name)

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
    rate = getattr(self._training, kind) if self._training else 0.0
    return tf.nn.dropout(x, rate=rate) if rate else x


def _has_frozen_weights(layer):
  return any(
    variable.op.name == layer + '/weights'
    for variable in tf.get_collection(graph_keys.FROZEN)
  )


def training_scope(config):
  """The variable scope of a model that is trained.

  Args:
    config: config.Config; the type that layers compute in, the initializer and
      the regularizer of weights, and which variables are not trained.

  Returns:
    tf.variable_scope, a context manager.
  """
  return tf.variable_scope(
    '',
    dtype=tf.as_dtype(config.session.precision),
    initializer=initializers.create(config.initialization),
    regularizer=regularizers.create(config.regularization),
    custom_getter=freezing.custom_getter(config.transfer.freeze),
  )
