"""The part of a worker in its session, which ends with the other workers'."""

import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import ending
from cifar10.errors import UserError
from cifar10.run.role import Role

_LOOK_SECS = 2  # Between looks whether a chief that is waited for has failed.


class WorkerRole(tf.train.SessionRunHook, Role):
  """A worker's part in its training session.

  As a hook, it ends the session at the last step that all agree on, and limits
  the time of each step.
  """

  def __init__(self, server, agreement, progress):
    """`progress` is the shared_state.Progress of the default graph."""
    super().__init__(server.settings)
    self.server, self.saves = server, server.task.is_chief
    self.waits_for_all = cluster_spec.steps_wait_for_all(server.settings)
    self.steps = progress.steps
    self._task, self._agreement = server.task, agreement
    self._progress = progress
    self._ending_of_chief = ending.notice()
    self._is_to_end = self._announced = False
    # True if the session has ended because there are no more steps.
    self.has_taken_last_step = False

  def problem_of_chief(self, session):
    """The message about a chief that has ended with an error; or None."""
    if self._task.is_chief:
      return None
    found = self._ending_of_chief.read(session)
    return ending.problem_of_chief(self._task, self._agreement, found)

  def creator(self, saver, init):
    """The session creator, with `init` as of `role.Role.creator`."""
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
    return _SessionCreator(self, scaffold, init, is_initialized)

  def last_step_hook(self, step, last_step):
    """Returns this object, which is a hook itself."""
    del last_step  # The chief has put it into the Progress.
    with tf.control_dependencies([step]):
      shared = self._progress.last_step, self._progress.is_to_end
      fetches = [step, *(variable.read_value() for variable in shared)]
    # Not the operation_timeout_in_ms of the session, which would also limit the
    # time of saving the last step.
    limit = tf.RunOptions(timeout_in_ms=self.settings.operation_timeout_ms)
    self._run_args = tf.train.SessionRunArgs(fetches, options=limit)
    return self

  def before_run(self, run_context):
    return self._run_args

  def after_run(self, run_context, run_values):
    step, last_step, is_asked = run_values.results
    if is_asked:
      self._is_to_end = self._steps_to_go() is not None
    if self._is_to_end and not self._announced:
      self._announced = True
      last_step = min(last_step, step + self._steps_to_go())
      self._progress.last_step.load(last_step, run_context.session)
    if step >= last_step:
      self.has_taken_last_step = True
      run_context.request_stop()

  def end_early(self, run_context):
    if self._steps_to_go() is None:
      run_context.request_stop()
    self._is_to_end = self._steps_to_go() is not None

  def _steps_to_go(self):
    """Steps that all take once this worker is to end; None: it ends alone."""
    if self.waits_for_all:
      return 1
    if self._task.is_chief:  # With backup workers, a step may have begun.
      return 2 if self.settings.sync else 0
    return None


class _SessionCreator(tf.train.SessionCreator):
  """Creates a worker's session.

  The chief initializes or restores the variables, unless the parameter servers
  still hold them from before its restart; the other workers wait for that. If a
  chief died meanwhile, they are initialized again: it may not have come to
  `init`. A server that has lost the variables of this session is an error: to
  continue from the checkpoint would lose steps without a word.
  """

  def __init__(self, role, scaffold, init, is_initialized):
    self._server, self._problem_of_chief = role.server, role.problem_of_chief
    # Of all its sessions, only this one waits for workers that lend devices.
    self._proto, task = role.server.config_proto(), role.server.task
    for index in task.lenders(role.settings):
      self._proto.device_filters.append(task.worker_devices[index])
    self._scaffold, self._init = scaffold, init
    self._is_initialized, self._has_created = is_initialized, False

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

    If they hold none: None in the chief; other workers wait for some. Raises
    UserError if the chief initializes nothing within --connect_timeout_secs.
    """
    server, task = self._server, self._server.task
    if task.is_chief:
      with tf.Session(server.target, config=self._proto) as session:
        if not session.run(self._is_initialized):
          return None
      return self._wait(manager, 0)
    wait_secs = server.settings.connect_timeout_secs
    deadline = time.monotonic() + wait_secs
    while True:
      session = self._wait(manager, _LOOK_SECS)
      if session is not None:
        return session
      with tf.Session(server.target, config=self._proto) as session:
        problem = self._problem_of_chief(session)
      if time.monotonic() > deadline:
        problem = problem or (
            f'the chief ({task.workers[0]}) has initialized nothing within '
            f'{wait_secs} s (--connect_timeout_secs)')
      if problem:
        raise UserError(problem)

  def _wait(self, manager, secs):
    """A session once all variables are initialized; None if it takes longer."""
    try:
      return manager.wait_for_session(self._server.target, config=self._proto,
                                      max_wait_secs=secs)
    except tf.errors.DeadlineExceededError:
      return None
