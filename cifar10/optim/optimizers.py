"""Optimizers and gradient clipping."""

import tensorflow.compat.v1 as tf

from cifar10.optim import muon

# Initial learning rates; that of gradient descent is the tutorial's.
LEARNING_RATES = {
  'momentum': 0.01,
  'nesterov': 0.01,
  'adagrad': 0.01,
  'rmsprop': 0.001,
  'adam': 0.001,
  'ftrl': 0.05,
  'muon': 0.02,
}

# The part of a model whose rate is a setting of its own: the last layer.
_LAST_LAYER = 'softmax_linear/'


class Update(tf.train.Optimizer):
  """All that a step updates, as one optimizer.

  So it can be what a tf.train.SyncReplicasOptimizer runs with the gradients of
  all workers.
  """

  def __init__(self, optimizer, apply):
    """Takes an optimizer, and how its gradients are applied.

    Args:
      optimizer: tf.train.Optimizer, or an object from `create`.
      apply: function (optimizer, list of pairs (gradient, variable), global
        step) that returns an operation.
    """
    super().__init__(use_locking=False, name='Update')
    self._optimizer, self._apply = optimizer, apply

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    return self._apply(self._optimizer, list(grads_and_vars), global_step)


def is_plain(settings):
  """Whether plain gradient descent trains all variables alike."""
  return settings.optimizer == 'sgd' and _is_one_rate(settings)


def _is_one_rate(settings):
  return settings.bias_rate == settings.softmax_rate == 1


def create(settings, learning_rate):
  """The optimizer, if it is another one than plain gradient descent.

  Args:
    settings: settings.Settings.
    learning_rate: float32 scalar tensor.

  Returns:
    tf.train.Optimizer; or, if not all variables are trained alike, an object
    with an `apply_gradients` like it.
  """
  if _is_one_rate(settings) and settings.optimizer != 'muon':
    return _of_kind(settings.optimizer, settings, learning_rate)
  return _ByKind(settings, learning_rate)


class _ByKind:
  """Optimizers for the weights, for the last layer and for all else."""

  def __init__(self, settings, learning_rate):
    others = settings.optimizer
    if others == 'muon':  # It is for the weights of hidden layers.
      others = 'nesterov'
    self._by_kind = {
      'weights': _of_kind(settings.optimizer, settings, learning_rate),
      'last': _of_kind(others, settings, learning_rate * settings.softmax_rate),
      'others': _of_kind(others, settings, learning_rate * settings.bias_rate),
    }

  def apply_gradients(self, gradients):
    by_kind = {kind: [] for kind in self._by_kind}
    for gradient, variable in gradients:
      by_kind[_kind(variable.op.name)].append((gradient, variable))
    return tf.group(
      *(
        self._by_kind[kind].apply_gradients(part)
        for kind, part in by_kind.items()
        if part
      )
    )


def _kind(name):
  """What a variable of that name is for an optimizer."""
  layer, _, variable = name.rpartition('/')
  # Weights that are split over servers are weights/part_0.
  if 'weights' not in (variable, layer.rpartition('/')[2]):
    return 'others'
  return 'last' if name.startswith(_LAST_LAYER) else 'weights'


def _of_kind(kind, settings, learning_rate):
  return {
    # Robbins and Monro, "A Stochastic Approximation Method", 1951.
    'sgd': lambda: tf.train.GradientDescentOptimizer(learning_rate),
    # Polyak, "Some methods of speeding up the convergence of iteration
    # methods", 1964.
    'momentum': lambda: tf.train.MomentumOptimizer(
      learning_rate, settings.momentum
    ),
    # Sutskever et al., "On the importance of initialization and momentum in
    # deep learning", 2013, section 2.
    'nesterov': lambda: tf.train.MomentumOptimizer(
      learning_rate, settings.momentum, use_nesterov=True
    ),
    # Duchi et al., "Adaptive Subgradient Methods", 2011.
    'adagrad': lambda: tf.train.AdagradOptimizer(learning_rate),
    # Tieleman and Hinton, "Lecture 6.5 - rmsprop", 2012.
    'rmsprop': lambda: tf.train.RMSPropOptimizer(
      learning_rate, settings.rmsprop_decay, epsilon=settings.epsilon
    ),
    # Kingma and Ba, "Adam: A Method for Stochastic Optimization", arXiv
    # 1412.6980.
    'adam': lambda: tf.train.AdamOptimizer(
      learning_rate,
      settings.adam_beta1,
      settings.adam_beta2,
      settings.epsilon,
    ),
    'muon': lambda: muon.MuonOptimizer(learning_rate, settings.muon_momentum),
    # McMahan et al., "Ad Click Prediction: a View from the Trenches", 2013,
    # algorithm 1.
    # It divides by the rate, which schedules may let fall to 0.
    'ftrl': lambda: tf.train.FtrlOptimizer(
      tf.maximum(learning_rate, 1e-30),
      l1_regularization_strength=settings.ftrl_l1,
      l2_regularization_strength=settings.ftrl_l2,
    ),
  }[kind]()


def clipped(gradients, settings):
  """Gradients within the limits of the settings.

  Pascanu et al., "On the difficulty of training Recurrent Neural Networks",
  arXiv 1211.5063, section 3.2.

  Args:
    gradients: list of pairs (gradient, variable).
    settings: settings.Settings.

  Returns:
    A list like `gradients`.
  """
  values, variables = zip(*gradients)
  if settings.clip_value:
    limit = settings.clip_value
    values = [tf.clip_by_value(value, -limit, limit) for value in values]
  if settings.clip_norm_each:
    values = [tf.clip_by_norm(v, settings.clip_norm_each) for v in values]
  if settings.clip_norm:
    values, _ = tf.clip_by_global_norm(values, settings.clip_norm)
  return list(zip(values, variables))
