"""The optimizer of a worker, and the synchronous updates of the chief."""

import contextlib
import threading
import time
import types

import tensorflow.compat.v1 as tf

from cifar10.util import summaries

_POLL_SECS = 0.5

# How long the chief waits for each of the last steps, with backup workers: less
# than a watchdog waits after a signal.
_LAST_STEPS_SECS = 3


class WorkerOptimizer:
  """Sends a worker's gradients to the parameter servers, and has them applied.

  With --sync, their mean is applied once those of all workers have arrived.
  `hooks` are for the session of the worker.
  """

  def __init__(self, task, settings, progress, chief_start):
    """The chief has started `chief_start` times with these servers."""
    # Averages of batch statistics go with those of the variables.
    self.averages_statistics = task.is_chief or not settings.sync
    self.hooks = []
    self._task, self._settings = task, settings
    self._progress, self._chief_start = progress, chief_start

  def apply(self, apply, gradients, global_step, also):
    """Sends pairs (gradient, variable); returns the operation of a step.

    `apply` builds the update of the variables from such pairs. The chief also
    runs the operations `also`, which average the losses and batch statistics.
    """

    def update(gradients, *_):
      # Outside `sync_container`: all starts of the chief share variables.
      with tf.container(''):
        return apply(list(gradients))

    task, settings = self._task, self._settings
    noted, gradients = self._staleness_noted(gradients, global_step)
    also = [noted, *(also if task.is_chief else ())]
    sent = []
    for gradient, variable in gradients:
      cast = tf.cast(gradient, settings.grad_dtype)
      with tf.device(variable.device):  # There, it is float32 again.
        sent.append((tf.cast(cast, tf.float32), variable))
    if not settings.sync:
      return tf.group(update(sent), *also)
    sync = tf.train.SyncReplicasOptimizer(
        types.SimpleNamespace(apply_gradients=update),
        task.workers_per_step(settings),
        total_num_replicas=task.num_trainers(settings))
    self.hooks.append(
        SyncHook(sync, task, settings, self._progress.last_step,
                 self._chief_start))
    with sync_container(self._chief_start):
      updated = sync.apply_gradients(sent, global_step)
    # The optimizer's own hook uses this; if nothing does, it logs an error.
    tf.group(sync.ready_for_local_init_op)
    return tf.group(updated, *also)

  def _staleness_noted(self, gradients, global_step):
    """Counts the steps of other workers since this one read the variables.

    Returns the operation that notes them and this worker's own step, and the
    gradients.
    """
    (first, variable), *others = gradients
    read_at = global_step.read_value()
    with tf.control_dependencies([first, *(grad for grad, _ in others)]):
      staleness = global_step.read_value() - read_at
    steps, stalenesses = self._progress.steps, self._progress.staleness
    noted = tf.group(
        tf.scatter_add(steps, self._task.index, 1),
        tf.scatter_update(stalenesses, self._task.index, staleness))
    summaries.scalar('staleness', tf.reduce_mean(tf.to_float(stalenesses)))
    # The last gradient, a small one, is sent only after the staleness has been
    # read; otherwise this worker's own step would count.
    with tf.control_dependencies([staleness]):
      return noted, [(tf.identity(first), variable), *others]


def sync_container(chief_start):
  """The tf.container of gradients and tokens that keep workers in step.

  Each start of the chief has another one: on the parameter servers an update
  of a chief that was killed may still be running, and would take the gradients
  meant for its successor.
  """
  return tf.container(f'sync{chief_start}')


class SyncHook(tf.train.SessionRunHook):
  """Runs the updates of a tf.train.SyncReplicasOptimizer in the chief.

  The thread of the optimizer's own hook waits for gradients even after the last
  step, so that the chief cannot end. Here, workers in step with an earlier
  start of the chief are released, too, as at the end of input.
  """

  def __init__(self, optimizer, task, settings, last_step, chief_start):
    self._optimizer, self._task = optimizer, task
    self._last_step, self._chief_start = last_step, chief_start
    # Then workers that a signal reaches leave, and are missing for last steps.
    self._has_backups = settings.backup_workers > 0

  def begin(self):
    global_step = tf.train.get_global_step()
    (self._update,) = self._optimizer.get_chief_queue_runner().enqueue_ops
    self._steps = [global_step, self._last_step]
    self._start, self._releases = self._optimizer.local_step_init_op, []
    if self._task.is_chief:
      self._start = self._optimizer.chief_init_op
      for start in range(1, self._chief_start):
        with sync_container(start), tf.device(global_step.device):
          # The queue of SyncReplicasOptimizer where workers wait for a step.
          tokens = tf.FIFOQueue(-1, [tf.int64], shapes=[[]],
                                shared_name='sync_token_q')
          self._releases.append(tokens.close())
      self._end_here = tf.assign(self._last_step, global_step).op
      self._more_tokens = self._optimizer.get_init_tokens_op(
          len(self._task.workers))

  def after_create_session(self, session, coord):
    session.run(self._start)
    for release in self._releases:
      with contextlib.suppress(tf.errors.CancelledError):  # Closed already.
        session.run(release)
    if self._task.is_chief:
      planned_end = session.run(self._last_step)
      for target, argument in ((self._update_until_last_step, coord),
                               (self._release_at_last_step, planned_end)):
        threading.Thread(target=target, args=(session, argument), name='sync',
                         daemon=True).start()

  def end(self, session):
    # The session may end before the thread has seen the last step.
    if self._task.is_chief:
      with contextlib.suppress(tf.errors.OpError):
        session.run(self._more_tokens)

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

  def _release_at_last_step(self, session, planned_end):
    """Lets each worker end, once the last step is taken.

    Workers ahead of a slow one, a backup, may have taken its token too; and
    after a signal the last step may be one already taken, while the update
    waits for gradients that will not come.
    """
    # Until the session has ended.
    with contextlib.suppress(tf.errors.OpError, RuntimeError):
      before, since = None, 0
      step, last_step = session.run(self._steps)
      while step < last_step:
        if before != (step, last_step):
          before, since = (step, last_step), time.monotonic()
        is_ending = self._has_backups and last_step < planned_end
        if is_ending and time.monotonic() - since > _LAST_STEPS_SECS:
          session.run(self._end_here)
        time.sleep(_POLL_SECS)
        step, last_step = session.run(self._steps)
      session.run(self._more_tokens)
