"""The check of exercise 11."""

from checks import expect
import exercise_11
import numpy as np
import tensorflow.compat.v1 as tf


def test_large_numbers_are_clipped_and_small_ones_kept():
  weights = tf.get_variable('weights', initializer=[1.0, 1.0, 1.0])
  tf.get_variable('unused', initializer=1.0)
  loss = tf.reduce_sum(weights * [300.0, -300.0, 0.25])
  optimizer = tf.train.GradientDescentOptimizer(0.1)
  step = exercise_11.clipped_step(optimizer, loss, 1.0)
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(step)
    found = session.run(weights)
  expect(
      np.allclose(found, [0.9, 1.1, 0.975]),
      'At a rate of 0.1, the gradients 300, -300, 0.25 clipped to 1 lead from '
      '1, 1, 1 to 0.9, 1.1, 0.975; found %s.' %
      ', '.join('%.3f' % number for number in found))
