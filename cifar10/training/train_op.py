"""The operation that takes one training step.

The tutorial's section "Model Training": learning rate, optimizer, summaries,
update and moving averages. Every trainer builds its step from these.
"""

import contextlib

import tensorflow.compat.v1 as tf

from cifar10.training import optimizers
from cifar10.training import schedules
from cifar10.training import transfer
from cifar10.util import graph_keys
from cifar10.util import summaries

# The collection that holds the learning rate.
LEARNING_RATE = 'learning_rate'

# The collection of the operations that limit the norms of weights.
MAX_NORM = 'max_norm'


@contextlib.contextmanager
def in_train_scope():
  """The name scope `train`, a box in TensorBoard's graph; also a decorator."""
  # The slash reenters the same name scope each time.
  with tf.name_scope('train/'):
    yield


@in_train_scope()
def learning_rate(global_step, config, run_state):
  """The learning rate: by default 0.1, and x 0.1 every 350 epochs, in steps.

  NUM_EPOCHS_PER_DECAY in cifar10.py counts epochs of examples, so with N towers
  a decay comes after 1/N of the steps. `run_state` knows the examples seen.

  Args:
    global_step: integer variable, counts the steps.
    config: config.Config.
    run_state: run_state.RunState.

  Returns:
    float32 scalar tensor.
  """
  rate = schedules.create(global_step, config, run_state)
  summaries.scalar('learning_rate', rate)
  tf.add_to_collection(LEARNING_RATE, rate)
  return rate


class AveragingOptimizer(tf.train.Optimizer):
  """An optimizer whose `apply_gradients` does everything a step updates.

  It clips the gradients, applies them, limits the norms of weights, counts the
  step, and updates the moving averages of the variables. As one optimizer, it
  can be what a tf.train.SyncReplicasOptimizer runs with the gradients of all
  workers.
  """

  def __init__(self, optimizer, config):
    """Wraps an optimizer.

    Args:
      optimizer: tf.train.Optimizer.
      config: config.Config.
    """
    super().__init__(use_locking=False, name='AveragingOptimizer')
    self._optimizer = optimizer
    self._config = config

  def compute_gradients(self, loss, *args, **kwargs):
    transfer.check_frozen(self._config.transfer.freeze)
    return super().compute_gradients(loss, *args, **kwargs)

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    # What is saved is in the default container, also on a cluster.
    with tf.container(''), in_train_scope():
      gradients = list(grads_and_vars)
      if self._config.transfer.hold_zeros:
        gradients = _without_zeros(gradients)
      gradients = optimizers.clipped(gradients, self._config.optimizer)
      updates = [self._optimizer.apply_gradients(gradients)]
      with tf.control_dependencies(updates):
        updates += _limit_norms(self._config.regularization.max_norm)
      with tf.control_dependencies(updates):
        # The step is the value of the assignment: TensorFlow's graph optimizer
        # may move a separate read before it.
        step = tf.assign_add(global_step, 1)
        averages = tf.train.ExponentialMovingAverage(
          self._config.optimization.moving_average_decay, num_updates=step
        )
        # On the device of each variable; otherwise all variables would be sent
        # to the worker.
        updates = []
        # Frozen variables are averaged too: evaluation knows of no freezing.
        averaged = tf.trainable_variables() + tf.get_collection(
          graph_keys.FROZEN
        )
        for device, variables in _by_device(averaged):
          with tf.device(device):
            updates.append(averages.apply(variables))
        return tf.group(*updates)


def _without_zeros(gradients):
  """Gradients without those of weights that are zero, so that these stay.

  Han et al., "Learning both Weights and Connections for Efficient Neural
  Networks", arXiv 1506.02626.
  """
  weights = {v.op.name for v in _trained_weights()}
  return [
    (gradient * tf.to_float(tf.not_equal(variable, 0)), variable)
    if variable.op.name in weights
    else (gradient, variable)
    for gradient, variable in gradients
  ]


def _trained_weights():
  """The weights of all layers that are not frozen; parts of a whole count."""
  trained = {v.op.name for v in tf.trainable_variables()}
  return [
    part
    for var in tf.get_collection(tf.GraphKeys.WEIGHTS)
    for part in ([var] if isinstance(var, tf.Variable) else var)
    if part.op.name in trained
  ]


