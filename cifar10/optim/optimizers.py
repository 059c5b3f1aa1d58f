"""Optimizers, gradient clipping, and limits on the weights."""

import dataclasses
import functools

import tensorflow.compat.v1 as tf

from cifar10.optim import ftrl

# Default learning rates; that of gradient descent is the tutorial's.
LEARNING_RATES = {
    'momentum': 0.01,
    'nesterov': 0.01,
    'adagrad': 0.01,
    'rmsprop': 0.001,
    'adam': 0.001,
    'ftrl': 0.05,
    'muon': 0.02
}


def with_defaults(settings, constants):
  """Settings with defaults, some of an optimizer, in place of None.

  `constants` are the tutorial's: num_epochs_per_decay is NUM_EPOCHS_PER_DECAY,
  and so on.
  """
  found = settings.constants(constants)
  if settings.learning_rate is None:
    found['learning_rate'] = LEARNING_RATES.get(
        settings.optimizer, constants['INITIAL_LEARNING_RATE'])
  if settings.momentum is None:
    found['momentum'] = 0.0 if settings.optimizer == 'rmsprop' else 0.9
  return dataclasses.replace(settings, **found)


def is_plain(settings):
  """True if plain gradient descent trains all variables alike."""
  return settings.optimizer == 'sgd' and _has_one_rate(settings)


def _has_one_rate(settings):
  return settings.bias_rate == settings.softmax_rate == 1


def create(settings, learning_rate):
  """A tf.train.Optimizer for the settings."""
  if _has_one_rate(settings) and settings.optimizer != 'muon':
    return _by_name(settings.optimizer, settings, learning_rate)
  return _PerGroupOptimizer(settings, learning_rate)


class _PerGroupOptimizer(tf.train.Optimizer):
  """An optimizer for each group of variables, see `_group`."""

  def __init__(self, settings, rate):
    super().__init__(use_locking=False, name='PerGroup')
    name = settings.optimizer
    self._groups = {'hidden': (_by_name(name, settings, rate), 0.0)}
    # Muon is for the weights of hidden layers only.
    name = 'nesterov' if name == 'muon' else name
    factors = {'softmax': settings.softmax_rate, 'biases': settings.bias_rate}
    for group, factor in factors.items():
      # Divided by the factor of the rate: both groups shrink alike.
      decay = settings.muon_decay / factor if factor else 0.0
      self._groups[group] = _by_name(name, settings, rate * factor), decay

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    updates = []
    for group, (optimizer, decay) in self._groups.items():
      pairs = [(g, v) for g, v in grads_and_vars if _group(v.op.name) == group]
      if decay:
        pairs = [(grad + decay * w.read_value(), w) for grad, w in pairs]
      if pairs:
        updates.append(optimizer.apply_gradients(pairs))
    return tf.group(*updates)


def _group(name):
  """The group of a variable: 'hidden' or 'softmax' weights; else 'biases'."""
  # Weights that are split over servers are weights/part_0.
  if 'weights' not in name.split('/')[-2:]:
    return 'biases'
  return 'softmax' if name.startswith('softmax_linear/') else 'hidden'


def _by_name(name, settings, rate):
  return {
      # Robbins and Monro, "A Stochastic Approximation Method", 1951.
      'sgd': lambda: tf.train.GradientDescentOptimizer(rate),
      # Polyak, "Some methods of speeding up the convergence of iteration
      # methods", 1964.
      'momentum': lambda: tf.train.MomentumOptimizer(rate, settings.momentum),
      # Sutskever et al., "On the importance of initialization and momentum in
      # deep learning", 2013, section 2.
      'nesterov': lambda: tf.train.MomentumOptimizer(rate, settings.momentum,
                                                     use_nesterov=True),
      # Duchi et al., "Adaptive Subgradient Methods", 2011.
      'adagrad': lambda: tf.train.AdagradOptimizer(rate),
      # Tieleman and Hinton, "Lecture 6.5 - rmsprop", 2012; the momentum is that
      # of Graves, arXiv 1308.0850, without centering.
      'rmsprop': lambda: tf.train.RMSPropOptimizer(
          rate, settings.rmsprop_decay, settings.momentum, settings.epsilon),
      # Kingma and Ba, "Adam: A Method for Stochastic Optimization", arXiv
      # 1412.6980.
      'adam': lambda: tf.train.AdamOptimizer(rate, settings.adam_beta1, settings
                                             .adam_beta2, settings.epsilon),
      'muon': lambda: MuonOptimizer(rate, settings.muon_momentum),
      'ftrl': lambda: ftrl.FtrlOptimizer(rate, l1=settings.ftrl_l1, l2=settings.
                                         ftrl_l2)
  }[name]()


