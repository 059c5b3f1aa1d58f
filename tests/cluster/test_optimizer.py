"""Staleness and bytes of a worker; synchronous updates of a chief."""

import threading
import time

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import optimizer as optimizer_lib
from cifar10.cluster import placement
from cifar10.cluster import servers
from cifar10.cluster import shared_state
from cifar10.settings import Settings
from tests import clusters


def sync_graph(task, replicas_to_aggregate):
  """What a chief has: Progress, global step, optimizer, and a variable."""
  progress = shared_state.progress(task, last_step=100)
  global_step = tf.train.get_or_create_global_step()
  weight = tf.get_variable('w', initializer=1.0)
  optimizer = tf.train.SyncReplicasOptimizer(
      tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate,
      len(task.workers))
  return progress, global_step, optimizer, weight


def sync_step(optimizer, weight, global_step):
  """A step, and operations that take all tokens of workers, or two."""
  with optimizer_lib.sync_container(1):
    step = optimizer.minimize(weight, global_step)
    tokens = tf.FIFOQueue(-1, [tf.int64], shapes=[[]],
                          shared_name='sync_token_q')
  take_all = tokens.dequeue_up_to(tokens.size())
  return step, take_all, tokens.dequeue_many(2)


def sync_session(server, progress, optimizer, hook):
  """The session of a chief with a SyncHook."""
  tf.group(optimizer.ready_for_local_init_op)  # Else TensorFlow complains.
  scaffold = tf.train.Scaffold(local_init_op=tf.group(
      progress.initializer, tf.train.Scaffold.default_local_init_op()))
  return tf.train.MonitoredSession(
      tf.train.ChiefSessionCreator(scaffold, server.target), [hook])


@pytest.fixture(name='quick_polls')
def _quick_polls(monkeypatch):
  monkeypatch.setattr(optimizer_lib, '_POLL_SECS', 0.1)


@pytest.mark.usefixtures('quick_polls')
@pytest.mark.parametrize('lags', [False, True])
def test_a_worker_whose_token_others_have_taken_ends_at_the_last_step(lags):
  address, other = clusters.free_addresses(2)
  task = cluster_spec.Task('worker', 0, (address,), (address, other))
  server = tf.train.Server({'ps': [address]}, job_name='ps', task_index=0)
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    progress, global_step, optimizer, weight = sync_graph(task, 1)
    step, take_all, take_both = sync_step(optimizer, weight, global_step)
    (local_step,) = tf.local_variables('sync_rep_local_step')
    be_at = tf.assign(local_step, tf.cast(0, tf.int64) if lags else global_step)
    end = progress.last_step.assign(1)
    sync_hook = optimizer_lib.SyncHook(optimizer, task, progress, 1, False)
    with sync_session(server, progress, optimizer, sync_hook) as session:
      session.run(step)
      while session.run(global_step) < 1:
        time.sleep(0.1)
      time.sleep(0.5)  # Until the tokens of that step are there.
      session.run([take_all, be_at])
      # The other worker takes both tokens, and then the last step is set: one
      # that is in the past already.
      quick = threading.Thread(target=session.run, args=(take_both,),
                               daemon=True)
      if not lags:
        quick.start()
        time.sleep(0.5)
      session.run(end)
      session.run(step, options=tf.RunOptions(timeout_in_ms=20000))
      # A gradient that comes too late is dropped.
      assert session.run(global_step) == (1 if lags else 2)
      if not lags:
        quick.join(20)
        assert not quick.is_alive()


def test_a_chief_that_ends_at_once_leaves_tokens_for_the_others():
  address, other = clusters.free_addresses(2)
  task = cluster_spec.Task('worker', 0, (address,), (address, other))
  server = tf.train.Server({'ps': [address]}, job_name='ps', task_index=0)
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    progress, global_step, optimizer, weight = sync_graph(task, 1)
    step, take_all, take_both = sync_step(optimizer, weight, global_step)
    end = progress.last_step.assign(1)
    sync_hook = optimizer_lib.SyncHook(optimizer, task, progress, 1, True)
    with sync_session(server, progress, optimizer, sync_hook) as session:
      session.run(step)
      time.sleep(0.5)  # Until the tokens of that step are there.
      session.run([take_all, end])
    with tf.Session(server.target) as session:
      session.run(take_both, options=tf.RunOptions(timeout_in_ms=10000))


@pytest.mark.usefixtures('quick_polls')
def test_a_chief_whose_workers_have_left_after_a_signal_ends_alone(monkeypatch):
  monkeypatch.setattr(optimizer_lib, '_LAST_STEPS_SECS', 0.5)
  address, *others = clusters.free_addresses(3)
  task = cluster_spec.Task('worker', 0, (address,), (address, *others))
  server = tf.train.Server({'ps': [address]}, job_name='ps', task_index=0)
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    progress, global_step, optimizer, weight = sync_graph(task, 2)
    with optimizer_lib.sync_container(1):
      step = optimizer.minimize(weight, global_step)
    end = progress.last_step.assign(2)
    sync_hook = optimizer_lib.SyncHook(optimizer, task, progress, 1, True)
    with sync_session(server, progress, optimizer, sync_hook) as session:
      session.run(end)
      # One gradient of the two that a step takes.
      session.run(step, options=tf.RunOptions(timeout_in_ms=20000))
      assert session.run([global_step, progress.last_step]) == [0, 0]


