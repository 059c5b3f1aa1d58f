"""How tasks join a cluster, agree on the run, and leave; all in one process."""

import contextlib
import copy
import dataclasses
import re
import signal

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import ending
from cifar10.cluster import membership
from cifar10.cluster import servers
from cifar10.cluster import shared_state
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import run_state
from tests import clusters

STATE = run_state.RunState(
    ('cat', 'dog'), 50000, ((0, 128), (7, 256)),
    (run_state.Start(0, 1.5), run_state.Start(7, 2.5,
                                              (('batch_size', 64, 128),))),
    ((5, 0.25),), image_shape=(32, 32, 3))


class Tasks:
  """A parameter server and two workers, whose servers are in this process."""

  def __init__(self):
    settings = Settings(connect_timeout_secs=20)
    self.ps, *self.workers = [
        servers.Server(task, settings) for task in clusters.new_tasks(2)
    ]
    self.hosts = self.ps.task.hosts

  def worker(self, index, addresses=None, **settings):
    """The Server of a worker with these settings, and workers elsewhere."""
    server = copy.copy(self.workers[index])
    server.settings = dataclasses.replace(server.settings, **settings)
    if addresses is not None:
      server.task = server.task._replace(workers=tuple(addresses))
    return server


@pytest.fixture(scope='module', name='started')
def _started():
  return Tasks()  # Its servers live as long as the process.


@pytest.fixture(name='tasks')
def _tasks(started):
  """The Tasks; the parameter server holds nothing of earlier tests."""
  tf.Session.reset(started.ps.target, ['shared'])
  return started


def agreements(server, state=None):
  """The list of Agreements of one start of a worker."""
  return list(membership.agree(server, lambda: state))


def take_steps(tasks, counts):
  """Lets workers take some steps, each its number, with the Progress."""
  with tasks.workers[0].side_session() as session:
    progress = shared_state.progress(tasks.ps.task, 0)
    session.run(progress.initializer)
    session.run(tf.assign(progress.steps, counts))


@pytest.mark.parametrize('sync', [False, True])
def test_a_worker_takes_the_run_of_the_chief(tasks, sync):
  chief = tasks.worker(0, max_steps=500, epochs=2.5, sync=sync, save_secs=7)
  (chiefs,) = agreements(chief, STATE)
  assert chiefs == membership.Agreement(chief.settings, STATE, 1, 0)
  worker = tasks.worker(1, max_steps=9, sync=sync, save_secs=8)
  run = next(membership.agree(worker, None))
  # All of the state, and what ends the run; the rest is its own.
  assert run.settings == dataclasses.replace(worker.settings, max_steps=500,
                                             epochs=2.5)
  assert (run.state, run.chief_start, run.steps_before) == (STATE, 1, 0)


def test_starts_of_the_chief_and_earlier_steps_are_counted(tasks):
  assert agreements(tasks.worker(0), STATE)[0].steps_before == 0
  take_steps(tasks, [30, 40])
  (chief,) = agreements(tasks.worker(0), STATE)
  (worker,) = agreements(tasks.worker(1))
  assert (chief.chief_start, chief.steps_before) == (2, 30)
  assert (worker.chief_start, worker.steps_before) == (2, 40)


@pytest.mark.parametrize('sync, later', [(False, []), (True, [2])])
def test_only_in_step_a_worker_takes_the_run_of_a_restarted_chief_too(
    tasks, sync, later):
  chief, worker = (tasks.worker(i, sync=sync) for i in range(2))
  agreements(chief, STATE)
  runs = membership.agree(worker, None)
  assert next(runs).chief_start == 1
  other = dataclasses.replace(STATE, stretches=((0, 64),))
  agreements(chief, other)
  found = list(runs)  # Without another start, the run is at its end.
  assert [run.chief_start for run in found] == later
  assert all(run.state == other for run in found)


def test_a_worker_is_told_that_the_run_is_at_its_end(tasks, capsys):
  assert agreements(tasks.worker(0), state=None) == []
  assert agreements(tasks.worker(1)) == []
  assert capsys.readouterr().out == (
      'The run of the chief is at its end already: nothing to do.\n')
  # A worker that has taken the last step may still wait for an earlier start.
  here = tasks.worker(1, clusters.free_addresses(2), connect_timeout_secs=9)
  ending.wait(here, membership.Agreement(here.settings, STATE, 1, 0))


