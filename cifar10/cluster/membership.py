"""Membership: a task joins a cluster, agrees with the others, and leaves.

A worker agrees with the others on the cluster and on the run, and tells the
parameter servers when it leaves; these serve until all workers have left.
"""

import contextlib
import dataclasses
import os
import time
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import settings as settings_lib
from cifar10.cluster import cluster_spec
from cifar10.cluster import ending
from cifar10.cluster import shared_state
from cifar10.cluster.servers import Server
from cifar10.errors import UserError
from cifar10.store import config
from cifar10.store import run_state
from cifar10.util import reachability
from cifar10.util import signals as signals_lib

_POLL_SECS = 0.5

_ENDS = 'max_steps', 'epochs'  # Settings that a worker takes from the chief.

# How long silent workers are waited for that need not answer any more; and
# after a signal, those that have not begun.
_GRACE_SECS = 10

# What a worker takes, beside the flags' limits, to end in an orderly way.
_END_SECS = 25


def serve(task, settings):
  """Serves the variables of a parameter server until the workers have left.

  A signal has the workers end, too. Raises UserError if the port is taken, no
  worker can be reached, or the chief has left with an error.
  """
  server = Server(task, settings)
  signals = signals_lib.noted_until_exit()
  print(f'Serving at {task.address}.')
  with tf.Graph().as_default():
    with tf.Session(server.target, config=server.config_proto()) as session:
      shared_state.Notice('cluster', task.index).write(session, task.hosts)
      has_failed = _serve_until_left(server, session, signals)
    time.sleep(1)  # The workers' last sessions close meanwhile.
  signals_lib.print_first(signals)
  if has_failed:
    raise UserError(f'the chief ({task.workers[0]}) has ended with an error')
  print('Served.')


def _serve_until_left(server, session, signals):
  """Serves until all workers have left; returns whether the chief has failed.

  Also until the chief has left, or a signal has come, and the others no longer
  answer, or have not begun. Raises UserError if no worker that is left answers
  and the chief has not left, or they do not end after a signal.
  """
  task, timeout_secs = server.task, server.settings.connect_timeout_secs
  queue = shared_state.membership_queue(task.index)
  message, count = queue.dequeue(), queue.size()
  present = set(range(len(task.workers)))  # Those that have not left.
  has_failed = has_answered = False
  answered = time.monotonic()  # When a worker did, or the start.
  signaled, limit = None, _GRACE_SECS  # Of the time from a signal to the end.
  while True:
    now = time.monotonic()
    while session.run(count):
      worker, event = session.run(message)
      if event == shared_state.JOINS:
        present.add(int(worker))
      else:
        present.discard(int(worker))
      if worker == 0:
        has_failed = event == shared_state.FAILS
    if not present:
      return has_failed
    if not all(reachability.unreachable(task.workers[i]) for i in present):
      answered, has_answered = now, True
    silent, names = now - answered, task.describe(sorted(present))
    is_ending = signals or 0 not in present  # The chief saves, or has saved.
    # A busy worker may miss an answer or two.
    if (is_ending and silent >= min(_GRACE_SECS, timeout_secs) or
        signals and not has_answered):
      return has_failed
    if signals:  # At each look: a chief that starts meanwhile has forgotten it.
      signaled = signaled or now
      limit = max(limit, _secs_to_end(server))
      if now > signaled + limit:
        if limit == _GRACE_SECS:
          return has_failed
        raise UserError(f'{names}: not ended {limit} s after a signal; what is '
                        'not saved is lost')
    if silent > timeout_secs:
      problem = f'{names}: no answer for {timeout_secs} s'
      problem += ' (--connect_timeout_secs)'
      if len(present) < len(task.workers):
        problem += '; what the chief, worker 0, has not saved is lost'
      raise UserError(problem)
    time.sleep(_POLL_SECS)


def _secs_to_end(server):
  """Asks the workers to end; returns how long they may take, in seconds."""
  settings, task = server.settings, server.task
  is_alone = task.index and reachability.unreachable(task.ps[0])
  with contextlib.suppress(UserError):
    if not is_alone and _ask_to_end(server):
      return settings.connect_timeout_secs + settings.stall_secs + _END_SECS
  return _GRACE_SECS


def _ask_to_end(server):
  """Asks the workers to end early, and to save; False if none has begun."""
  with server.side_session() as session:
    progress = shared_state.progress(server.task, 0)
    has_begun = session.run(progress.is_initialized())
    if has_begun:
      progress.is_to_end.load(1, session)
  return has_begun


@contextlib.contextmanager
def joined(task, settings):
  """Joins the cluster as a worker, yields the Server, and leaves at the end.

  Raises UserError if the port is taken, a host cannot be reached, the cluster
  is another one there, or the parameter servers hold another run than the
  chief's.
  """
  server = Server(task, settings)
  timeout_secs = settings.connect_timeout_secs
  reachability.reach(task.ps, 'parameter server', timeout_secs)
  if cluster_spec.steps_wait_for_all(settings):
    reachability.reach(task.workers, 'worker', timeout_secs)
  for index, address in enumerate(task.ps):
    hosts = _wait_for_notice(server, 'cluster', address, index)
    if hosts != task.hosts:
      raise UserError(
          f'the cluster is {task.hosts} here, but {hosts} at parameter server '
          f'{address}')
  if task.is_chief:
    _check_run(server)
  _tell_servers(server, shared_state.JOINS)
  event = shared_state.FAILS
  try:
    yield server
    event = shared_state.LEAVES
  finally:
    with contextlib.suppress(UserError):
      _tell_servers(server, event)


