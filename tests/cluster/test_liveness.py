"""Tasks that give no answer, workers that others wait for, the chief's end."""

import socket
import threading
import time

import pytest

from cifar10.cluster import cluster_spec
from cifar10.cluster import liveness
from cifar10.cluster import local_cluster
from cifar10.cluster import membership
from cifar10.cluster import servers
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import clusters
from tests.faults import servers as webservers


def test_a_server_that_comes_late_is_reached():
  (port,) = local_cluster.free_ports(1)
  address = '127.0.0.1:%d' % port
  task = cluster_spec.Task('ps', 0, (address,), ('127.0.0.1:1',))
  timer = threading.Timer(0.5, servers.Server, (task, Settings()))
  assert liveness.unreachable(address) == 'Connection refused'
  timer.start()
  liveness.reach([address], 'worker', timeout_secs=20)
  timer.join()
  assert liveness.unreachable(address) is None


def test_an_open_port_is_no_answer():
  with socket.socket() as silent:
    silent.bind(('127.0.0.1', 0))
    silent.listen(5)  # As of a process that is stopped.
    address = '127.0.0.1:%d' % silent.getsockname()[1]
    assert liveness.unreachable(address) == 'no answer within 2 s'


def test_another_program_is_no_server():
  with webservers.Server(b'') as other:
    address = '127.0.0.1:%d' % other.server_port
    assert liveness.unreachable(address) == (
        'another program than a TensorFlow server answers')


def test_a_host_out_of_reach_is_named():
  (port,) = local_cluster.free_ports(1)
  address = '127.0.0.1:%d' % port
  with pytest.raises(UserError) as error:
    liveness.reach([address], 'worker', timeout_secs=1)
  assert str(error.value).startswith('worker %s cannot be reached' % address)
  assert 'Connection refused' in str(error.value)


def test_a_host_that_no_resolver_knows_is_named(monkeypatch):

  def resolve(*arguments):
    raise socket.gaierror(socket.EAI_NONAME, 'Name or service not known')

  monkeypatch.setattr(socket, 'getaddrinfo', resolve)
  with pytest.raises(UserError,
                     match='worker nosuchhost:1 cannot be .* not known'):
    liveness.reach(['nosuchhost:1'], 'worker', timeout_secs=0)


@pytest.fixture(name='silent')
def _silent(monkeypatch):
  """The address of a task that accepts connections and does not answer."""
  monkeypatch.setattr(liveness, '_ANSWER_SECS', 0.2)
  with socket.socket() as listener:
    listener.bind(('127.0.0.1', 0))
    listener.listen(5)
    yield '127.0.0.1:%d' % listener.getsockname()[1]


def test_a_task_may_be_silent_for_a_while_and_is_named_then(
    silent, monkeypatch):
  now = [0.0]
  monkeypatch.setattr(liveness.time, 'monotonic', lambda: now[0])
  (gone,) = clusters.free_addresses(1)
  settings = Settings(connect_timeout_secs=60)
  for address, problem in ((silent, 'no answer within 0.2 s'),
                           (gone, 'Connection refused')):
    now[0] = 0.0
    check = liveness.answer_check([address], 'parameter server', settings)
    now[0] = 60.0
    assert check() is None
    now[0] = 60.1
    assert check() == ('parameter server %s has been out of reach for 60 s '
                       '(--connect_timeout_secs): %s' % (address, problem))


def test_silent_workers_are_waited_for_and_then_slow_ones(silent, monkeypatch):
  gone, other = clusters.free_addresses(2)
  task = cluster_spec.Task('worker', 0, ('a:1',), (other, silent, gone))
  assert liveness.missing_workers(
      task, [3, 3, 3]) == ('worker 1 (%s), worker 2 (%s)' % (silent, gone))
  monkeypatch.setattr(liveness, 'unreachable', lambda address: None)
  assert liveness.missing_workers(task, [3, 3, 2]) == 'worker 2 (%s)' % gone
  assert liveness.missing_workers(task, None) == 'an unknown task'


class Observer:
  """What is known of the chief's end."""

  ending, validated = None, 0


def wait(notice, stall_secs=60, observer=None):
  """Waits, as worker 1 after its last step, for the save of the chief."""
  chief, worker = clusters.free_addresses(2)
  task = cluster_spec.Task('worker', 1, ('a:1',), (chief, worker))
  observer = observer or Observer()
  observer.ending = notice
  settings = Settings(connect_timeout_secs=1, stall_secs=stall_secs)
  agreement = membership.Agreement(settings, None, chief_start=2,
                                   steps_before=0)
  liveness.wait_until_saved(task, agreement, observer)


def test_a_chief_that_has_saved_is_waited_for_no_longer():
  wait({'chief_start': 2, 'problem': None})
  wait({'chief_start': 3, 'problem': None})  # Started again since.


def test_the_error_of_the_chief_is_told():
  with pytest.raises(UserError, match=r'^the chief \(.*ended .*: disk full$'):
    wait({'chief_start': 2, 'problem': 'disk full'})


@pytest.mark.parametrize('notice', [None, {'chief_start': 1, 'problem': None}])
def test_a_chief_that_is_gone_is_named(notice):
  with pytest.raises(UserError, match=r'^the chief 127.* may not be saved$'):
    wait(notice)


def test_a_chief_that_does_not_save_is_named(monkeypatch):
  monkeypatch.setattr(liveness, 'unreachable', lambda address: None)
  with pytest.raises(UserError, match='has not saved .* within 1 s'):
    wait(None, stall_secs=1)


def test_a_chief_that_validates_before_it_saves_is_waited_for(monkeypatch):
  observer, started = Observer(), time.monotonic()

  def look(address):
    observer.validated += 1
    if time.monotonic() - started > 4.5:
      observer.ending = {'chief_start': 2, 'problem': None}

  monkeypatch.setattr(liveness, 'unreachable', look)
  monkeypatch.setattr(liveness, '_SAVED_POLL_SECS', 0.1)
  wait(None, stall_secs=2, observer=observer)
  assert observer.validated > 2
