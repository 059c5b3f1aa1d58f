"""How a task joins a cluster, agrees with the others, and leaves.

A parameter server serves until the workers have left. A worker joins by
agreeing with the others on the cluster and on the run, and tells the parameter
servers when it leaves.
"""

import contextlib
import dataclasses
import time
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import liveness
from cifar10.cluster import shared_state
from cifar10.errors import UserError
from cifar10.training import run_state
from cifar10.training import signals as signals_lib
from cifar10.training.watchdog import Watchdog
from cifar10.util import console

_POLL_SECS = 0.5

# How long a parameter server stays after a signal, so that workers can leave.
_GRACE_SECS = 10


def serve(task, config):
  """Serves variables until the workers have left.

  After SIGINT (Ctrl-C) or SIGTERM the workers still have some seconds to leave,
  so that a signal to a whole cluster loses nothing.

  Args:
    task: cluster_spec.Task, of the job `ps`.
    config: config.Config.

  Raises:
    UserError: the port is taken, or no worker can be reached.
  """
  server = cluster_spec.start_server(task, config.session)
  print('Serving at %s.' % task.address)
  signals = signals_lib.noted_until_exit()
  with tf.Graph().as_default():
    proto = cluster_spec.config_proto(task, config)
    with tf.Session(server.target, config=proto) as session:
      if task.index == 0:
        shared_state.Notice('cluster').write(session, task.hosts)
      _serve_until_left(session, task, config, signals)
    time.sleep(1)  # The workers' last sessions close meanwhile.
  signals_lib.print_first(signals)
  print('Served.')


def _serve_until_left(session, task, config, signals):
  """Returns when all workers have left, or some seconds after a signal.

  If the chief has left, it also returns when the others no longer answer.

  Raises:
    UserError: the workers no longer answer; names those that have not left.
  """
  left = shared_state.left(task.index)
  leaver, count = left.dequeue(), left.size()
  have_left = set()
  timeout_secs = config.cluster.connect_timeout_secs
  answered = signaled = None  # When a worker answered; when a signal came.
  while True:
    now = time.monotonic()
    while session.run(count):
      number = int(session.run(leaver))
      if number < 0:
        have_left.discard(~number)
      else:
        have_left.add(number)
    if len(have_left) == len(task.workers):
      return
    others = set(range(len(task.workers))) - have_left
    is_alone = all(cluster_spec.unreachable(task.workers[i]) for i in others)
    if not is_alone or answered is None:
      answered = now
    if signals:
      signaled = signaled or now
      if is_alone or now - signaled > _GRACE_SECS:
        return
    # The chief has left, and saved. A busy worker may miss an answer or two.
    if 0 in have_left and now - answered >= min(_GRACE_SECS, timeout_secs):
      return
    if now - answered > timeout_secs:
      raise UserError(
        '%s: no answer for %d s (--connect_timeout_secs)%s'
        % (
          ', '.join('worker %d (%s)' % (i, task.workers[i]) for i in others),
          timeout_secs,
          '; what the chief, worker 0, has not saved is lost'
          if have_left
          else '',
        )
      )
    time.sleep(_POLL_SECS)


@contextlib.contextmanager
def joined(task, config):
  """Joins the cluster as a worker, and leaves it at the end.

  Args:
    task: cluster_spec.Task, of the job `worker`.
    config: config.Config.

  Yields:
    tf.train.Server.

  Raises:
    UserError: the port is taken, a host cannot be reached, the tasks were
      started with different clusters, or --overwrite would delete what the
      parameter servers go on with.
  """
  server = cluster_spec.start_server(task, config.session)
  cluster_spec.reach(
    task.ps, 'parameter server', config.cluster.connect_timeout_secs
  )
  with Watchdog() as watchdog:
    watchdog.watch(
      liveness.AnswerCheck(task.ps, 'parameter server', config.cluster)
    )
    _check_cluster(server, task, config)
    _check_overwrite(server, task, config)
    _tell_servers(~task.index, server, task, config)
    try:
      yield server
    finally:
      with contextlib.suppress(UserError):
        _tell_servers(task.index, server, task, config)


def _check_cluster(server, task, config):
  """Checks that the tasks were started with the same cluster.

  Raises:
    UserError: they were not, or a host cannot be reached.
  """
  if config.cluster.sync and not config.cluster.backup_workers:
    cluster_spec.reach(
      task.workers, 'worker', config.cluster.connect_timeout_secs
    )
  hosts = _wait_for_notice(server, task, config, 'cluster', task.ps[0])
  if hosts != task.hosts:
    raise UserError(
      'the cluster is %s here, but %s at parameter server %s'
      % (task.hosts, hosts, task.ps[0])
    )


