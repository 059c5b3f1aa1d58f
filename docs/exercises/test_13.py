"""The check of exercise 13."""

from checks import expect
import exercise_13
import numpy as np
import tensorflow.compat.v1 as tf


def test_each_unit_has_its_limit():
  for shape in [4, 2], [5, 5, 3, 2]:
    values = np.random.RandomState(1).normal(size=shape)
    units = values.reshape(-1, 2)  # A view.
    units *= [3, 0.5] / np.linalg.norm(units, axis=0)
    with tf.Graph().as_default(), tf.Session() as session:
      weights = tf.get_variable('weights', initializer=values)
      limit = exercise_13.limit_norms(weights, 1.0)
      session.run(weights.initializer)
      session.run(limit)
      norms = np.linalg.norm(session.run(weights).reshape(-1, 2), axis=0)
    expect(
        np.allclose(norms, [1, 0.5], atol=1e-4),
        'With a limit of 1, norms of 3 and 0.5 must become 1 and 0.5; for '
        'shape %s they become %.2f and %.2f.' % (shape, *norms))
