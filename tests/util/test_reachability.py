"""Servers that answer, and what else may be at their addresses."""

import socket
import threading

import pytest

from cifar10.cluster import cluster_spec
from cifar10.cluster import servers
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.util import reachability
from tests import clusters


@pytest.fixture(name='listener')
def _listener():
  """A socket that accepts connections and does not answer."""
  with socket.socket() as listener:
    listener.bind(('127.0.0.1', 0))
    listener.listen(5)
    yield listener


def address_of(listener):
  return '127.0.0.1:%d' % listener.getsockname()[1]


def test_a_server_that_comes_late_is_reached():
  (address,) = clusters.free_addresses(1)
  task = cluster_spec.Task('ps', 0, (address,), ('127.0.0.1:1',))
  timer = threading.Timer(0.5, servers.Server, (task, Settings()))
  assert reachability.unreachable(address) == 'Connection refused'
  timer.start()
  reachability.reach([address], 'worker', timeout_secs=20)
  timer.join()
  assert reachability.unreachable(address) is None


def test_another_program_is_no_server(listener):

  def answer():
    connection, _ = listener.accept()
    with connection:
      connection.sendall(b'HTTP/1.0 400 Bad Request\r\n\r\n')

  threading.Thread(target=answer, daemon=True).start()
  assert reachability.unreachable(address_of(listener)) == (
      'another program than a TensorFlow server answers')


def test_a_host_out_of_reach_is_named():
  (address,) = clusters.free_addresses(1)
  with pytest.raises(UserError) as error:
    reachability.reach([address], 'worker', timeout_secs=1)
  assert str(error.value).startswith('worker %s cannot be reached' % address)
  assert 'Connection refused' in str(error.value)


def test_a_host_that_no_resolver_knows_is_named(monkeypatch):

  def resolve(*arguments):
    raise socket.gaierror(socket.EAI_NONAME, 'Name or service not known')

  monkeypatch.setattr(socket, 'getaddrinfo', resolve)
  with pytest.raises(UserError,
                     match='worker nosuchhost:1 cannot be .* not known'):
    reachability.reach(['nosuchhost:1'], 'worker', timeout_secs=0)


def test_a_task_may_be_silent_for_a_while_and_is_named_then(
    listener, monkeypatch):
  monkeypatch.setattr(reachability, '_ANSWER_SECS', 0.2)
  (gone,) = clusters.free_addresses(1)
  settings = Settings(connect_timeout_secs=60)
  for address, problem in ((address_of(listener), 'no answer within 0.2 s'),
                           (gone, 'Connection refused')):
    times = iter([0.0, 60.0, 60.1])
    check = reachability.answer_check([address], 'parameter server', settings,
                                      clock=times.__next__)
    assert check() is None
    assert check() == ('parameter server %s has been out of reach for 60 s '
                       '(--connect_timeout_secs): %s' % (address, problem))