def _check_overwrite(server, task, config):
  """Checks that a chief with --overwrite is the first with these servers.

  A chief that has died may be started again with the same flags. Before the
  servers hear of it: they would not wait for one that leaves again.

  Raises:
    UserError: the parameter servers hold the variables of a run.
  """
  if not (task.is_chief and config.run.overwrite):
    return
  with side_session(server, task, config) as session:
    if session.run(shared_state.progress(task, 0).is_initialized()):
      raise UserError(
        '--overwrite: the parameter servers (%s) hold a run that has begun. '
        'Leave out --overwrite to go on with it, or end all tasks of the '
        'cluster to start afresh' % ', '.join(task.ps)
      )


def _tell_servers(number, server, task, config):
  """Tells the parameter servers that this worker leaves, or joins.

  Raises:
    UserError: they do not answer.
  """
  with side_session(server, task, config) as session:
    session.run(
      [shared_state.left(i).enqueue(number) for i in range(len(task.ps))]
    )


@contextlib.contextmanager
def side_session(server, task, config):
  """A session beside the training, in its own graph.

  Raises:
    UserError: the parameter servers do not answer.
  """
  proto = cluster_spec.config_proto(task, config)
  proto.operation_timeout_in_ms = 1000 * config.cluster.connect_timeout_secs
  try:
    with tf.Graph().as_default():
      with tf.Session(server.target, config=proto) as session:
        yield session
  except tf.errors.OpError as error:
    raise UserError(
      '%s: no answer: %s' % (', '.join(task.ps), console.summary(error))
    ) from error


def _wait_for_notice(server, task, config, name, source):
  """Waits for the notice `name` that the task at `source` writes."""
  deadline = time.monotonic() + config.cluster.connect_timeout_secs
  with side_session(server, task, config) as session:
    notice = shared_state.Notice(name)
    while time.monotonic() < deadline:
      value = notice.read(session)
      if value is not None:
        return value
      time.sleep(_POLL_SECS)
  raise UserError(
    '%s: has not started within %d s (--connect_timeout_secs)'
    % (source, config.cluster.connect_timeout_secs)
  )


class Agreement(NamedTuple):
  """What the chief and a worker have agreed on.

  Attributes:
    config: config.Config to train with.
    run_state: run_state.RunState to train with.
    chief_start: how many times a chief has started with these servers.
    steps_before: steps that an earlier start of this worker has taken.
  """

  config: Any
  run_state: Any
  chief_start: int
  steps_before: int


def agree(server, task, config, begin):
  """Waits for each run that the chief announces, and agrees with it.

  With --sync a restarted chief announces another one.

  Args:
    server: tf.train.Server.
    task: cluster_spec.Task.
    config: config.Config.
    begin: function without arguments that prepares the run in the chief and
      returns its run_state.RunState, or None if there is nothing left to do.

  Yields:
    Agreement; nothing if there is nothing left to do.

  Raises:
    UserError: a flag differs from the chief's.
  """
  if task.is_chief:
    state = begin()
    chief_start = _announce(server, task, config, state)
    if state is not None:
      steps_before = _steps_before(server, task, config)
      yield Agreement(config, state, chief_start, steps_before)
    return
  last_joined = None
  while True:
    run = _wait_for_notice(server, task, config, 'run', task.workers[0])
    if run['chief_start'] == last_joined:
      return
    last_joined = run['chief_start']
    if run['settings'] is None:
      print('The run of the chief is at its end already: nothing to do.')
      return
    yield _agreed(server, task, config, run)
    if not config.cluster.sync:
      return


def _announce(server, task, config, state):
  """Tells the workers of the run that the chief begins; counts its starts."""
  with side_session(server, task, config) as session:
    notice = shared_state.Notice('run')
    before = notice.read(session) or {'chief_start': 0}
    run = {'chief_start': before['chief_start'] + 1, 'settings': None}
    if state is not None:
      run['settings'] = _agreed_settings(config)
      run['max_steps'] = config.optimization.max_steps
      run['epochs'] = config.optimization.epochs
      run['state'] = dataclasses.asdict(state)
    notice.write(session, run)
  return run['chief_start']


def _agreed_settings(config):
  """The settings that must be the same in all workers, by their flat names."""
  settings = config.saved_settings()
  return {name: settings[name] for name in config.policy('agreed')}


def _agreed(server, task, config, run):
  """The Agreement of a worker, whose settings must be the chief's."""
  for name, value in _agreed_settings(config).items():
    if value != run['settings'][name]:
      raise UserError(
        '--%s is %s here, but %s in the chief (%s)'
        % (name, value, run['settings'][name], task.workers[0])
      )
  return Agreement(
    config.replace(max_steps=run['max_steps'], epochs=run['epochs']),
    run_state.from_json(run['state']),
    run['chief_start'],
    _steps_before(server, task, config),
  )


def _steps_before(server, task, config):
  """The steps that this worker has taken, as the parameter servers know it."""
  with side_session(server, task, config) as session:
    steps = shared_state.progress(task, 0).steps
    if not session.run(tf.is_variable_initialized(steps)):
      return 0
    return int(session.run(steps)[task.index])
