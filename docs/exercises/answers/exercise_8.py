"""Exercise 8: a QueueRunner and a Coordinator by hand."""

import tensorflow.compat.v1 as tf


def drain(session, queue, enqueue_ops):
  """Runs each operation in a thread of its own; returns all elements.

  An operation that has no more elements raises OutOfRangeError. At the end, no
  thread is left, and any other error of a thread is raised here.
  """
  found, dequeue = [], queue.dequeue()
  coord = tf.train.Coordinator()
  runner = tf.train.QueueRunner(queue, enqueue_ops)
  threads = runner.create_threads(session, coord, daemon=True, start=True)
  try:
    while True:
      found.append(session.run(dequeue))
  except tf.errors.OutOfRangeError:
    coord.request_stop()
  coord.join(threads)
  return found
