"""Servers that answer, and what else may be at their addresses."""

import socket
import threading

import pytest

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
  task, _ = clusters.new_tasks(1)
  timer = threading.Timer(0.5, servers.Server, (task, Settings()))
  assert reachability.unreachable(task.address) == 'Connection refused'
  timer.start()
  reachability.reach([task.address], 'worker', timeout_secs=20)
  timer.join()
  assert reachability.unreachable(task.address) is None


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
  problem = 'worker %s cannot be reached .*: Connection refused$' % address
  with pytest.raises(UserError, match=problem):
    reachability.reach([address], 'worker', timeout_secs=1)


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
