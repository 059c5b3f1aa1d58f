"""FTRL that begins at the initial weights, against algorithm 1 in numpy."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.optim import optimizers
from cifar10.settings import Settings
from cifar10.store import checkpoints
from tests import graphs

L1, L2 = 0.3, 0.05
# They cross 0, stay there, and come from there.
START = np.array([0.5, -0.02, 0.03, -0.3, 0.0, 0.0])
GRADIENTS = np.array([[0.1, -0.2, 1.0, -0.5, 0.1, 0.4],
                      [0.2, -0.5, -0.1, 0.1, 0.1, 0.1],
                      [-0.3, 0.3, -0.2, 2.0, -0.4, -0.3],
                      [0.1, -0.9, -1.5, 0.1, 0.05, -1.0],])


class Problem:
  """A variable, a placeholder for its gradient, and one for the rate."""

  def __init__(self, start=START, l1=L1, l2=L2, **variable):
    self.w = tf.get_variable('w', initializer=tf.constant(start, tf.float32),
                             **variable)
    self.gradient = tf.placeholder(tf.float32, [len(start)])
    self.rate = tf.placeholder(tf.float32, [])
    optimizer = optimizers.create(
        Settings(optimizer='ftrl', ftrl_l1=l1, ftrl_l2=l2), self.rate)
    self.step = optimizer.apply_gradients([(self.gradient, self.w)])
    self.session = graphs.session()

  def after(self, gradient, rate):
    """The weights after a step."""
    self.session.run(self.step, {self.gradient: gradient, self.rate: rate})
    return self.session.run(self.w)


def algorithm_1(rate):
  """Yields the weights after each of GRADIENTS."""
  n = np.full_like(START, 0.1)
  z = -(np.sqrt(n) / rate + 2 * L2) * START - L1 * np.sign(START)
  w = START
  for g in GRADIENTS:
    sigma = (np.sqrt(n + g**2) - np.sqrt(n)) / rate
    z, n = z + g - sigma * w, n + g**2
    w = -(z - np.sign(z) * L1) / (np.sqrt(n) / rate + 2 * L2)
    w = np.where(np.abs(z) <= L1, 0, w)
    yield w, n, z


@pytest.mark.parametrize('use_resource', [False, True])
@pytest.mark.parametrize('rate', [0.05, 0.5])
def test_steps_are_those_of_algorithm_1(rate, use_resource):
  problem = Problem(use_resource=use_resource)
  zeros = set()
  for gradient, (w, n, z) in zip(GRADIENTS, algorithm_1(rate)):
    found = problem.after(gradient, rate)
    np.testing.assert_allclose(found, w, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(found == 0, w == 0)
    values = {
        v.op.name: value for v, value in zip(
            tf.global_variables(), problem.session.run(tf.global_variables()))
    }
    assert set(values) == {'w', 'w/Ftrl', 'w/Ftrl_1'}  # As TensorFlow's.
    np.testing.assert_allclose(values['w/Ftrl'], n, rtol=1e-5)
    np.testing.assert_allclose(values['w/Ftrl_1'], z, rtol=1e-4, atol=1e-5)
    zeros.add(tuple(w == 0))
  assert len(zeros) > 1


def test_it_goes_on_from_a_checkpoint_of_tensorflows():
  theirs = tf.get_variable('theirs', initializer=tf.constant(START, tf.float32))
  gradient = tf.placeholder(tf.float32, [len(START)])
  optimizer = tf.train.FtrlOptimizer(0.5, l1_regularization_strength=L1,
                                     l2_regularization_strength=L2)
  step = optimizer.apply_gradients([(gradient, theirs)])
  problem = Problem()
  problem.session.run(step, {gradient: GRADIENTS[0]})
  names = {v.op.name: v for v in tf.global_variables()}
  for name in ('', '/Ftrl', '/Ftrl_1'):
    problem.session.run(tf.assign(names['w' + name], names['theirs' + name]))
  for g in GRADIENTS[1:]:
    problem.session.run(step, {gradient: g})
    np.testing.assert_allclose(problem.after(g, 0.5),
                               problem.session.run(theirs), rtol=1e-4)


@pytest.mark.parametrize('l1, l2', [(0.0, 0.0), (L1, L2), (20.0, 20.0)])
def test_no_gradient_is_no_change(l1, l2):
  problem = Problem(l1=l1, l2=l2)
  start = START.astype(np.float32)
  for rate in (0.5, 0.5, 0.001, 3.0, 1e-20, 0.0):
    found = problem.after(np.zeros_like(START), rate)
    np.testing.assert_array_equal(found, start)


def test_a_rate_that_falls_shortens_steps_only():
  problem = Problem(l1=0.0, l2=0.0)
  before = problem.after(GRADIENTS[0], 0.5)
  after = problem.after(GRADIENTS[1], 0.005)
  squares = 0.1 + GRADIENTS[0]**2 + GRADIENTS[1]**2
  expected = -0.005 * GRADIENTS[1] / np.sqrt(squares)
  np.testing.assert_allclose(after - before, expected, rtol=1e-3, atol=1e-7)
  np.testing.assert_array_equal(problem.after(GRADIENTS[2], 0.0), after)


def test_weights_that_are_loaded_are_the_start():
  problem = Problem()
  loaded = START[::-1].astype(np.float32)
  problem.w.load(loaded, problem.session)
  zero = np.zeros_like(START)
  np.testing.assert_array_equal(problem.after(zero, 0.5), loaded)


def test_parts_of_a_variable_have_parts_of_its_slots():
  with tf.variable_scope('', partitioner=tf.fixed_size_partitioner(2)):
    w = tf.get_variable('w', [6], initializer=tf.ones_initializer())
  settings = Settings(optimizer='ftrl', ftrl_l1=0.0, ftrl_l2=0.0)
  step = optimizers.create(settings, tf.constant(0.1)).minimize(
      tf.reduce_sum(tf.convert_to_tensor(w)))
  shapes = checkpoints.expected_shapes(tf.global_variables())
  assert shapes == {'w': [6], 'w/Ftrl': [6], 'w/Ftrl_1': [6]}
  with graphs.session() as session:
    session.run(step)
    found = session.run(tf.convert_to_tensor(w))
  np.testing.assert_allclose(found, 1 - 0.1 / np.sqrt(1.1), rtol=1e-5)
