"""The optimizer of a worker: it sends gradients to the parameter servers."""

import tensorflow.compat.v1 as tf

from cifar10.cluster import hooks
from cifar10.cluster import placement
from cifar10.util import summaries


class WorkerOptimizer(tf.train.Optimizer):
  """Notes how stale the gradients are, sends them, and has them applied.

  With --sync they are applied once those of the other workers have arrived.
  """

  def __init__(self, optimizer, task, settings, progress, chief_start):
    """Wraps an optimizer.

    Args:
      optimizer: tf.train.Optimizer whose update is all of a step's update.
      task: cluster_spec.Task.
      settings: settings.Cluster.
      progress: shared_state.Progress.
      chief_start: how many times a chief has started, this time included.
    """
    super().__init__(use_locking=False, name='WorkerOptimizer')
    self._task = task
    self._settings = settings
    self._progress = progress
    self._chief_start = chief_start
    self._optimizer = optimizer
    if settings.sync:
      self._optimizer = tf.train.SyncReplicasOptimizer(
        optimizer,
        replicas_to_aggregate=task.workers_per_step(settings),
        total_num_replicas=len(task.workers),
      )

  def compute_gradients(self, loss, *args, **kwargs):
    return self._optimizer.compute_gradients(loss, *args, **kwargs)

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    grads_and_vars = list(grads_and_vars)
    staleness = self._staleness(grads_and_vars, global_step)
    index = self._task.index
    noted = tf.group(
      tf.scatter_add(self._progress.steps, index, 1),
      tf.scatter_update(self._progress.staleness, index, staleness),
    )
    mean_staleness = tf.reduce_mean(tf.to_float(self._progress.staleness))
    summaries.scalar('staleness', mean_staleness)
    # The last gradient, a small one, is sent only after the staleness has been
    # read; otherwise this worker's own step would count.
    (first, variable), *others = grads_and_vars
    with tf.control_dependencies([staleness]):
      first = tf.identity(first)
    sent = placement.sent_as(
      [(first, variable)] + others, self._settings.grad_dtype
    )
    with hooks.sync_container(self._chief_start):
      updated = self._optimizer.apply_gradients(sent, global_step)
    if self._settings.sync:
      # The optimizer's own hook uses this; if nothing does, it logs an error.
      tf.group(self._optimizer.ready_for_local_init_op)
    return tf.group(updated, noted)

  def _staleness(self, grads_and_vars, global_step):
    """The steps of other workers since this one read the variables."""
    read_at = global_step.read_value()
    with tf.control_dependencies([gradient for gradient, _ in grads_and_vars]):
      return global_step.read_value() - read_at

  def hooks(self):
    """The tf.train.SessionRunHooks that this optimizer needs."""
    if not self._settings.sync:
      return []
    return [
      hooks.SyncHook(
        self._optimizer,
        self._task,
        self._progress,
        self._chief_start,
        has_backups=bool(self._settings.backup_workers),
      )
    ]
