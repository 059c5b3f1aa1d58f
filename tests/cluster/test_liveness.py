"""Tasks that give no answer, and workers that others wait for."""

import socket

import pytest

from cifar10.cluster import cluster_spec
from cifar10.cluster import liveness
from cifar10.settings import Settings
from tests import clusters


@pytest.fixture(name='silent')
def _silent():
  """The address of a task that accepts connections and does not answer."""
  with socket.socket() as listener:
    listener.bind(('127.0.0.1', 0))
    listener.listen(5)
    yield '127.0.0.1:%d' % listener.getsockname()[1]


def test_a_task_may_be_silent_for_a_while_and_is_named_then(
  silent, monkeypatch
):
  now = [0.0]
  monkeypatch.setattr(liveness.time, 'monotonic', lambda: now[0])
  check = liveness.AnswerCheck(
    [silent], 'parameter server', Settings(connect_timeout_secs=60)
  )
  now[0] = 60.0
  assert check() is None
  now[0] = 60.1
  assert check() == (
    'parameter server %s has been out of reach for 60 s '
    '(--connect_timeout_secs): no answer within 2 s' % silent
  )


def test_silent_workers_are_waited_for_and_then_slow_ones(silent, monkeypatch):
  gone, other = clusters.free_addresses(2)
  task = cluster_spec.Task('worker', 0, ('a:1',), (other, silent, gone))
  assert liveness.missing_workers(task, [3, 3, 3]) == (
    'worker 1 (%s), worker 2 (%s)' % (silent, gone)
  )
  monkeypatch.setattr(cluster_spec, 'unreachable', lambda address: None)
  assert liveness.missing_workers(task, [3, 3, 2]) == 'worker 2 (%s)' % gone
  assert liveness.missing_workers(task, None) == 'an unknown task'
