"""What the tasks of a cluster share: found by name, and in no checkpoint."""

import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import shared_state


def session_of_own(ps):
  """A session in a graph of its own, as another task has it."""
  return tf.Session(ps[1], graph=tf.Graph())


def test_tasks_find_the_progress_of_each_other_by_its_name(ps):
  task = cluster_spec.Task('worker', 1, ps[:1], ('a:1', 'b:1', 'c:1'))
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
    steps, staleness, last_step, is_to_end = worker.run(list(progress))
    assert steps.tolist() == [0, 0, 5] and staleness.tolist() == [0, 4, 0]
    assert last_step == 77 and is_to_end == 0
    assert {v.device for v in progress} == {'/job:ps/task:0/device:CPU:0'}


def test_no_checkpoint_holds_what_is_shared(graph):
  task = cluster_spec.Task('worker', 0, ('a:1',), ('b:1',))
  shared_state.progress(task, last_step=1).is_initialized()
  shared_state.Notice('run')
  shared_state.membership_queue(0)
  assert graph.get_all_collection_keys() == []
  # Nor would another container's reset or restore reach it.
  kept = [o for o in graph.get_operations() if 'container' in o.node_def.attr]
  assert len(kept) == 6
  assert {o.get_attr('container') for o in kept} == {b'shared'}