def test_an_error_of_the_chief_before_the_run_reaches_the_workers(tasks):
  error = OSError(28, 'No space left on device', 'x')

  def fail():
    raise error

  with pytest.raises(OSError) as info:
    list(membership.agree(tasks.worker(0), fail))
  assert info.value is error
  problem = r"^the chief \(%s\) has ended with an error: .*device: 'x'$" % (
      tasks.ps.task.workers[0])
  with pytest.raises(UserError, match=problem):
    agreements(tasks.worker(1))
  # A chief that is started again.
  agreements(tasks.worker(0), STATE)
  assert agreements(tasks.worker(1))[0].state == STATE


def announce_cluster(tasks, hosts):
  with tasks.workers[0].side_session() as session:
    shared_state.Notice('cluster').write(session, hosts)


def messages(tasks):
  """What workers have told the parameter server, as pairs (number, event)."""
  with tasks.workers[0].side_session() as session:
    queue = shared_state.membership_queue(0)
    return list(zip(*session.run(queue.dequeue_up_to(queue.size()))))


@pytest.fixture(name='join')
def _join(tasks, monkeypatch):
  """Joins the cluster, with the server that runs already."""

  def join(index, addresses=None, **settings):
    server = tasks.worker(index, addresses, **settings)
    monkeypatch.setattr(membership, 'Server', lambda *arguments: server)
    return membership.joined(server.task, server.settings)

  return join


def test_servers_hear_that_a_worker_joins_and_leaves_also_by_an_error(
    tasks, join):
  announce_cluster(tasks, tasks.hosts)
  with pytest.raises(KeyError):
    with join(1):
      assert messages(tasks) == [(1, shared_state.JOINS)]
      raise KeyError
  assert messages(tasks) == [(1, shared_state.FAILS)]


OTHER_RUN = dataclasses.replace(STATE, starts=(run_state.Start(0, 3.5),))


@pytest.mark.parametrize(
    'index, overwrite, state, problem',
    [(0, False, STATE, None), (1, True, OTHER_RUN, None),
     (0, True, STATE, '^--overwrite: the parameter servers'),
     (0, False, OTHER_RUN, '^--train_dir=.*: not the run .*, which is in /x.'),
     (0, False, None, '^--train_dir=.*: not the run that')])
def test_a_chief_joins_only_to_continue_the_run_of_the_servers(
    tasks, join, tmp_path, index, overwrite, state, problem):
  announce_cluster(tasks, tasks.hosts)
  agreements(tasks.worker(0, train_dir='/x'), STATE)
  take_steps(tasks, [1, 1])
  if state:
    state.save(str(tmp_path))
  with contextlib.ExitStack() as stack:
    if problem:
      stack.enter_context(pytest.raises(UserError, match=problem))
    with join(index, overwrite=overwrite, train_dir=str(tmp_path)):
      pass
  # Nor do the servers hear of it.
  told = [(index, shared_state.JOINS), (index, shared_state.LEAVES)]
  assert messages(tasks) == ([] if problem else told)


def test_in_step_a_worker_joins_once_the_others_answer(tasks, join):
  addresses = [tasks.ps.task.workers[0], *clusters.free_addresses(1)]
  task = tasks.ps.task._replace(workers=tuple(addresses))
  announce_cluster(tasks, task.hosts)
  with join(0, addresses, sync=True, backup_workers=1):
    pass
  problem = '^worker %s cannot be reached .*: Connection refused$'
  with pytest.raises(UserError, match=problem % addresses[1]):
    with join(0, addresses, sync=True, connect_timeout_secs=0):
      pass
  announce_cluster(tasks, tasks.hosts)
  with join(0, sync=True, connect_timeout_secs=20):
    pass


class Clock:
  """Seconds that pass only while something sleeps."""

  def __init__(self):
    self.now = 0.0
    self.alarms = {}  # Functions to call, by the time when they are due.

  def monotonic(self):
    return self.now

  def sleep(self, secs):
    self.now += secs
    self.alarms.pop(self.now, lambda: None)()


@pytest.fixture(name='clock')
def _clock(monkeypatch):
  clock = Clock()
  monkeypatch.setattr(membership, 'time', clock)
  return clock


