"""Servers that answer, and what else may be at their addresses."""

import socket
import threading

from cifar10.cluster import servers
from cifar10.settings import Settings
from cifar10.util import reachability
from tests import clusters


def test_a_server_that_comes_late_is_reached():
  task, _ = clusters.new_tasks(1)
  timer = threading.Timer(0.5, servers.Server, (task, Settings()))
  assert reachability.unreachable(task.address) == 'Connection refused'
  timer.start()
  reachability.reach([task.address], 'worker', timeout_secs=20)
  timer.join()
  assert reachability.unreachable(task.address) is None


def test_a_task_may_be_silent_for_a_while_and_is_named_then(monkeypatch):
  monkeypatch.setattr(reachability, '_ANSWER_SECS', 0.2)
  silent, gone = clusters.free_addresses(2)
  settings = Settings(connect_timeout_secs=60)
  with socket.socket() as listener:  # It does not answer.
    listener.bind(('127.0.0.1', int(silent.partition(':')[2])))
    listener.listen(5)
    for address, problem in ((silent, 'no answer within 0.2 s'),
                             (gone, 'Connection refused')):
      times = iter([0.0, 60.0, 60.1])
      check = reachability.answer_check([address], 'parameter server', settings,
                                        clock=times.__next__)
      assert check() is None
      assert check() == ('parameter server %s has been out of reach for 60 s '
                         '(--connect_timeout_secs): %s' % (address, problem))
