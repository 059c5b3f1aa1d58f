"""A run on a cluster: how tasks join it, train, and leave it.

A parameter server serves until the workers have left. A worker joins by
agreeing with the others on the cluster and the run, trains in a session, and
tells the parameter servers when that is closed.
"""

import contextlib
import dataclasses
import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import shared_state
from cifar10.training import checkpoints
from cifar10.cluster import cluster_spec
from cifar10.cluster import hooks as cluster_hooks
from cifar10.training import hooks
from cifar10.training import progress
from cifar10.training import session as session_lib
from cifar10.training import train_op
from cifar10.cluster import watchdog
from cifar10.errors import UserError

_POLL_SECS = 0.5

# How long a parameter server stays when the chief, which saves, has left.
_GRACE_SECS = 10

# Settings that must be equal in all workers.
_AGREED = (
  'dataset',
  'cifar100_labels',
  'top_layers',
  'batch_size',
  'num_gpus',
  'sync',
  'backup_workers',
  'ps_strategy',
  'partition_ps',
)


def serve(task, config):
  """Serves variables until the workers have left.

  After SIGINT (Ctrl-C) or SIGTERM, too, workers have some seconds to leave,
  so that signals to a whole cluster lose nothing.

  Args:
    task: cluster_spec.Task, of the job `ps`.
    config: Config.

  Raises:
    UserError: the port is taken, or no worker can be reached.
  """
  server = cluster_spec.start_server(task, config)
  print('Serving at %s.' % task.address)
  with session_lib.signals_noted() as signals, tf.Graph().as_default():
    proto = cluster_spec.session_config(task, config)
    with tf.Session(server.target, config=proto) as session:
      if task.index == 0:
        shared_state.Notice('cluster').write(session, task.hosts)
      _serve_until_left(session, task, config, signals)
  # The workers' last sessions close meanwhile.
  time.sleep(1)
  session_lib.print_stopped(signals)
  print('Served.')


def _serve_until_left(session, task, config, signals):
  left = shared_state.left(task, task.index)
  leaver, count = left.dequeue(), left.size()
  have_left = set()
  reached = ends = None  # When a worker was reached; when the end is near.
  while True:
    now = time.monotonic()
    while session.run(count):
      have_left.add(int(session.run(leaver)))
    if ends is None and (signals or 0 in have_left):
      ends = now + _GRACE_SECS
    present = not all(cluster_spec.unreachable(w) for w in task.workers)
    if present or reached is None:
      reached = now
    if len(have_left) == len(task.workers):
      return
    if not present and (have_left or signals):
      return
    if ends is not None and now > ends:
      return
    if now - reached > config.connect_timeout_secs:
      raise UserError(
        'no worker of %s can be reached for %d s (--connect_timeout_secs)'
        % (','.join(task.workers), config.connect_timeout_secs)
      )
    time.sleep(_POLL_SECS)


@contextlib.contextmanager
def membership(task, config):
  """Joins the cluster as a worker, and leaves it at the end.

  Args:
    task: cluster_spec.Task, of the job `worker`.
    config: Config.

  Yields:
    tf.train.Server.

  Raises:
    UserError: a host cannot be reached, or the tasks were started with
      different clusters.
  """
  server = cluster_spec.start_server(task, config)
  cluster_spec.reach(task.ps, '--ps_hosts', config.connect_timeout_secs)
  if config.sync and not config.backup_workers:
    cluster_spec.reach(task.workers, '--worker_hosts', config.connect_timeout_secs)
  hosts = _notice(server, task, config, 'cluster', task.ps[0])
  if hosts != task.hosts:
    raise UserError(
      'the cluster is %s here, but %s at parameter server %s'
      % (task.hosts, hosts, task.ps[0])
    )
  try:
    yield server
  finally:
    with contextlib.suppress(tf.errors.OpError):
      with _board_session(server, task, config) as session:
        session.run(
          [shared_state.left(task, i).enqueue(task.index) for i in range(len(task.ps))]
        )


@contextlib.contextmanager
def _board_session(server, task, config):
  """A session of its own, in a graph of its own."""
  proto = cluster_spec.session_config(task, config)
  proto.operation_timeout_in_ms = 1000 * config.connect_timeout_secs
  with tf.Graph().as_default():
    with tf.Session(server.target, config=proto) as session:
      yield session


def _notice(server, task, config, name, source):
  """Waits for the notice `name` that the task at `source` writes."""
  deadline = time.monotonic() + config.connect_timeout_secs
  with _board_session(server, task, config) as session:
    notice = shared_state.Notice(name)
    while time.monotonic() < deadline:
      value = notice.read(session)
      if value is not None:
        return value
      time.sleep(_POLL_SECS)
  raise UserError(
    '%s: has not begun within %d s (--connect_timeout_secs)'
    % (source, config.connect_timeout_secs)
  )


def agree(server, task, config, begin):
  """Agrees with the chief on the run, each time that it is to be taken up.

  With --sync that is also when the chief has been started again.

  Args:
    server: tf.train.Server.
    task: cluster_spec.Task.
    config: Config.
    begin: function without arguments that begins the run in the chief and
      returns its Config, or None if there is nothing left to do.

  Yields:
    The Config to train with; nothing if there is nothing left to do.

  Raises:
    UserError: a flag differs from the chief's.
  """
  if task.is_chief:
    config = _announce(server, task, config, begin())
    if config is not None:
      yield config
    return
  chief_starts = None
  while True:
    run = _notice(server, task, config, 'run', task.workers[0])
    if run['chief_starts'] == chief_starts:
      return
    chief_starts = run['chief_starts']
    if run['settings'] is None:
      print('The run of the chief is at its end already: nothing to do.')
      return
    yield _agreed(task, config, chief_starts, run['settings'])
    if not config.sync:
      return


