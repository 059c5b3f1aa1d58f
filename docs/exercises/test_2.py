"""The check of exercise 2."""

from checks import expect
import exercise_2
import numpy as np
import tensorflow.compat.v1 as tf


def test_locally_connected():
  x = tf.random_normal([16, 6, 6, 8], seed=1)
  found = exercise_2.locally_connected(x, 4, 'local3')
  expect(found.shape.as_list() == [16, 6, 6, 4],
         'The output must be [16, 6, 6, 4]; it is %s.' % found.shape)
  count = sum(v.shape.num_elements() for v in tf.trainable_variables())
  weights = 6 * 6 * 9 * 8 * 4
  expect(
      count in (weights + 4, weights + 6 * 6 * 4),
      '6 x 6 positions need 6 * 6 * 9 * 8 * 4 = %d weights, and biases; found '
      '%d parameters.' % (weights, count))
  gradient = tf.gradients(found[:, 2, 3], x)[0]
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    uses = abs(session.run(gradient)).sum(axis=(0, 3)) > 0
  window = np.zeros([6, 6], bool)
  window[1:4, 2:5] = True
  expect((uses == window).all(),
         'The output at (2, 3) must depend on rows 1 to 3 and columns 2 to 4 '
         'only, and on all of these.')
  expect(tf.get_collection('losses'),
         "The collection 'losses' must hold the weight decay of the layer.")