def test_a_chief_that_announces_nothing_is_named(tasks, clock):
  with pytest.raises(UserError, match=r'has not started within 30 s \(--conn'):
    agreements(tasks.worker(1, connect_timeout_secs=30))
  assert clock.now == 30.0


def serve(tasks, addresses=None, signals=(), **settings):
  """Serves until the workers have left; returns whether the chief failed."""
  server = copy.copy(tasks.ps)
  server.settings = Settings(**settings)
  if addresses is not None:
    server.task = server.task._replace(workers=tuple(addresses))
  with tf.Graph().as_default(), tf.Session(server.target) as session:
    return membership._serve_until_left(server, session, signals)


def tell(tasks, *numbers, event=shared_state.LEAVES):
  """Lets workers tell the server that they leave, fail or join."""
  with tasks.workers[0].side_session() as session:
    queue = shared_state.membership_queue(0)
    session.run(queue.enqueue_many([list(numbers), [event] * len(numbers)]))


def test_a_server_serves_until_all_workers_have_left(tasks, clock):
  tell(tasks, 0)
  # Worker 0 starts again, and leaves later than worker 1; it answers.
  clock.alarms = {
      1.0: lambda: tell(tasks, 0, event=shared_state.JOINS),
      2.0: lambda: tell(tasks, 1),
      12.0: lambda: tell(tasks, 0)
  }
  assert not serve(tasks, connect_timeout_secs=5)
  assert clock.now == 12.0
  tell(tasks, 0, 1, event=shared_state.FAILS)
  assert serve(tasks)


LOST = '; what the chief, worker 0, has not saved is lost'


@pytest.mark.parametrize('leavers, others, lost', [([], [0, 1], ''),
                                                   ([1], [0], LOST)])
def test_workers_that_no_longer_answer_are_named(tasks, clock, leavers, others,
                                                 lost):
  silent = clusters.free_addresses(2)
  if leavers:
    tell(tasks, *leavers)
  names = ', '.join('worker %d (%s)' % (i, silent[i]) for i in others)
  problem = names + ': no answer for 30 s (--connect_timeout_secs)' + lost
  with pytest.raises(UserError, match='^%s$' % re.escape(problem)):
    serve(tasks, silent, connect_timeout_secs=30)
  assert clock.now == 30.5


@pytest.mark.parametrize('timeout_secs, seconds', [(60, 10.0), (3, 3.0)])
def test_silent_workers_are_not_waited_for_once_the_chief_has_left(
    tasks, clock, timeout_secs, seconds):
  tell(tasks, 0)
  serve(tasks, clusters.free_addresses(2), connect_timeout_secs=timeout_secs)
  assert clock.now == seconds


def test_after_a_signal_workers_are_asked_to_end_until_they_do(tasks, clock):
  signals = []
  take_steps(tasks, [1, 1])
  clock.alarms = {
      2.0: lambda: signals.append(signal.SIGTERM),
      # A chief that starts again forgets what it was asked.
      5.0: lambda: take_steps(tasks, [0, 0])
  }
  problem = 'not ended 29 s after a signal; what is not saved is lost'
  with pytest.raises(UserError, match=problem):  # They answer all the time.
    serve(tasks, signals=signals, connect_timeout_secs=2, stall_secs=2)
  assert clock.now == 31.5
  with tasks.workers[0].side_session() as session:
    progress = shared_state.progress(tasks.ps.task, 0)
    assert session.run(progress.is_to_end) == 1


def test_after_a_signal_workers_that_have_not_begun_have_10_s(tasks, clock):
  signals = []
  clock.alarms[2.0] = lambda: signals.append(signal.SIGTERM)
  assert not serve(tasks, signals=signals)
  assert clock.now == 12.5
  # Those that have never answered have none.
  assert not serve(tasks, clusters.free_addresses(2), signals)
  assert clock.now == 12.5


def test_after_a_signal_a_worker_may_miss_an_answer(tasks, clock, monkeypatch):
  is_silent = {0.5, 1.0, 1.5}
  monkeypatch.setattr(membership.reachability, 'unreachable',
                      lambda address: clock.now in is_silent)
  clock.alarms[3.0] = lambda: tell(tasks, 0, 1)
  serve(tasks, signals=[signal.SIGTERM])
  assert clock.now == 3.0
