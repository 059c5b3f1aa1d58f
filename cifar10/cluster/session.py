"""The session of a worker, which ends together with those of the others."""

import contextlib

import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import hooks
from cifar10.cluster import liveness
from cifar10.errors import UserError
from cifar10.training import session as session_lib
from cifar10.training import signals as signals_lib
from cifar10.training import watchdog


class WorkerRole(session_lib.Role):
  """What a worker does in its training session."""

  def __init__(self, server, task, config, progress, observer):
    """Makes the role.

    Args:
      server: tf.train.Server.
      task: cluster_spec.Task.
      config: config.Config.
      progress: shared_state.Progress.
      observer: liveness.Observer.
    """
    super().__init__(config)
    self.saves = task.is_chief
    self._server = server
    self._task = task
    self._progress = progress
    self._observer = observer
    self._last_step_hook = None

  @property
  def has_taken_last_step(self):
    """Whether the session has ended because there are no more steps."""
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
    ready_op = tf.report_uninitialized_variables(
      tf.global_variables() + list(self._progress)
    )
    scaffold = tf.train.Scaffold(
      saver=saver, ready_op=ready_op, local_init_op=local_init_op
    )
    return _SessionCreator(
      self._server,
      self._task,
      self._config,
      scaffold,
      init,
      self._progress.is_initialized(),
    )

  def ending_hooks(self, step, last_step, signals):
    self._last_step_hook = hooks.LastStepHook(
      step, self._progress, signals, self._steps_to_go()
    )
    limit_ms = self._config.cluster.operation_timeout_ms
    return [self._last_step_hook, hooks.TimeLimitHook(limit_ms)]

  def _steps_to_go(self):
    """After a signal, how many more steps all workers take; None: no more.

    Workers in step end after the next one. The chief alone ends all others:
    with backup workers, it leaves time for a step that has begun.
    """
    settings = self._config.cluster
    if settings.sync and not settings.backup_workers:
      return 1
    if self._task.is_chief:
      return 2 if settings.sync else 0
    return None

  def progress(self, count):
    # In step with all others, this worker may well wait for them.
    settings = self._config.cluster
    in_step = settings.sync and not settings.backup_workers
    return self._observer.steps if in_step else count

  def waits_for(self):
    # Each host that is cut off takes some seconds.
    return watchdog.within(
      watchdog.LOOK_SECS, self._silent_tasks, 'other tasks of the cluster'
    )

  def _silent_tasks(self):
    for address in self._task.ps:
      if cluster_spec.unreachable(address):
        return 'parameter server %s' % address
    if not self._config.cluster.sync:
      return super().waits_for()
    return liveness.missing_workers(self._task, self._observer.steps)


class _SessionCreator(tf.train.SessionCreator):
  """Creates a worker's session.

  The chief initializes the variables, from the newest checkpoint if there is
  one, unless the parameter servers still hold them from before its restart.
  The other workers wait for that. What a chief has left that died meanwhile is
  initialized again: it may not have come to `init`. A server that has lost the
  variables meanwhile is an error: going on from the checkpoint would lose steps
  without a word.
  """

  def __init__(self, server, task, config, scaffold, init, is_initialized):
    self._server = server
    self._is_initialized = is_initialized
    self._task = task
    self._config = config
    self._scaffold = scaffold
    self._init = init
    self._has_created = False

  def create_session(self):
    self._scaffold.finalize()
    proto = cluster_spec.config_proto(self._task, self._config)
    # tf.train.WorkerSessionCreator waits 30 s before it looks again.
    manager = tf.train.SessionManager(
      local_init_op=self._scaffold.local_init_op,
      ready_op=self._scaffold.ready_op,
      ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
      recovery_wait_secs=1,
    )
    session = self._join(manager, proto)
    if session is None and self._has_created:
      raise UserError(
        'parameter server %s was restarted and no longer holds the variables'
        % ' or '.join(self._task.ps)
      )
    if session is None:
      session = manager.prepare_session(
        self._server.target,
        init_op=self._scaffold.init_op,
        saver=self._scaffold.saver,
        checkpoint_dir=self._config.run.train_dir,
        config=proto,
        init_fn=self._init,
      )
    self._has_created = True
    return session

  def _join(self, manager, proto):
    """A session with the variables that the parameter servers hold.

    Returns:
      tf.Session, or None in the chief if they hold none.

    Raises:
      UserError: in other workers, if they hold none for too long.
    """
    wait_secs = self._config.cluster.connect_timeout_secs
    if self._task.is_chief:
      wait_secs = 0
      with tf.Session(self._server.target, config=proto) as session:
        if not session.run(self._is_initialized):
          return None
    try:
      return manager.wait_for_session(
        self._server.target, config=proto, max_wait_secs=wait_secs
      )
    except tf.errors.DeadlineExceededError as error:
      if self._task.is_chief:
        return None
      raise UserError(
        'the chief (%s) has initialized nothing within %d s '
        '(--connect_timeout_secs)' % (self._task.workers[0], wait_secs)
      ) from error
