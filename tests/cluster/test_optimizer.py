"""Staleness and bytes of a worker; synchronous updates of a chief."""

import contextlib
import threading
import time
import types

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import optimizer as optimizer_lib
from cifar10.cluster import servers
from cifar10.cluster import shared_state
from cifar10.settings import Settings
from tests import clusters


@pytest.fixture(name='quick_polls', autouse=True)
def _quick_polls(monkeypatch):
  monkeypatch.setattr(optimizer_lib, '_POLL_SECS', 0.1)


@contextlib.contextmanager
def sync_chief(target, replicas=1, num_workers=2, backups=0, start=1):
  """A chief of several workers, whose steps take the gradients of `replicas`.

  Yields what the chief has in its graph, whose weight is 1; in the session of
  `session()`, its SyncHook runs the updates.
  """
  task = cluster_spec.Task('worker', 0, ('p:1',), ('w:1',) * num_workers)
  found = types.SimpleNamespace(task=task)
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    found.progress = shared_state.progress(task, last_step=100)
    found.global_step = tf.train.get_or_create_global_step()
    weight = tf.get_variable('w', initializer=1.0)
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.1), replicas, num_workers)
    found.tokens = {}
    for number in range(1, start + 1):
      with optimizer_lib.sync_container(number):
        found.tokens[number] = tf.FIFOQueue(-1, [tf.int64], shapes=[[]],
                                            shared_name='sync_token_q')
    with optimizer_lib.sync_container(start):
      found.step = optimizer.minimize(weight, found.global_step)
    tf.group(optimizer.ready_for_local_init_op)  # Else TensorFlow complains.
    settings = Settings(backup_workers=backups)
    hook = optimizer_lib.SyncHook(optimizer, task, settings,
                                  found.progress.last_step, start)
    scaffold = tf.train.Scaffold(local_init_op=tf.group(
        found.progress.initializer, tf.train.Scaffold.default_local_init_op()))
    found.session = lambda: tf.train.MonitoredSession(
        tf.train.ChiefSessionCreator(scaffold, target), [hook])
    yield found


LIMIT = tf.RunOptions(timeout_in_ms=20000)


@pytest.mark.parametrize('lags', [False, True])
def test_a_worker_whose_token_others_have_taken_ends_at_the_last_step(ps, lags):
  with sync_chief(ps[1]) as chief:
    tokens = chief.tokens[1]
    take_all = tokens.dequeue_up_to(tokens.size())
    take_both, count = tokens.dequeue_many(2), tokens.size()
    (local_step,) = tf.local_variables('sync_rep_local_step')
    be_at = tf.assign(local_step,
                      tf.cast(0, tf.int64) if lags else chief.global_step)
    end = chief.progress.last_step.assign(1)
    with chief.session() as session:
      session.run(chief.step)
      while session.run([chief.global_step, count]) != [1, 1]:
        time.sleep(0.05)
      session.run([take_all, be_at])
      # The other worker takes both tokens, and then the last step is set: one
      # that is in the past already.
      quick = threading.Thread(target=session.run, args=(take_both,),
                               daemon=True)
      if not lags:
        quick.start()
        time.sleep(0.2)
      session.run(end)
      session.run(chief.step, options=LIMIT)
      # A gradient that comes too late is dropped.
      assert session.run(chief.global_step) == (1 if lags else 2)
      if not lags:
        quick.join(20)
        assert not quick.is_alive()


def test_a_chief_that_ends_at_once_leaves_tokens_for_the_others(ps):
  with sync_chief(ps[1]) as chief:
    tokens = chief.tokens[1]
    count, take_both = tokens.size(), tokens.dequeue_many(2)
    take_all = tokens.dequeue_up_to(count)
    end = chief.progress.last_step.assign(1)
    with chief.session() as session:
      session.run(chief.step)
      while not session.run(count):
        time.sleep(0.05)
      session.run([take_all, end])
    with tf.Session(ps[1]) as session:
      session.run(take_both, options=LIMIT)


def test_a_chief_whose_workers_have_left_after_a_signal_ends_alone(
    ps, monkeypatch):
  monkeypatch.setattr(optimizer_lib, '_LAST_STEPS_SECS', 0.5)
  with sync_chief(ps[1], 2, 3, backups=1) as chief:
    end = chief.progress.last_step.assign(2)
    with chief.session() as session:
      session.run(end)
      # One gradient of the two that a step takes.
      session.run(chief.step, options=LIMIT)
      steps = [chief.global_step, chief.progress.last_step]
      assert session.run(steps) == [0, 0]


def test_a_restarted_chief_releases_workers_in_step_with_an_earlier_one(ps):
  with sync_chief(ps[1], start=2) as chief:
    waiting = chief.tokens[1].dequeue()
    are_closed = [queue.is_closed() for queue in chief.tokens.values()]
    end = chief.progress.last_step.assign(0).op
    with chief.session() as session:
      # As at the end of input.
      with pytest.raises(tf.errors.OutOfRangeError):
        with tf.Session(ps[1]) as other:
          other.run(waiting, options=LIMIT)
      assert session.run(are_closed) == [True, False]
      session.run(end)


def built_update(ps, index, gradient, **settings):
  """An asynchronous update of a variable, which is 0, by a WorkerOptimizer.

  Returns the Progress, the variable and the update.
  """
  task = cluster_spec.Task('worker', index, (ps,), ('a:1', 'b:1', 'c:1'))
  with tf.device('/job:ps/task:0/cpu:0'):
    progress = shared_state.progress(task, last_step=100)
    global_step = tf.train.get_or_create_global_step()
    variable = tf.get_variable('v', initializer=tf.zeros(gradient.shape))
  optimizer = tf.train.GradientDescentOptimizer(1.0)
  worker = optimizer_lib.WorkerOptimizer(task, Settings(sync=False, **settings),
                                         progress, 3)
  update = worker.apply(
      lambda pairs: optimizer.apply_gradients(pairs, global_step),
      [(gradient, variable)], global_step, [])
  return progress, variable, update


def test_steps_of_others_since_the_variables_were_read_are_its_staleness(
    monkeypatch):
  ps, _, task, _ = clusters.new_tasks(3)
  # What the worker reads is its own copy, as in a process of its own.
  holder, server = [servers.Server(t, Settings(sync=False)) for t in (ps, task)]
  assert holder.task is ps
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
    progress, v, update = built_update(ps.address, 1, gradient)
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


def test_an_update_rounds_gradients_to_their_type(ps):
  exact = np.array([1 / 3, -1e-3, 5.0], np.float32)
  with tf.Graph().as_default():
    progress, v, update = built_update(ps[0], 0, tf.constant(exact),
                                       grad_dtype='float16')
    with tf.Session(ps[1]) as session:
      session.run([tf.global_variables_initializer(), progress.initializer])
      session.run(update)
      np.testing.assert_array_equal(session.run(v),
                                    -exact.astype(np.float16).astype('f'))
