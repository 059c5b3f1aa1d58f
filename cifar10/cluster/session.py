"""The session of a worker, which ends together with the other workers'."""

import contextlib

import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import liveness
from cifar10.errors import UserError
from cifar10.run import session as session_lib
from cifar10.run import signals as signals_lib
from cifar10.run import watchdog


class WorkerRole(session_lib.Role):
  """A worker's part in its training session."""

  def __init__(self, server, progress, observer):
    super().__init__(server.settings)
    self.saves = server.task.is_chief
    self._server = server
    self._task = server.task
    self._progress = progress
    self._observer = observer
    self._last_step_hook = None

  @property
  def has_taken_last_step(self):
    """True if the session has ended because there are no more steps."""
    return self._last_step_hook.is_reached

  def signals(self):
    # After the last step, too, until the others know of its end.
    return contextlib.nullcontext(signals_lib.noted_until_exit())

  def creator(self, saver, init):
    local_init_op = tf.train.Scaffold.default_local_init_op()
    if self._task.is_chief:
      local_init_op = tf.group(local_init_op, self._progress.initializer)
    # The progress too, which the chief initializes last: a worker that saw
    # only the variables could begin before `init` has loaded them.
    ready_op = tf.report_uninitialized_variables(tf.global_variables() +
                                                 list(self._progress))
    scaffold = tf.train.Scaffold(saver=saver, ready_op=ready_op,
                                 local_init_op=local_init_op)
    is_initialized = self._progress.is_initialized()
    return _SessionCreator(self._server, scaffold, init, is_initialized)

  def ending_hooks(self, step, last_step, signals):
    self._last_step_hook = _LastStepHook(step, self._progress, signals,
                                         self._steps_to_go())
    limit_ms = self._settings.operation_timeout_ms
    return [self._last_step_hook, TimeLimitHook(limit_ms)]

  def _steps_to_go(self):
    """Steps that all take after a signal; None: this worker ends alone.

    Workers in step end after the next one. The chief alone ends all others:
    with backup workers, it leaves time for a step that has begun.
    """
    if cluster_spec.steps_wait_for_all(self._settings):
      return 1
    if self._task.is_chief:
      return 2 if self._settings.sync else 0
    return None

  def progress(self, count, validated):
    if self._task.is_chief:
      self._observer.validated = validated  # Its thread tells the others.
    # In step with all others, this worker may well wait for them.
    if cluster_spec.steps_wait_for_all(self._settings):
      return self._observer.steps, self._observer.validated
    return count, validated

  def waits_for(self):
    # Each host that is cut off takes some seconds.
    return watchdog.within(watchdog.LOOK_SECS, self._silent_tasks,
                           'other tasks of the cluster')

  def _silent_tasks(self):
    for address in self._task.ps:
      if liveness.unreachable(address):
        return f'parameter server {address}'
    if not self._settings.sync:
      return super().waits_for()
    return liveness.missing_workers(self._task, self._observer.steps)


class _SessionCreator(tf.train.SessionCreator):
  """Creates a worker's session.

  The chief initializes the variables, from the newest checkpoint if there is
  one, unless the parameter servers still hold them from before its restart.
  The other workers wait for that. The variables of a chief that died meanwhile
  are initialized again: it may not have come to `init`. A server that has lost
  the variables of this session is an error: to continue from the checkpoint
  would lose steps without a word.
  """

  def __init__(self, server, scaffold, init, is_initialized):
    self._server = server
    # Of all its sessions, only this one waits for workers that lend devices.
    self._proto = server.config_proto()
    task = server.task
    for index in task.lenders(server.settings):
      self._proto.device_filters.append(task.worker_devices[index])
    self._scaffold = scaffold
    self._init = init
    self._is_initialized = is_initialized
    self._has_created = False

  def create_session(self):
    server, scaffold = self._server, self._scaffold.finalize()
    # tf.train.WorkerSessionCreator waits 30 s before it looks again.
    manager = tf.train.SessionManager(
        local_init_op=scaffold.local_init_op, ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        recovery_wait_secs=1)
    session = self._join(manager)
    if session is None:
      if self._has_created:
        raise UserError(
            f'parameter server {" or ".join(server.task.ps)} was restarted and '
            'no longer holds the variables')
      session = manager.prepare_session(
          server.target, init_op=scaffold.init_op, saver=scaffold.saver,
          checkpoint_dir=server.settings.train_dir, config=self._proto,
          init_fn=self._init)
    self._has_created = True
    return session

  def _join(self, manager):
    """A session with the variables that the parameter servers hold.

    None in the chief if they hold none. Other workers wait; UserError if that
    takes too long.
    """
    server, task = self._server, self._server.task
    wait_secs = server.settings.connect_timeout_secs
    if task.is_chief:
      wait_secs = 0
      with tf.Session(server.target, config=self._proto) as session:
        if not session.run(self._is_initialized):
          return None
    try:
      return manager.wait_for_session(server.target, config=self._proto,
                                      max_wait_secs=wait_secs)
    except tf.errors.DeadlineExceededError as error:
      if task.is_chief:
        return None
      raise UserError(
          f'the chief ({task.workers[0]}) has initialized nothing within '
          f'{wait_secs} s (--connect_timeout_secs)') from error


class _LastStepHook(tf.train.SessionRunHook):
  """Ends this worker at the last step, or all of them after a signal."""

  def __init__(self, step, progress, signals, steps_to_go):
    """Takes the global step after the train_op, and the list of signals.

    `progress` is a shared_state.Progress; `steps_to_go` is from
    `WorkerRole._steps_to_go`.
    """
    with tf.control_dependencies([step]):
      self._fetches = [step, progress.last_step.read_value()]
    self._last_step = progress.last_step
    self._signals = signals
    self._steps_to_go = steps_to_go
    self._announced = False
    self.is_reached = False  # True once the last step is taken.

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
      self._last_step.load(last_step, run_context.session)
    if step >= last_step:
      self.is_reached = True
      run_context.request_stop()


class TimeLimitHook(tf.train.SessionRunHook):
  """Limits the time of each step, in milliseconds; 0: no limit.

  Not the operation_timeout_in_ms of the session, which would also limit the
  time of saving the last step.
  """

  def __init__(self, limit_ms):
    self._options = tf.RunOptions(timeout_in_ms=limit_ms)

  def before_run(self, run_context):
    return tf.train.SessionRunArgs([], options=self._options)
