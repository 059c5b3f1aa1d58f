"""The end of the chief, as worker 1 sees it after its last step."""

import contextlib

import pytest

from cifar10.cluster import cluster_spec
from cifar10.cluster import ending
from cifar10.cluster import membership
from cifar10.cluster import servers
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import clusters


@pytest.fixture(scope='module', name='tasks')
def _tasks():
  """The Servers of a parameter server and of worker 1; there is no chief."""
  ps, *workers = clusters.free_addresses(3)
  settings = Settings(connect_timeout_secs=1)
  task = cluster_spec.Task('ps', 0, (ps,), tuple(workers))
  return [
      servers.Server(each, settings)
      for each in (task, task._replace(job='worker', index=1))
  ]


def wait(tasks, notice, meanwhile=None):
  """Waits, as a worker that the second start of a chief has joined."""
  _, worker = tasks
  write(worker, notice or {'chief_start': 0, 'problem': None})
  ending.wait(worker, agreement(worker), meanwhile)


def agreement(server):
  return membership.Agreement(server.settings, None, chief_start=2,
                              steps_before=0)


def write(server, notice):
  with server.side_session() as session:
    ending.notice().write(session, notice)


@pytest.mark.parametrize('start', [2, 3])  # Started again since.
def test_a_chief_that_has_saved_is_waited_for_no_longer(tasks, start):
  wait(tasks, {'chief_start': start, 'problem': None})


def test_the_error_of_the_chief_is_told(tasks):
  with pytest.raises(UserError, match=r'^the chief \(.*ended .*: disk full$'):
    wait(tasks, {'chief_start': 2, 'problem': 'disk full'})


@pytest.mark.parametrize('notice', [None, {'chief_start': 1, 'problem': None}])
def test_a_chief_that_is_gone_is_named(tasks, notice):
  with pytest.raises(UserError, match=r'^the chief 127.* may not be saved$'):
    wait(tasks, notice)


@pytest.fixture(scope='module', name='chief')
def _chief(tasks):
  _, worker = tasks
  return servers.Server(worker.task._replace(index=0), worker.settings)


@pytest.mark.parametrize('error', [None, OSError(28, 'disk full')])
def test_a_chief_that_ends_while_others_wait_is_noticed(tasks, chief, error):
  _, worker = tasks

  def end():
    with contextlib.suppress(OSError):
      with ending.announced(chief, agreement(worker)):
        if error:
          raise error

  if error is None:
    wait(tasks, None, end)
  else:
    with pytest.raises(UserError, match='with an error: .*disk full'):
      wait(tasks, None, end)
