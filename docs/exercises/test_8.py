"""The check of exercise 8."""

import threading

from checks import expect
import exercise_8
import tensorflow.compat.v1 as tf

# A queue that nothing fills would wait forever.
CONFIG = tf.ConfigProto(operation_timeout_in_ms=2000)


def numbers(first):
  """An operation that gives three numbers, then OutOfRangeError."""
  data = tf.data.Dataset.range(first, first + 3)
  return tf.data.make_one_shot_iterator(data).get_next()


def drain(sources):
  """The numbers that the exercise finds, sorted."""
  queue = tf.FIFOQueue(2, [tf.int64], [[]])
  enqueue_ops = [queue.enqueue(source) for source in sources]
  with tf.Session(config=CONFIG) as session:
    return sorted(exercise_8.drain(session, queue, enqueue_ops))


def test_all_elements_arrive_and_all_threads_end():
  before = threading.active_count()
  try:
    found = drain([numbers(10), numbers(20)])
  except tf.errors.DeadlineExceededError:
    found = []
  expect(found == [10, 11, 12, 20, 21, 22],
         'Two operations give 10, 11, 12 and 20, 21, 22; found %s.' % found)
  left = threading.active_count() - before
  expect(left == 0, 'No thread must be left; %d are left.' % left)


def test_the_error_of_a_thread_is_raised():
  bad = tf.py_func(lambda: 1 // 0, [], tf.int64)
  bad.set_shape([])
  try:
    drain([numbers(10), bad])
  except (tf.errors.OpError, ZeroDivisionError) as error:
    found = str(error)
  else:
    found = 'nothing'
  expect('ZeroDivisionError' in found,
         'The error of a thread must be raised: coord.join() does so.')