class MuonOptimizer(tf.train.Optimizer):
  """Nesterov momentum whose steps are made orthogonal, for hidden layers.

  Jordan et al., "Muon: An optimizer for hidden layers in neural networks",
  2024, https://kellerjordan.github.io/posts/muon/

  The weights of a layer are a matrix with a column for each unit or filter. A
  step is the momentum with all its singular values near 1. Before each step the
  weights are scaled to a norm of 1 per unit, on average, which suits layers
  whose outputs are normalized.
  """

  def __init__(self, learning_rate, momentum):
    super().__init__(use_locking=False, name='Muon')
    self._rate, self._momentum = learning_rate, momentum

  def _create_slots(self, var_list):
    for variable in var_list:
      self._zeros_slot(variable, 'momentum', self._name)

  def _apply_dense(self, grad, var):
    slot = self.get_slot(var, 'momentum')
    momentum = tf.assign(slot, self._momentum * slot.read_value() + grad)
    units = var.shape.as_list()[-1]
    matrix = tf.reshape(grad + self._momentum * momentum, [-1, units])
    step = tf.reshape(orthogonal(matrix), tf.shape(var))
    weights = var.read_value()
    scale = units**0.5 / tf.norm(weights)
    return tf.assign(var, scale * weights - self._rate * step)

  _resource_apply_dense = _apply_dense


def orthogonal(matrix):
  """A matrix with the same singular vectors, and singular values near 1.

  Iterates the paper's polynomial three times, as in its CIFAR-10 record. The
  factors commute, so `x` itself is multiplied once.
  """
  rows, columns = matrix.shape.as_list()
  x = matrix / (tf.norm(matrix) + 1e-7)
  is_tall = rows > columns
  square = tf.matmul(x, x, transpose_a=is_tall, transpose_b=not is_tall)
  a, b, c = 3.4445, -4.7750, 2.0315
  identity = tf.eye(min(rows, columns))
  factors = []
  for _ in range(3):
    factor = a * identity + b * square + c * tf.matmul(square, square)
    square = tf.matmul(tf.matmul(factor, square), factor)
    factors.append(factor)
  product = functools.reduce(tf.matmul, factors)
  return tf.matmul(x, product) if is_tall else tf.matmul(product, x)


def apply(optimizer, gradients, settings):
  """A list of operations that apply pairs (gradient, variable).

  Gradients and weights stay within the limits of the settings.
  """
  applied = optimizer.apply_gradients(clipped(gradients, settings))
  with tf.control_dependencies([applied]):
    return [applied, *_limit_norms(settings.max_norm)]


def clipped(gradients, settings):
  """Clips pairs (gradient, variable) to the limits of the settings.

  Pascanu et al., arXiv 1211.5063, section 3.2. With --hold_zeros, masks the
  gradients of zero weights: Han et al., arXiv 1506.02626.
  """
  values, variables = zip(*gradients)
  if settings.hold_zeros:
    weights = {v.op.name for v in _trained_weights()}
    values = [
        value * tf.to_float(tf.not_equal(variable, 0))
        if variable.op.name in weights else value
        for value, variable in gradients
    ]
  if settings.clip_value:
    limit = settings.clip_value
    values = [tf.clip_by_value(value, -limit, limit) for value in values]
  if settings.clip_norm_each:
    values = [tf.clip_by_norm(v, settings.clip_norm_each) for v in values]
  if settings.clip_norm:
    values, _ = tf.clip_by_global_norm(values, settings.clip_norm)
  return list(zip(values, variables))


def _limit_norms(max_norm):
  """Operations that limit the norm of each unit's weights; 0: none.

  Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
  Overfitting", 2014, section 5.1.
  """
  limits = []
  for var in _trained_weights() if max_norm else ():
    # The last axis is the units; in a locally connected layer the first two are
    # positions, each with units of its own.
    rank = var.shape.rank
    axes = list(range(max(0, rank - 4), rank - 1))
    with tf.colocate_with(var):
      limited = tf.clip_by_norm(var.read_value(), max_norm, axes)
      limits.append(tf.assign(var, limited))
  return limits


def _trained_weights():
  """Weights of the layers that are not frozen; parts if they are split."""
  trained = {v.op.name for v in tf.trainable_variables()}
  weights = tf.get_collection(tf.GraphKeys.WEIGHTS)
  return [part for part in weights if part.op.name in trained]
