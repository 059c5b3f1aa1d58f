"""What the tasks of a cluster share: found by name, and in no checkpoint."""

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import shared_state
from tests import clusters


@pytest.fixture(scope='module', name='ps')
def _ps():
  """Two parameter servers in this process: their addresses, and one's target.

  The servers live as long as the process.
  """
  addresses = tuple(clusters.free_addresses(2))
  servers = [
      tf.train.Server({'ps': addresses}, job_name='ps', task_index=i)
      for i in range(2)
  ]
  return addresses, servers[0].target


@pytest.fixture(name='task')
def _task(ps):
  """Worker 1 of three, whose parameter servers hold nothing yet."""
  addresses, target = ps
  tf.Session.reset(target, ['shared'])
  return cluster_spec.Task('worker', 1, addresses, ('a:1', 'b:1', 'c:1'))


def session_of_own(ps):
  """A session in a graph of its own, as another task has it."""
  return tf.Session(ps[1], graph=tf.Graph())


def test_tasks_find_the_progress_of_each_other_by_its_name(ps, task):
  with session_of_own(ps) as chief, chief.graph.as_default():
    tf.Variable(1.0)  # Graphs of tasks differ.
    with tf.name_scope('train'), tf.device('/job:ps/task:1'):
      progress = shared_state.progress(task, last_step=77)
    chief.run(progress.initializer)
    chief.run([
        tf.scatter_add(progress.steps, 2, 5),
        tf.scatter_update(progress.staleness, 1, 4)
    ])
  with session_of_own(ps) as worker, worker.graph.as_default():
    progress = shared_state.progress(task, last_step=0)
    steps, staleness, last_step = worker.run(list(progress))
    assert steps.tolist() == [0, 0, 5] and staleness.tolist() == [0, 4, 0]
    assert last_step == 77
    assert {v.device for v in progress} == {'/job:ps/task:0/device:CPU:0'}


def test_the_progress_is_initialized_once_all_of_it_is(ps, task):
  with session_of_own(ps) as session, session.graph.as_default():
    progress = shared_state.progress(task, last_step=1)
    is_initialized = progress.is_initialized()
    found = [session.run(is_initialized)]
    for variable in progress:
      session.run(variable.initializer)
      found.append(session.run(is_initialized))
  assert found == [False, False, False, True]


def test_no_checkpoint_holds_what_is_shared():
  with tf.Graph().as_default() as graph:
    task = cluster_spec.Task('worker', 0, ('a:1',), ('b:1',))
    shared_state.progress(task, last_step=1).is_initialized()
    shared_state.Notice('run')
    shared_state.membership_queue(0)
    assert graph.get_all_collection_keys() == []
    # Nor would another container's reset or restore reach it.
    kept = [o for o in graph.get_operations() if 'container' in o.node_def.attr]
    assert len(kept) == 5
    assert {o.get_attr('container') for o in kept} == {b'shared'}


def test_a_notice_is_read_as_it_was_written_last(ps, task):
  values = [{'chief_start': 2, 'problem': None}, [1, 0.5, True], 'Grüße\n', '']
  with session_of_own(ps) as chief, session_of_own(ps) as worker:
    with worker.graph.as_default():
      other, notice = map(shared_state.Notice, ('ending', 'run'))
    with chief.graph.as_default():
      written = shared_state.Notice('run')
    assert notice.read(worker) is None
    for value in values:
      written.write(chief, value)
      assert notice.read(worker) == value
    assert other.read(worker) is None


def test_each_server_hears_of_all_that_join_and_leave_in_their_order(ps, task):
  sent = [(0, True), (2, True), (0, False), (0, True)]
  with session_of_own(ps) as worker, worker.graph.as_default():
    for message in sent:
      worker.run(
          [shared_state.membership_queue(i).enqueue(message) for i in range(2)])
  with session_of_own(ps) as server, server.graph.as_default():
    for i in range(2):
      queue = shared_state.membership_queue(i)
      assert server.run(queue.size()) == 4
      assert list(zip(*server.run(queue.dequeue_many(4)))) == sent