def _check_run(server):
  """Checks that a chief continues the run that the parameter servers hold.

  Call this before the chief joins: if it joined and left, they would stop.
  """
  settings, names = server.settings, ', '.join(server.task.ps)
  with server.side_session() as session:
    if not session.run(shared_state.progress(server.task, 0).is_initialized()):
      return
    held = shared_state.Notice('run').read(session)
  if settings.overwrite:
    raise UserError(
        f'--overwrite: the parameter servers ({names}) hold a run that has '
        'begun. Leave out --overwrite to continue it, or end all tasks of the '
        'cluster to start from scratch')
  begun = _begun(run_state.from_json(held['state']))
  if begun != _begun(run_state.load(settings.train_dir)):
    raise UserError(
        f'--train_dir={settings.train_dir}: not the run that the parameter '
        f'servers ({names}) hold, which is in {held["train_dir"]}. Continue '
        'that one, or end all tasks of the cluster to train another')


def _begun(state):
  """The time at which a run began, which tells it from others; or None."""
  return state.starts[0].time if state and state.starts else None


def _tell_servers(server, event):
  """Tells the parameter servers that this worker joins, leaves or fails."""
  message = server.task.index, event
  with server.side_session() as session:
    for index in range(len(server.task.ps)):
      session.run(shared_state.membership_queue(index).enqueue(message))


def _wait_for_notice(server, name, source, ps_index=0):
  """The value of a Notice, which the task at `source` writes."""
  timeout_secs = server.settings.connect_timeout_secs
  deadline = time.monotonic() + timeout_secs
  with server.side_session() as session:
    notice = shared_state.Notice(name, ps_index)
    while time.monotonic() < deadline:
      value = notice.read(session)
      if value is not None:
        return value
      time.sleep(_POLL_SECS)
  raise UserError(f'{source}: has not started within {timeout_secs} s '
                  '(--connect_timeout_secs)')


class Agreement(NamedTuple):
  """The run on which the chief and a worker have agreed."""

  settings: settings_lib.Settings
  state: run_state.RunState
  chief_start: int  # The number of this start of the chief, from 1.
  steps_before: int  # Steps that an earlier start of this worker has taken.


def agree(server, begin):
  """Yields an Agreement for each run that the chief announces.

  With --sync a restarted chief announces another one. `begin()` prepares the
  run in the chief: its RunState, or None if there is nothing left to do. Raises
  UserError if a flag differs from the chief's.
  """
  settings = server.settings
  if server.task.is_chief:
    try:
      state = begin()
    except (UserError, OSError) as error:
      with contextlib.suppress(UserError):
        _announce(server, None, str(error))
      raise
    chief_start = _announce(server, state)
    if state is not None:
      yield Agreement(settings, state, chief_start, _steps_before(server))
    return
  last_joined = None
  while True:
    run = _wait_for_notice(server, 'run', server.task.workers[0])
    if run['chief_start'] == last_joined:
      return
    last_joined = run['chief_start']
    if run['problem']:
      raise UserError(ending.failure(server.task.workers[0], run['problem']))
    if run['settings'] is None:
      print('The run of the chief is at its end already: nothing to do.')
      return
    yield _agreed(server, run)
    if not settings.sync:
      return


def _announce(server, state, problem=None):
  """Tells the workers the chief's run, or error; returns its start's number."""
  settings = server.settings
  with server.side_session() as session:
    notice = shared_state.Notice('run')
    run = notice.read(session) or {'chief_start': 0}
    run.update(chief_start=run['chief_start'] + 1, problem=problem,
               settings=None)
    # An error leaves the state of the run that the servers hold.
    if state is not None:
      run.update(settings=_agreed_settings(settings),
                 state=dataclasses.asdict(state),
                 train_dir=os.path.abspath(settings.train_dir),
                 **settings.values(_ENDS))
    elif problem is None:  # All is saved, if a start before has not said so.
      ending.write(session, run['chief_start'])
    notice.write(session, run)
  return run['chief_start']


def _agreed_settings(settings):
  """The settings that must be the same in all workers, by their names."""
  saved = config.saved(settings)
  return {name: saved[name] for name in settings_lib.with_policy('agreed')}


def _agreed(server, run):
  """Checks a worker's settings against the chief's; returns its Agreement."""
  chief = f'the chief ({server.task.workers[0]})'
  here, there = _agreed_settings(server.settings), run['settings']
  for name in sorted(here.keys() ^ there.keys()):
    knower, other = 'this task', chief
    if name in there:
      knower, other = other, knower
    raise UserError(f'{knower} knows --{name}, {other} does not; expected '
                    'the same version of the program in all tasks')
  for name, value in here.items():
    if value != there[name]:
      raise UserError(f'--{name} is {value} here, but {there[name]} in {chief}')
  ends = {name: run[name] for name in _ENDS}
  settings = dataclasses.replace(server.settings, **ends)
  state = run_state.from_json(run['state'])
  return Agreement(settings, state, run['chief_start'], _steps_before(server))


def _steps_before(server):
  """The steps that this worker has taken, from the parameter servers."""
  with server.side_session() as session:
    steps = shared_state.progress(server.task, 0).steps
    if not session.run(tf.is_variable_initialized(steps)):
      return 0
    return int(session.run(steps)[server.task.index])


def lend(server, agreement):
  """Lends the device of this worker to the model of the chief, until it ends.

  A signal to this worker ends the chief, too. Raises UserError if the chief
  ends with an error, or gives no answer.
  """
  task, signals = server.task, signals_lib.noted_until_exit()
  print(f'Computing a part of the model of the chief, {task.workers[0]}.')

  def end_chief_on_signal():
    if signals:
      _ask_to_end(server)

  ending.wait(server, agreement, end_chief_on_signal)
  signals_lib.print_first(signals)
