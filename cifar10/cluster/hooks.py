"""Hooks of a worker: it keeps in step with the others, and ends with them."""

import contextlib
import threading
import time

import tensorflow.compat.v1 as tf

_POLL_SECS = 0.5

# How long the chief waits for each of the last steps, with backup workers: less
# than a watchdog waits after a signal.
_LAST_STEPS_SECS = 3


def sync_container(chief_start):
  """The tf.container of what keeps workers in step.

  Each start of the chief has another one: on the parameter servers an update
  of a chief that was killed may still be running, and would take the gradients
  meant for its successor.
  """
  return tf.container('sync%d' % chief_start)


class SyncHook(tf.train.SessionRunHook):
  """Runs the updates of a tf.train.SyncReplicasOptimizer in the chief.

  In place of the optimizer's own hook, whose thread waits for gradients even
  after the last step, so that the chief cannot end.

  Workers in step with an earlier start of the chief are released: their
  session ends as at the end of input.
  """

  def __init__(self, optimizer, task, progress, chief_start, has_backups):
    """Makes the hook.

    Args:
      optimizer: tf.train.SyncReplicasOptimizer.
      task: cluster_spec.Task.
      progress: shared_state.Progress.
      chief_start: how many times a chief has started, this time included.
      has_backups: whether a step need not wait for all workers. Then those that
        a signal reaches leave, and may be missing for the last steps.
    """
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
    if self._is_chief:
      self._start = self._optimizer.chief_init_op
      self._releases = [
        self._tokens(n).close() for n in range(1, self._chief_start)
      ]
      self._end_here = tf.assign(self._last_step, self._global_step)
      self._more_tokens = self._tokens(self._chief_start).enqueue_many(
        [tf.fill([self._num_workers], self._global_step)]
      )
    else:
      self._start = self._optimizer.local_step_init_op

  def after_create_session(self, session, coord):
    session.run(self._start)
    if self._is_chief:
      self._planned_end = session.run(self._last_step)
      for release in self._releases:
        with contextlib.suppress(tf.errors.CancelledError):  # Closed already.
          session.run(release)
      for target, args in (
        (self._update_until_last_step, (session, coord)),
        (self._release_at_last_step, (session,)),
      ):
        threading.Thread(
          target=target, args=args, name='sync', daemon=True
        ).start()

  def end(self, session):
    # The session may end before the thread has seen the last step.
    if self._is_chief:
      with contextlib.suppress(tf.errors.OpError):
        session.run(self._more_tokens)

  def _tokens(self, chief_start):
    """The queue where workers wait for the end of each step."""
    # SyncReplicasOptimizer names the queue so.
    with sync_container(chief_start), tf.device(self._global_step.device):
      return tf.FIFOQueue(
        -1, [tf.int64], shapes=[[]], shared_name='sync_token_q'
      )

  def _update_until_last_step(self, session, coord):
    try:
      while not self._is_over(session):
        session.run(self._update)
    except (tf.errors.OpError, RuntimeError) as error:
      # Raises the error itself if the session has ended already.
      with contextlib.suppress(type(error)):
        coord.request_stop(error)

  def _release_at_last_step(self, session):
    """Lets each worker end, once the last step is taken.

    Those that were ahead of a slow one, a backup, may have taken its token too;
    and after a signal the last step may be one that is taken already, while the
    update waits for gradients that will not come.
    """
    # Until the session has ended.
    with contextlib.suppress(tf.errors.OpError, RuntimeError):
      seen, since = self._steps(session), time.monotonic()
      while seen[0] < seen[1]:
        time.sleep(_POLL_SECS)
        before, seen = seen, self._steps(session)
        if seen != before:
          since = time.monotonic()
        elif self._is_left_alone(seen[1], time.monotonic() - since):
          session.run(self._end_here.op)
      session.run(self._more_tokens)

  def _is_left_alone(self, last_step, waited):
    """Whether workers that a signal has reached are missing for a step.

    Args:
      last_step: the step at which all end now.
      waited: how long no step was taken, in seconds.
    """
    is_ending = self._has_backups and last_step < self._planned_end
    return is_ending and waited > _LAST_STEPS_SECS

  def _is_over(self, session):
    """Whether the last step is taken."""
    step, last_step = self._steps(session)
    return step >= last_step

  def _steps(self, session):
    """The global step, and the one at which all end."""
    return session.run([self._global_step, self._last_step])


class LastStepHook(tf.train.SessionRunHook):
  """Ends this worker at the last step, or all of them after a signal."""

  def __init__(self, step, progress, signals, steps_to_go):
    """Makes the hook.

    Args:
      step: the global step after the train_op, a tensor.
      progress: shared_state.Progress.
      signals: list to which signal numbers are appended.
      steps_to_go: after a signal, how many more steps all workers take; None:
        this worker ends alone.
    """
    with tf.control_dependencies([step]):
      self._fetches = [step, progress.last_step.read_value()]
    self._last_step = progress.last_step
    self._signals = signals
    self._steps_to_go = steps_to_go
    self._announced = False
    self.is_reached = False  # Whether the last step is taken.

  def begin(self):
    self._new_last_step = tf.placeholder(tf.int64, [])
    self._assign = tf.assign(self._last_step, self._new_last_step)

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(self._fetches)

  def after_run(self, run_context, run_values):
    step, last_step = run_values.results
    if self._signals and not self._announced:
      self._announced = True
      if self._steps_to_go is None:
        run_context.request_stop()
        return
      last_step = min(last_step, step + self._steps_to_go)
      run_context.session.run(self._assign.op, {self._new_last_step: last_step})
    if step >= last_step:
      self.is_reached = True
      run_context.request_stop()


class TimeLimitHook(tf.train.SessionRunHook):
  """Limits the time of each step.

  Not the operation_timeout_in_ms of the session, which would also limit the
  time of saving the last step.
  """

  def __init__(self, limit_ms):
    """Takes the limit in milliseconds; 0: none."""
    self._options = tf.RunOptions(timeout_in_ms=limit_ms)

  def before_run(self, run_context):
    return tf.train.SessionRunArgs([], options=self._options)
