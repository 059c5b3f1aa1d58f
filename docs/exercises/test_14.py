"""The check of exercise 14."""

import time

from checks import expect
import exercise_14
import numpy as np
import tensorflow.compat.v1 as tf


def slow():
  """A slow gradient: an update that does not wait for it comes first."""
  time.sleep(0.1)
  return np.float32(4)


def test_the_averages_are_those_of_the_new_variables():
  weight = tf.get_variable('weight', initializer=16.0, use_resource=True)
  averages = tf.train.ExponentialMovingAverage(0.5)
  step = exercise_14.train_op(tf.train.GradientDescentOptimizer(1.0),
                              weight * tf.py_func(slow, [], tf.float32),
                              averages)
  # Two threads of its own: with one, as on a single core, the update waits.
  config = tf.ConfigProto(use_per_session_threads=True,
                          inter_op_parallelism_threads=2)
  with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    found = []
    for _ in range(3):
      session.run(step)
      found.append(session.run(averages.average(weight)))
  expect(
      found == [14, 11, 7.5],
      'The weight goes from 16 to 12, 8, 4, so its average, with a decay of '
      '0.5, to 14, 11, 7.5; found %s.' % ', '.join(map(str, found)))
