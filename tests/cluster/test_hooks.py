"""Hooks of a worker."""

import threading
import time

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import hooks
from cifar10.cluster import shared_state
from tests import clusters


def test_a_step_has_a_time_limit_and_saving_has_none():
  never = tf.FIFOQueue(1, [tf.int32]).dequeue()
  with tf.train.MonitoredSession(hooks=[hooks.TimeLimitHook(200)]) as session:
    with pytest.raises(tf.errors.DeadlineExceededError):
      session.run(never)


def sync_graph(task, replicas_to_aggregate):
  """What a chief has: Progress, global step, optimizer, and a variable."""
  progress = shared_state.progress(task, last_step=100)
  global_step = tf.train.get_or_create_global_step()
  weight = tf.get_variable('w', initializer=1.0)
  optimizer = tf.train.SyncReplicasOptimizer(
    tf.train.GradientDescentOptimizer(0.1),
    replicas_to_aggregate,
    len(task.workers),
  )
  return progress, global_step, optimizer, weight


def sync_step(optimizer, weight, global_step):
  """A step, and operations that take all tokens of workers, or two."""
  with hooks.sync_container(1):
    step = optimizer.minimize(weight, global_step)
    tokens = tf.FIFOQueue(
      -1, [tf.int64], shapes=[[]], shared_name='sync_token_q'
    )
  take_all = tokens.dequeue_up_to(tokens.size())
  return step, take_all, tokens.dequeue_many(2)


def sync_session(server, progress, optimizer, hook):
  """The session of a chief with a SyncHook."""
  tf.group(optimizer.ready_for_local_init_op)  # Else TensorFlow complains.
  scaffold = tf.train.Scaffold(
    local_init_op=tf.group(
      progress.initializer, tf.train.Scaffold.default_local_init_op()
    )
  )
  return tf.train.MonitoredSession(
    tf.train.ChiefSessionCreator(scaffold, server.target), [hook]
  )


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
    sync_hook = hooks.SyncHook(optimizer, task, progress, 1, False)
    with sync_session(server, progress, optimizer, sync_hook) as session:
      session.run(step)
      while session.run(global_step) < 1:
        time.sleep(0.1)
      time.sleep(0.5)  # Until the tokens of that step are there.
      session.run([take_all, be_at])
      # The other worker takes both tokens, and then the last step is set: one
      # that is in the past already.
      quick = threading.Thread(
        target=session.run, args=(take_both,), daemon=True
      )
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
    sync_hook = hooks.SyncHook(optimizer, task, progress, 1, True)
    with sync_session(server, progress, optimizer, sync_hook) as session:
      session.run(step)
      time.sleep(0.5)  # Until the tokens of that step are there.
      session.run([take_all, end])
    with tf.Session(server.target) as session:
      session.run(take_both, options=tf.RunOptions(timeout_in_ms=10000))


def test_a_chief_whose_workers_have_left_after_a_signal_ends_alone():
  address, *others = clusters.free_addresses(3)
  task = cluster_spec.Task('worker', 0, (address,), (address, *others))
  server = tf.train.Server({'ps': [address]}, job_name='ps', task_index=0)
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    progress, global_step, optimizer, weight = sync_graph(task, 2)
    with hooks.sync_container(1):
      step = optimizer.minimize(weight, global_step)
    end = progress.last_step.assign(2)
    sync_hook = hooks.SyncHook(optimizer, task, progress, 1, True)
    with sync_session(server, progress, optimizer, sync_hook) as session:
      session.run(end)
      # One gradient of the two that a step takes.
      session.run(step, options=tf.RunOptions(timeout_in_ms=20000))
      assert session.run([global_step, progress.last_step]) == [0, 0]
