"""Muon, against its formula in numpy."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.optim import optimizers


@pytest.mark.parametrize('shape', [(20, 8), (8, 20), (9, 9)])
def test_singular_vectors_stay_and_singular_values_come_near_one(shape):
  random = np.random.RandomState(1)
  u, _ = np.linalg.qr(random.randn(shape[0], min(shape)))
  v, _ = np.linalg.qr(random.randn(shape[1], min(shape)))
  values = np.linspace(0.3, 1.0, min(shape))
  matrix = (u * values) @ v.T
  with tf.Session() as session:
    found = session.run(optimizers.orthogonal(tf.constant(matrix, tf.float32)))
  rotated = u.T @ found @ v
  diagonal = np.diag(rotated)
  np.testing.assert_allclose(rotated - np.diag(diagonal), 0, atol=1e-4)
  assert 0.5 < diagonal.min() and diagonal.max() < 1.5
  np.testing.assert_allclose(found, polynomial(matrix), atol=1e-5)
  # A step does not depend on the size of the gradient.
  with tf.Session() as session:
    again = session.run(
        optimizers.orthogonal(tf.constant(50 * matrix, tf.float32)))
  np.testing.assert_allclose(again, found, atol=1e-4)


def polynomial(matrix):
  x = matrix / np.linalg.norm(matrix)
  for _ in range(3):
    square = x @ x.T
    x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
  return x


def test_steps_are_the_formula():
  random = np.random.RandomState(2)
  start = random.randn(3, 3, 2, 6)
  target = random.randn(3, 3, 2, 6)
  w = tf.get_variable('w', initializer=tf.constant(start, tf.float32))
  loss = tf.reduce_sum(tf.square(w - tf.constant(target, tf.float32))) / 2
  step = optimizers.MuonOptimizer(tf.constant(0.1), 0.6).minimize(loss)
  expected, momentum = start, 0
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4):
      session.run(step)
      gradient = expected - target
      momentum = 0.6 * momentum + gradient
      rows = (gradient + 0.6 * momentum).reshape(-1, 6)  # [18, 6]
      scaled = expected * np.sqrt(6) / np.linalg.norm(expected)
      update = polynomial(rows.T).T.reshape(start.shape)
      expected = scaled - 0.1 * update
      np.testing.assert_allclose(session.run(w), expected, atol=1e-4)