WORKERS = ('a:1', 'b:1', 'c:1')


def built_update(ps, index, gradients, **settings):
  """A WorkerOptimizer's update of variables that are 0, at a rate of 1.

  `gradients` are tensors. Returns the Progress, the global step, the variables,
  the WorkerOptimizer and the update.
  """
  task = cluster_spec.Task('worker', index, (ps,), WORKERS)
  with tf.device('/job:ps/task:0/cpu:0'):
    progress = shared_state.progress(task, last_step=100)
    global_step = tf.train.get_or_create_global_step()
    variables = [
        tf.get_variable('v%d' % i, initializer=tf.zeros(g.shape))
        for i, g in enumerate(gradients)
    ]
  wrapped = optimizer_lib.WorkerOptimizer(
      tf.train.GradientDescentOptimizer(1.0), task, Settings(**settings),
      progress, 1)
  update = wrapped.apply_gradients(zip(gradients, variables), global_step)
  return progress, global_step, variables, wrapped, update


def ps_server():
  """The address and the target of a parameter server in this process."""
  (address,) = clusters.free_addresses(1)
  server = tf.train.Server({'ps': [address]}, job_name='ps', task_index=0)
  return address, server.target


def test_steps_of_others_since_the_variables_were_read_are_its_staleness(
    monkeypatch):
  ps, *workers = clusters.free_addresses(4)
  task = cluster_spec.Task('worker', 1, (ps,), tuple(workers))
  settings = Settings(sync=False)
  # What the worker reads is its own copy, as in a process of its own.
  holder = servers.Server(task._replace(job='ps', index=0), settings)
  server = servers.Server(task, settings)
  assert holder.task.address == ps
  reads = []
  with tf.Graph().as_default() as graph, tf.device(task.device + '/cpu:0'):
    with tf.device('/job:ps/task:0/cpu:0'):
      global_step = tf.train.get_or_create_global_step()
      # The steps that others take before this one has its gradient.
      others = tf.placeholder(tf.int64, [])
      advanced = tf.assign_add(global_step, others)
    with tf.control_dependencies([advanced]):
      gradient = tf.constant([2.0])
    read_value = global_step.read_value

    def noted_read():
      reads.append(read_value())
      return reads[-1]

    monkeypatch.setattr(global_step, 'read_value', noted_read)
    progress, _, (v,), _, update = built_update(ps, 1, [gradient], sync=False)
    # They take them after this worker has begun.
    advanced.op._add_control_input(reads[0].op)
    (summary,) = graph.get_collection(tf.GraphKeys.SUMMARIES)
    other = tf.scatter_update(progress.staleness, 2, 9)
    with tf.Session(server.target, config=server.config_proto()) as session:
      session.run([tf.global_variables_initializer(), progress.initializer])
      session.run(other)
      for count, total in ((5, 6), (0, 7), (3, 11)):
        session.run(update, {others: count})
        steps, staleness = session.run([progress.steps, progress.staleness])
        assert staleness.tolist() == [0, count, 9]
        assert session.run(global_step) == total
      assert steps.tolist() == [0, 3, 0]
      assert session.run(v).tolist() == [-6.0]
      (mean,) = tf.Summary.FromString(session.run(summary)).value
  assert (mean.tag, mean.simple_value) == ('staleness', 4.0)


def ancestors(operation):
  """All operations that have run before one runs."""
  pending, seen = [operation], set()
  while pending:
    op = pending.pop()
    for before in [t.op for t in op.inputs] + list(op.control_inputs):
      if before not in seen:
        seen.add(before)
        pending.append(before)
  return seen


@pytest.mark.parametrize('sync', [False, True])
def test_starts_of_the_chief_share_variables_but_not_gradients(sync):
  task = cluster_spec.Task('worker', 0, ('p:1',), WORKERS)
  with tf.Graph().as_default() as graph:
    progress = shared_state.progress(task, last_step=100)
    variable = tf.get_variable('v', initializer=tf.zeros([2]))
    optimizer = optimizer_lib.WorkerOptimizer(
        tf.train.MomentumOptimizer(1.0, 0.9), task, Settings(sync=sync),
        progress, 3)
    optimizer.apply_gradients([(tf.ones([2]), variable)],
                              tf.train.get_or_create_global_step())
    kinds = ('VariableV2', 'ConditionalAccumulator', 'VarHandleOp',
             'ResourceConditionalAccumulator')
    containers = {
        op.name: op.get_attr('container')
        for op in graph.get_operations()
        if op.type in kinds
    }
  assert containers['v'] == containers['v/Momentum'] == b''
  assert (b'sync3' in containers.values()) == sync


