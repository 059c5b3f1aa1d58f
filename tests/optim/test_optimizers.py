"""Optimizers, against their formulas."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.optim import optimizers
from cifar10.settings import FIELDS
from cifar10.settings import Settings
from tests import graphs

START = np.array([0.5, -1.0, 2.0])
RATE = 0.1
STEPS = 4


def gradient(w):
  """Of the function that is minimized, sum (w - 1) ** 4 / 4."""
  return (w - 1)**3


def sgd(w, state, t):
  return w - RATE * gradient(w)


def momentum(w, state, t):
  state['m'] = 0.8 * state.get('m', 0) + gradient(w)
  return w - RATE * state['m']


def nesterov(w, state, t):
  state['m'] = 0.8 * state.get('m', 0) + gradient(w)
  return w - RATE * (gradient(w) + 0.8 * state['m'])


def adagrad(w, state, t):
  # TensorFlow begins at 0.1.
  state['v'] = state.get('v', 0.1) + gradient(w)**2
  return w - RATE * gradient(w) / np.sqrt(state['v'])


def rmsprop(w, state, t):
  # TensorFlow begins at 1.
  state['v'] = 0.7 * state.get('v', 1) + 0.3 * gradient(w)**2
  # Within the momentum, each step has the rate of its own time.
  state['m'] = (0.8 * state.get('m', 0) +
                RATE * gradient(w) / np.sqrt(state['v'] + 1e-3))
  return w - state['m']


def adam(w, state, t):
  state['m'] = 0.6 * state.get('m', 0) + 0.4 * gradient(w)
  state['v'] = 0.7 * state.get('v', 0) + 0.3 * gradient(w)**2
  mean, square = state['m'] / (1 - 0.6**t), state['v'] / (1 - 0.7**t)
  # TensorFlow adds epsilon before the correction of the square.
  epsilon = 1e-3 / np.sqrt(1 - 0.7**t)
  return w - RATE * mean / (np.sqrt(square) + epsilon)


FORMULAS = {
    'sgd': sgd,
    'momentum': momentum,
    'nesterov': nesterov,
    'adagrad': adagrad,
    'rmsprop': rmsprop,
    'adam': adam
}
SETTINGS = {
    'momentum': 0.8,
    'rmsprop_decay': 0.7,
    'adam_beta1': 0.6,
    'adam_beta2': 0.7,
    'epsilon': 1e-3
}


# For the others see test_ftrl.py and below.
@pytest.mark.parametrize(
    'name',
    sorted({*FIELDS['optimizer'].metadata['choices']} - {'ftrl', 'muon'}))
def test_steps_are_the_formulas(name):
  settings = Settings(optimizer=name, **SETTINGS)
  w = tf.get_variable('w', initializer=tf.constant(START, tf.float32))
  optimizer = optimizers.create(settings, tf.constant(RATE))
  step = optimizer.minimize(tf.reduce_sum((w - 1)**4) / 4)
  expected, state = START, {}
  with graphs.session() as session:
    for t in range(1, STEPS + 1):
      session.run(step)
      expected = FORMULAS[name](expected, state, t)
      np.testing.assert_allclose(session.run(w), expected, rtol=2e-4)


@pytest.mark.parametrize('shape', [(20, 8), (8, 20), (9, 9)])
def test_singular_vectors_stay_and_singular_values_come_near_one(shape):
  random = np.random.RandomState(1)
  u, _ = np.linalg.qr(random.randn(shape[0], min(shape)))
  v, _ = np.linalg.qr(random.randn(shape[1], min(shape)))
  values = np.linspace(0.3, 1.0, min(shape))
  matrix = (u * values) @ v.T
  found = graphs.run(optimizers.orthogonal(tf.constant(matrix, tf.float32)))
  rotated = u.T @ found @ v
  diagonal = np.diag(rotated)
  np.testing.assert_allclose(rotated - np.diag(diagonal), 0, atol=1e-4)
  assert 0.5 < diagonal.min() and diagonal.max() < 1.5
  np.testing.assert_allclose(found, polynomial(matrix), atol=1e-5)
  # A step does not depend on the size of the gradient.
  again = graphs.run(optimizers.orthogonal(tf.constant(50 * matrix,
                                                       tf.float32)))
  np.testing.assert_allclose(again, found, atol=1e-4)


def polynomial(matrix):
  x = matrix / np.linalg.norm(matrix)
  for _ in range(3):
    square = x @ x.T
    x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
  return x


def test_steps_of_muon_are_the_formula():
  random = np.random.RandomState(2)
  start = random.randn(3, 3, 2, 6)
  target = random.randn(3, 3, 2, 6)
  w = tf.get_variable('w', initializer=tf.constant(start, tf.float32))
  loss = tf.reduce_sum(tf.square(w - tf.constant(target, tf.float32))) / 2
  step = optimizers.MuonOptimizer(tf.constant(0.1), 0.6).minimize(loss)
  expected, momentum = start, 0
  with graphs.session() as session:
    for _ in range(4):
      session.run(step)
      gradient = expected - target
      momentum = 0.6 * momentum + gradient
      rows = (gradient + 0.6 * momentum).reshape(-1, 6)  # [18, 6]
      scaled = expected * np.sqrt(6) / np.linalg.norm(expected)
      update = polynomial(rows.T).T.reshape(start.shape)
      expected = scaled - 0.1 * update
      np.testing.assert_allclose(session.run(w), expected, atol=1e-4)


NAMES = ('conv1/weights', 'conv1/biases', 'softmax_linear/weights')


def steps_of(gradients=1.0, **settings):
  """How far one step moves each variable, from 1, for equal gradients."""
  settings = Settings(**settings)
  with tf.Graph().as_default(), tf.Session() as session:
    variables = [tf.get_variable(name, initializer=[[1.0]]) for name in NAMES]
    step = optimizers.create(settings, tf.constant(RATE)).apply_gradients([
        (tf.constant([[gradients]]), variable) for variable in variables
    ])
    session.run(tf.global_variables_initializer())
    session.run(step)
    return [1 - value[0][0] for value in session.run(variables)]


@pytest.mark.parametrize('name', ['sgd', 'adam'])
def test_biases_and_the_last_layer_have_rates_of_their_own(name):
  found = steps_of(optimizer=name, bias_rate=5.0, softmax_rate=0.5)
  np.testing.assert_allclose(found, [RATE, 5 * RATE, RATE / 2], rtol=1e-3)
  same = steps_of(optimizer=name)
  np.testing.assert_allclose(same, [RATE] * 3, rtol=1e-3)


def test_muon_is_for_the_weights_of_hidden_layers():
  found = steps_of(optimizer='muon', momentum=0.5, bias_rate=5.0,
                   softmax_rate=0.5)
  ((x,),) = polynomial(np.ones([1, 1]))
  nesterov_step = RATE * (1 + 0.5)
  expected = [RATE * x, 5 * nesterov_step, nesterov_step / 2]
  np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_what_muon_does_not_train_decays_alike_at_any_rate():
  found = steps_of(gradients=0.0, optimizer='muon', muon_decay=0.2,
                   momentum=0.5, bias_rate=5.0, softmax_rate=0.5)
  nesterov_step = RATE * 0.2 * (1 + 0.5)
  np.testing.assert_allclose(found, [0, nesterov_step, nesterov_step],
                             atol=1e-6)
  still = steps_of(optimizer='muon', muon_decay=0.2, momentum=0.5,
                   bias_rate=0.0)
  assert still[1] == 0


def completed(**settings):
  return cifar10.with_constants(Settings(**settings))


def test_each_optimizer_has_a_learning_rate_of_its_own():
  assert completed().learning_rate == 0.1
  assert completed(optimizer='adam').learning_rate == 0.001
  assert completed(optimizer='adam', learning_rate=0.0).learning_rate == 0
  names = {*FIELDS['optimizer'].metadata['choices']} - {'sgd'}
  assert set(optimizers.LEARNING_RATES) == names
  assert Settings().learning_rate is None


def test_rmsprop_has_no_momentum_unless_it_is_given():
  assert completed(optimizer='rmsprop').momentum == 0
  assert completed(optimizer='rmsprop', momentum=0.7).momentum == 0.7
  for name in ('momentum', 'nesterov', 'muon'):
    assert completed(optimizer=name).momentum == 0.9
  assert completed(optimizer='nesterov', momentum=0.0).momentum == 0
