"""The optimizer of a worker, and the synchronous updates of the chief."""

import contextlib
import threading
import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import placement
from cifar10.util import summaries

_POLL_SECS = 0.5

# How long the chief waits for each of the last steps, with backup workers: less
# than a watchdog waits after a signal.
_LAST_STEPS_SECS = 3


class Worker:
  """Notes the staleness of gradients, sends them, and has them applied.

  With --sync they are applied once those of the other workers have arrived.

  Attributes:
    is_chief: True if this worker keeps the averages of the losses, and of batch
      normalization.
    averages_statistics: True if the averages of batch normalization are
      updated with each of its steps: asynchronous workers each update those of
      the variables, so these too.
  """

  def __init__(self, task, settings, progress, chief_start):
    """The chief has started `chief_start` times."""
    self.is_chief = task.is_chief
    self.averages_statistics = task.is_chief or not settings.sync
    self._task = task
    self._settings = settings
    self._progress = progress
    self._chief_start = chief_start
    self._optimizer = None

  def apply(self, apply, grads_and_vars, global_step):
    """Sends gradients; `apply`, a function of them, builds their update."""
    optimizer = _Application(apply)
    if self._settings.sync:
      optimizer = tf.train.SyncReplicasOptimizer(
          optimizer,
          replicas_to_aggregate=self._task.workers_per_step(self._settings),
          total_num_replicas=self._task.trainers(self._settings))
    self._optimizer = optimizer
    (first, variable), *others = grads_and_vars
    # The steps of other workers since this one read the variables.
    read_at = global_step.read_value()
    with tf.control_dependencies([first, *(grad for grad, _ in others)]):
      staleness = global_step.read_value() - read_at
    index = self._task.index
    noted = tf.group(
        tf.scatter_add(self._progress.steps, index, 1),
        tf.scatter_update(self._progress.staleness, index, staleness))
    mean_staleness = tf.reduce_mean(tf.to_float(self._progress.staleness))
    summaries.scalar('staleness', mean_staleness)
    # The last gradient, a small one, is sent only after the staleness has been
    # read; otherwise this worker's own step would count.
    with tf.control_dependencies([staleness]):
      first = tf.identity(first)
    sent = placement.sent_as([(first, variable), *others],
                             self._settings.grad_dtype)
    with sync_container(self._chief_start):
      updated = self._optimizer.apply_gradients(sent, global_step)
    if self._settings.sync:
      # The optimizer's own hook uses this; if nothing does, it logs an error.
      tf.group(self._optimizer.ready_for_local_init_op)
    return tf.group(updated, noted)

  def hooks(self):
    """The tf.train.SessionRunHooks that this optimizer needs."""
    if not self._settings.sync:
      return []
    has_backups = self._settings.backup_workers > 0
    return [
        SyncHook(self._optimizer, self._task, self._progress, self._chief_start,
                 has_backups)
    ]


class _Application(tf.train.Optimizer):
  """An optimizer whose `apply_gradients` is a function of the gradients."""

  def __init__(self, apply):
    super().__init__(use_locking=False, name='Update')
    self._apply = apply

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    # Outside `sync_container`: all starts of the chief share the variables.
    with tf.container(''):
      return self._apply(list(grads_and_vars))


def sync_container(chief_start):
  """The tf.container of gradients and tokens that keep workers in step.

  Each start of the chief has another one: on the parameter servers an update
  of a chief that was killed may still be running, and would take the gradients
  meant for its successor.
  """
  return tf.container(f'sync{chief_start}')


class SyncHook(tf.train.SessionRunHook):
  """Runs the updates of a tf.train.SyncReplicasOptimizer in the chief.

  In place of the optimizer's own hook, whose thread waits for gradients even
  after the last step, so that the chief cannot end. Workers in step with an
  earlier start of the chief are released: their session ends as at the end of
  input.

  With `has_backups` a step need not wait for all workers. Then workers that a
  signal reaches leave, and may be missing for the last steps.
  """

  def __init__(self, optimizer, task, progress, chief_start, has_backups):
    self._optimizer = optimizer
    self._is_chief = task.is_chief
    self._num_workers = len(task.workers)
    self._last_step = progress.last_step
    self._chief_start = chief_start
    self._has_backups = has_backups

  def begin(self):
    runner = self._optimizer.get_chief_queue_runner()
    (self._update,) = runner.enqueue_ops
    self._global_step = tf.train.get_global_step()
    self._steps = [self._global_step, self._last_step]
    if not self._is_chief:
      self._start = self._optimizer.local_step_init_op
      return
    self._start = self._optimizer.chief_init_op
    earlier = range(1, self._chief_start)
    self._releases = [self._tokens(start).close() for start in earlier]
    self._end_here = tf.assign(self._last_step, self._global_step)
    self._more_tokens = self._optimizer.get_init_tokens_op(self._num_workers)

  def after_create_session(self, session, coord):
    session.run(self._start)
    if not self._is_chief:
      return
    self._planned_end = session.run(self._last_step)
    for release in self._releases:
      with contextlib.suppress(tf.errors.CancelledError):  # Closed already.
        session.run(release)
    for target, *args in ((self._update_until_last_step, session, coord),
                          (self._release_at_last_step, session)):
      threading.Thread(target=target, args=args, name='sync',
                       daemon=True).start()

  def end(self, session):
    # The session may end before the thread has seen the last step.
    if self._is_chief:
      with contextlib.suppress(tf.errors.OpError):
        session.run(self._more_tokens)

  def _tokens(self, chief_start):
    """The queue where workers wait for the end of each step."""
    name = 'sync_token_q'  # Of SyncReplicasOptimizer.
    with sync_container(chief_start), tf.device(self._global_step.device):
      return tf.FIFOQueue(-1, [tf.int64], shapes=[[]], shared_name=name)

  def _update_until_last_step(self, session, coord):
    try:
      step, last_step = session.run(self._steps)
      while step < last_step:
        session.run(self._update)
        step, last_step = session.run(self._steps)
    except (tf.errors.OpError, RuntimeError) as error:
      # Raises the error itself if the session has ended already.
      with contextlib.suppress(type(error)):
        coord.request_stop(error)

  def _release_at_last_step(self, session):
    """Lets each worker end, once the last step is taken.

    Workers ahead of a slow one, a backup, may have taken its token too; and
    after a signal the last step may be one already taken, while the update
    waits for gradients that will not come.
    """
    # Until the session has ended.
    with contextlib.suppress(tf.errors.OpError, RuntimeError):
      seen, since = session.run(self._steps), time.monotonic()
      while seen[0] < seen[1]:
        time.sleep(_POLL_SECS)
        before, seen = seen, session.run(self._steps)
        if seen != before:
          since = time.monotonic()
        # Workers that a signal has reached may be missing for a step.
        is_ending = self._has_backups and seen[1] < self._planned_end
        if is_ending and time.monotonic() - since > _LAST_STEPS_SECS:
          session.run(self._end_here.op)
      session.run(self._more_tokens)