def _limit_norms(max_norm):
  """Operations that limit the norm of the weights of each unit; 0: none.

  Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
  Overfitting", 2014, section 5.1. They are in the collection MAX_NORM, too.
  """
  for var in _trained_weights() if max_norm else ():
    # The last axis is that of the units; the first ones of a locally connected
    # layer are positions, each with units of its own.
    rank = var.shape.rank
    axes = list(range(max(0, rank - 4), rank - 1))
    with tf.colocate_with(var):
      limited = tf.clip_by_norm(var.read_value(), max_norm, axes)
      tf.add_to_collection(MAX_NORM, tf.assign(var, limited))
  return tf.get_collection(MAX_NORM)


def _by_device(variables):
  """Pairs of a device and the list of its variables."""
  found = {}
  for variable in variables:
    found.setdefault(variable.device, []).append(variable)
  return found.items()


def optimizer(global_step, config, run_state):
  """The optimizer of all trainers.

  Args:
    global_step: integer variable, counts the steps.
    config: config.Config.
    run_state: run_state.RunState.

  Returns:
    AveragingOptimizer.
  """
  rate = learning_rate(global_step, config, run_state)
  return AveragingOptimizer(optimizers.create(config.optimizer, rate), config)


@in_train_scope()
def build(opt, grads, losses, global_step, config, keeps_averages=True):
  """Builds the operation that takes a step, from its gradients.

  Args:
    opt: AveragingOptimizer, or an optimizer around one.
    grads: list of pairs (gradient, variable).
    losses: list of float32 scalar tensors, as `add_loss_summaries` takes them.
    global_step: integer variable, counts the steps.
    config: config.Config.
    keeps_averages: whether the step updates the averages of the losses and of
      batch normalization; the chief of a cluster does so for all workers.

  Returns:
    The operation that updates the variables, their moving averages, the
    averages of the losses and of batch normalization, and `global_step`.
  """
  loss_averages_op = add_loss_summaries(losses)
  _add_gradient_summaries(grads)
  statistics_averages = _average_statistics(
    global_step, config.optimization.moving_average_decay
  )
  before = list(losses)
  # Out of step, each worker updates the averages of variables, and these.
  if keeps_averages or not config.cluster.sync:
    before += statistics_averages
  # The losses of a step are those before its update.
  with tf.control_dependencies(before):
    grads = [(tf.identity(grad), var) for grad, var in grads]
  apply_gradient_op = opt.apply_gradients(grads, global_step)
  if not keeps_averages:
    return apply_gradient_op
  normalization_updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
  return tf.group(apply_gradient_op, loss_averages_op, *normalization_updates)


def _average_statistics(global_step, decay):
  """Keeps the statistics that go with the moving averages of the variables.

  They are averages of the means and variances of batches, with the same decay.
  Averages of the moving means and variances would lag behind those.

  Args:
    global_step: integer variable, the steps before this one.
    decay: that of the averages of the variables.

  Returns:
    List of operations, to run before `global_step` counts the step.
  """
  statistics = tf.get_collection(graph_keys.STATISTICS)
  if not statistics:
    return []
  averages = tf.train.ExponentialMovingAverage(decay)
  for device, variables in _by_device(statistics):
    with tf.device(device):
      averages.apply(variables)  # Only for the variables.
  step = tf.to_float(global_step.read_value() + 1)
  decay = tf.minimum(decay, (1 + step) / (10 + step))
  # Those of frozen layers have no batches; they stay as they are.
  values = {variable.op.name: variable for variable in statistics}
  for variable, value in zip(
    tf.get_collection(graph_keys.FOLLOWING_STATISTICS),
    tf.get_collection(graph_keys.BATCH_STATISTICS),
  ):
    values[variable.op.name] = value
  updates = []
  for variable in statistics:
    average = averages.average(variable)
    with tf.colocate_with(average):
      change = (average - values[variable.op.name]) * (1 - decay)
      updates.append(tf.assign_sub(average, change))
  return updates


@in_train_scope()
def add_loss_summaries(losses):
  """Keeps moving averages of losses and adds summaries of both.

  Args:
    losses: list of float32 scalar tensors. The names of their operations are
      those of the summaries and, with `/avg`, of the averages in checkpoints.

  Returns:
    The operation that updates the averages.
  """
  averages = tf.train.ExponentialMovingAverage(0.9, name='avg')
  with tf.device('/cpu:0'):
    loss_averages_op = averages.apply(losses)
  for loss in losses:
    name = 'losses/' + loss.op.name
    summaries.scalar(name + '_raw', loss)
    summaries.scalar(name, averages.average(loss))
  return loss_averages_op


def _add_gradient_summaries(grads):
  """Adds histograms of all variables and their gradients."""
  for grad, var in grads:
    summaries.histogram(var.op.name + '/values', var.read_value())
    summaries.histogram(var.op.name + '/gradients', grad)
