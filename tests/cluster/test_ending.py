"""The end of the chief, as worker 1 sees it after its last step."""

import contextlib

import pytest

from cifar10.cluster import ending
from cifar10.cluster import membership
from cifar10.cluster import servers
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import clusters


@pytest.fixture(scope='module', name='tasks')
def _tasks():
  """The Servers of a parameter server and of worker 1; there is no chief."""
  ps, _, worker = clusters.new_tasks(2)
  settings = Settings(connect_timeout_secs=1)
  return [servers.Server(task, settings) for task in (ps, worker)]


EARLIER = {'chief_start': 1, 'problem': 'disk full'}  # Of an earlier start.


def wait(tasks, notice, meanwhile=None):
  """Waits, as a worker that the second start of a chief has joined."""
  _, worker = tasks
  with worker.side_session() as session:
    ending.notice().write(session, notice)
  ending.wait(worker, agreement(worker), meanwhile)


def agreement(server):
  return membership.Agreement(server.settings, None, chief_start=2,
                              steps_before=0)


@pytest.mark.parametrize('start', [2, 3])  # Started again since.
def test_a_chief_that_has_saved_is_waited_for_no_longer(tasks, start):
  wait(tasks, {'chief_start': start, 'problem': None})


def test_a_chief_that_is_gone_is_named(tasks):
  with pytest.raises(UserError, match=r'^the chief 127.* may not be saved$'):
    wait(tasks, EARLIER)


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
    wait(tasks, EARLIER, end)
  else:
    problem = r'^the chief \(.* has ended with an error: .*disk full$'
    with pytest.raises(UserError, match=problem):
      wait(tasks, EARLIER, end)
