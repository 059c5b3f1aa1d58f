"""The check of exercise 16."""

import socket

from checks import expect
import exercise_16
import tensorflow.compat.v1 as tf


def free_address():
  with socket.socket() as probe:
    probe.bind(('localhost', 0))
    return 'localhost:%d' % probe.getsockname()[1]


def test_a_worker_gets_what_another_one_puts():
  cluster = tf.train.ClusterSpec({
      'ps': [free_address()],
      'worker': [free_address(), free_address()]
  })
  servers = [
      tf.train.Server(cluster, job, index)
      for job, index in [('ps', 0), ('worker', 0), ('worker', 1)]
  ]
  with tf.Graph().as_default(), tf.Session(servers[1].target) as session:
    session.run(exercise_16.shared_queue(0).enqueue(42))
  options = tf.RunOptions(timeout_in_ms=2000)
  with tf.Graph().as_default(), tf.Session(servers[2].target) as session:
    try:
      found = session.run(
          exercise_16.shared_queue(1).dequeue(), options=options)
    except tf.errors.DeadlineExceededError:
      found = 'nothing'
  expect(
      found == 42,
      'Worker 0 puts 42 into the queue; worker 1 must get it, but gets %s.' %
      found)
