"""The other tasks of a cluster: their progress, and those that others wait for.

Their servers are in this process.
"""

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import ending
from cifar10.cluster import membership
from cifar10.cluster import servers
from cifar10.cluster import shared_state
from cifar10.cluster.worker_role import WorkerRole
from cifar10.guard import liveness
from cifar10.settings import Settings
from tests import clusters


class Cluster:
  """A parameter server and two workers."""

  def __init__(self):
    self.ps, *self.tasks = tasks = clusters.new_tasks(2)
    self.servers = [servers.Server(task, Settings()) for task in tasks]

  def peers(self, index, **settings):
    """The Peers of a worker, and a session of its graph, the default one."""
    server = self.servers[1 + index]
    server.settings = Settings(**settings)
    agreement = membership.Agreement(server.settings, None, 2, 0)
    progress = shared_state.progress(server.task, 9)
    peers = liveness.Peers(WorkerRole(server, agreement, progress))
    session = tf.Session(server.target, config=server.config_proto())
    if index == 0:
      session.run(progress.initializer)
    peers.after_create_session(session, None)
    return peers, session, progress


@pytest.fixture(scope='module', name='cluster')
def _cluster():
  return Cluster()


def test_steps_of_all_and_validations_of_the_chief_are_progress_of_all(cluster):
  with tf.Graph().as_default():
    chief, session, progress = cluster.peers(0, sync=True)
    session.run(tf.scatter_add(progress.steps, 1, 5))
    assert chief.progress(0, 7) == (None, 7)
    assert chief.checks()[0]() is None
    assert chief.progress(0, 7) == ([0, 5], 7)
  with tf.Graph().as_default():
    other, _, _ = cluster.peers(1, sync=True)
    assert other.checks()[0]() is None
    assert other.progress(3, 0) == ([0, 5], 7)
  for settings in ({'sync': False}, {'sync': True, 'backup_workers': 1}):
    with tf.Graph().as_default():
      other, _, _ = cluster.peers(1, **settings)
      assert other.progress(3, 0) == (3, 0)


def test_the_error_of_the_chief_ends_the_others(cluster):
  with cluster.servers[1].side_session() as session:
    ending.notice().write(session, {'chief_start': 2, 'problem': 'disk full'})
  found = []
  for index in range(2):
    with tf.Graph().as_default():
      peers, _, _ = cluster.peers(index)
      found.append(peers.checks()[0]())
  assert found == [
      None,
      'the chief (%s) has ended with an error: disk full' %
      cluster.tasks[0].address
  ]


def test_silent_workers_are_waited_for_and_then_slow_ones(cluster, monkeypatch):
  with tf.Graph().as_default():
    peers, session, progress = cluster.peers(0, sync=True)
    assert peers.waits_for() == 'an unknown task'
    session.run(tf.assign(progress.steps, [3, 2]))
    peers.checks()[0]()
    address = cluster.tasks[1].address
    assert peers.waits_for() == 'worker 1 (%s)' % address
    session.run(tf.assign(progress.steps, [2, 3]))
    peers.checks()[0]()
    assert peers.waits_for().startswith('worker 0 (')
    silent = [address]
    monkeypatch.setattr(liveness.reachability, 'unreachable', silent.count)
    assert peers.waits_for() == 'worker 1 (%s)' % address
    silent.append(cluster.ps.address)
    assert peers.waits_for() == 'parameter server ' + cluster.ps.address