@pytest.mark.parametrize(
    'sync, kinds',
    [(False, ['AssignAdd', 'AssignAddVariableOp']),
     (True, ['AccumulatorApplyGradient', 'ResourceAccumulatorApplyGradient'])])
def test_a_step_is_counted_only_after_its_staleness_is_read(sync, kinds):
  with tf.Graph().as_default() as graph:
    gradients = [tf.ones([2]), tf.ones([3])]
    built_update('p:1', 1, gradients, sync=sync)
    ops = graph.get_operations()
    (noted,) = [op for op in ops if op.type.endswith('ScatterUpdate')]
    staleness = noted.inputs[2].op
    # In step, the chief counts it once it has all gradients.
    counted = [op for op in ops if op.type in kinds]
    assert len(counted) == (2 if sync else 1)
    assert any(staleness in ancestors(op) for op in counted)


@pytest.mark.parametrize('dtype, size', [('float32', 4), ('bfloat16', 2),
                                         ('float16', 2)])
def test_gradients_are_sent_in_their_type(dtype, size):
  with tf.Graph().as_default(), tf.device('/job:worker/task:1/cpu:0'):
    gradients = [tf.ones([3, 50]), tf.ones([70])]
    *_, update = built_update('p:1', 1, gradients, grad_dtype=dtype, sync=False)
    _, sent, _ = placement.bytes_of_step(update)
  # And a few numbers, such as the index of the worker.
  assert 0 <= sent - size * 220 < 100


def test_an_update_rounds_gradients_to_their_type():
  address, target = ps_server()
  exact = np.array([1 / 3, -1e-3, 5.0], np.float32)
  with tf.Graph().as_default():
    progress, _, (v,), _, update = built_update(address, 0,
                                                [tf.constant(exact)],
                                                grad_dtype='float16',
                                                sync=False)
    with tf.Session(target) as session:
      session.run([tf.global_variables_initializer(), progress.initializer])
      session.run(update)
      np.testing.assert_array_equal(session.run(v),
                                    -exact.astype(np.float16).astype('f'))


@pytest.mark.parametrize('sync, count', [(False, 0), (True, 1)])
def test_only_workers_in_step_need_a_hook(sync, count):
  with tf.Graph().as_default():
    *_, wrapped, _ = built_update('p:1', 0, [tf.ones([2])], sync=sync)
    hooks = wrapped.hooks()
    assert [type(hook) for hook in hooks] == [optimizer_lib.SyncHook] * count


def test_in_step_an_update_is_the_mean_of_all_workers_gradients():
  address, target = ps_server()
  found, barrier = {}, threading.Barrier(3)

  def work(index):
    with tf.Graph().as_default():
      gradients = [tf.constant([3.0 * index, 1.0])]
      progress, _, (v,), wrapped, update = built_update(address, index,
                                                        gradients, sync=True)
      end = progress.last_step.assign(1).op
      local = [tf.train.Scaffold.default_local_init_op()]
      local += [progress.initializer] if index == 0 else []
      scaffold = tf.train.Scaffold(local_init_op=tf.group(*local))
      creator = tf.train.ChiefSessionCreator(scaffold, target)
      if index:
        barrier.wait(30)  # Until the chief has initialized everything.
        creator = tf.train.WorkerSessionCreator(scaffold, target)
      with tf.train.MonitoredSession(creator, wrapped.hooks()) as session:
        if not index:
          barrier.wait(30)
        session.run(update, options=tf.RunOptions(timeout_in_ms=30000))
        found[index] = session.run(v).tolist()
        session.run(end)

  threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join(60)
  assert found == dict.fromkeys(range(3), [-3.0, -1.0])


def test_a_restarted_chief_releases_workers_in_step_with_an_earlier_one():
  address, target = ps_server()
  task = cluster_spec.Task('worker', 0, (address,), (address, 'b:1'))
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    progress, global_step, optimizer, weight = sync_graph(task, 1)
    with optimizer_lib.sync_container(2):
      optimizer.minimize(weight, global_step)
    queues = []
    for start in (1, 2):
      with optimizer_lib.sync_container(start):
        queues.append(
            tf.FIFOQueue(-1, [tf.int64], shapes=[[]],
                         shared_name='sync_token_q'))
    waiting = queues[0].dequeue()
    are_closed = [queue.is_closed() for queue in queues]
    end = progress.last_step.assign(0).op
    hook = optimizer_lib.SyncHook(optimizer, task, progress, 2, True)
    with sync_session(Target(target), progress, optimizer, hook) as session:
      # As at the end of input.
      with pytest.raises(tf.errors.OutOfRangeError):
        with tf.Session(target) as other:
          other.run(waiting, options=tf.RunOptions(timeout_in_ms=20000))
      assert session.run(are_closed) == [True, False]
      session.run(end)


class Target:
  """A server, by its target."""

  def __init__(self, target):
    self.target = target