def _announce(server, task, config, begun):
  """Tells the workers of the run that the chief has begun; its Config."""
  with _board_session(server, task, config) as session:
    notice = shared_state.Notice('run')
    before = notice.read(session) or {'chief_starts': 0}
    run = {'chief_starts': before['chief_starts'] + 1, 'settings': None}
    if begun is not None:
      begun = dataclasses.replace(begun, chief_starts=run['chief_starts'])
      run['settings'] = {name: getattr(begun, name) for name in _AGREED}
      run['settings']['max_steps'] = begun.max_steps
      run['settings']['stretches'] = begun.stretches
    notice.write(session, run)
  return begun


def _agreed(task, config, chief_starts, settings):
  """The Config of a worker, which must have the chief's settings."""
  for name in _AGREED:
    if getattr(config, name) != settings[name]:
      raise UserError(
        '--%s is %s here, but %s in the chief (%s)'
        % (name, getattr(config, name), settings[name], task.workers[0])
      )
  return dataclasses.replace(
    config,
    chief_starts=chief_starts,
    max_steps=settings['max_steps'],
    stretches=tuple(tuple(stretch) for stretch in settings['stretches']),
  )


class _SessionCreator(tf.train.SessionCreator):
  """Creates a worker's session: initialized, or joined in its state.

  The chief initializes the variables, from the newest checkpoint if there is
  one; unless the parameter servers hold them still, from before this task was
  started again. The others wait for that.
  """

  def __init__(self, server, task, config, scaffold):
    self._server = server
    self._task = task
    self._config = config
    self._scaffold = scaffold

  def create_session(self):
    self._scaffold.finalize()
    proto = cluster_spec.session_config(self._task, self._config)
    manager = tf.train.SessionManager(
      local_init_op=self._scaffold.local_init_op,
      ready_op=self._scaffold.ready_op,
      ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
      recovery_wait_secs=1,
    )
    wait_secs = 0 if self._task.is_chief else self._config.connect_timeout_secs
    try:
      return manager.wait_for_session(
        self._server.target, config=proto, max_wait_secs=wait_secs
      )
    except tf.errors.DeadlineExceededError as error:
      if not self._task.is_chief:
        raise UserError(
          'the chief (%s) has initialized nothing within %d s '
          '(--connect_timeout_secs)' % (self._task.workers[0], wait_secs)
        ) from error
    return manager.prepare_session(
      self._server.target,
      init_op=self._scaffold.init_op,
      saver=self._scaffold.saver,
      checkpoint_dir=self._config.train_dir,
      config=proto,
    )


def _save_now(saving, config):
  """Saves the step in hand, beside a step that hangs; says where."""
  saving.save_now()
  last = checkpoints.latest(config.train_dir)
  return 'Step %d is saved in %s' % (checkpoints.step(last), last)


@contextlib.contextmanager
def training_session(server, task, config, graph):
  """A worker's session, which ends with those of the others.

  Args:
    server: tf.train.Server.
    task: cluster_spec.Task.
    config: Config.
    graph: cifar10_distributed_train.TrainingGraph.

  Yields:
    tf.train.MonitoredSession.

  Raises:
    UserError: a checkpoint does not fit the graph or cannot be written; or
      (DivergedError) the loss is not finite.
  """
  saver = tf.train.Saver(
    max_to_keep=config.max_to_keep, save_relative_paths=True
  )
  step = session_lib.step_after(graph.train_op)
  (learning_rate,) = tf.get_collection(train_op.LEARNING_RATE)
  steps_to_go = None
  if config.sync and not config.backup_workers:
    steps_to_go = 1
  elif task.is_chief:
    steps_to_go = 2 if config.sync else 0
  local_init = tf.train.Scaffold.default_local_init_op()
  with contextlib.ExitStack() as stack:
    signals = stack.enter_context(session_lib.signals_noted())
    watching = watchdog.Watch(server, task, config)
    stack.callback(watching.end)
    reporting = progress.reporting(step, graph.loss, config)
    all_hooks = [
      hooks.DivergenceHook(step, graph.loss, learning_rate),
      stack.enter_context(reporting),
    ]
    if task.is_chief:
      session_lib.check_newest(config)
      config.save(config.train_dir)
      local_init = tf.group(local_init, graph.progress.initializer)
      writer = stack.enter_context(tf.summary.FileWriter(config.train_dir))
      saving = hooks.CheckpointHook(step, saver, config)
      watching.save = lambda: _save_now(saving, config)
      all_hooks += [hooks.SummaryHook(step, writer, config), saving]
    all_hooks += [
      cluster_hooks.LastStepHook(step, graph.progress, signals, steps_to_go),
      hooks.PrefetchHook(graph.prefetch),
    ]
    if config.sync:
      all_hooks.append(
        cluster_hooks.SyncHook(
          graph.optimizer, task, graph.progress, config.chief_starts
        )
      )
    scaffold = tf.train.Scaffold(saver=saver, local_init_op=local_init)
    creator = _SessionCreator(server, task, config, scaffold)
    with tf.train.MonitoredSession(
      creator, all_hooks, stop_grace_period_secs=5
    ) as session:
      watching.training_begins(signals)
      yield session
      watching.end()
    session_lib.print_stopped(signals)
  if task.is_chief:
    session_lib.print_saved(config)
