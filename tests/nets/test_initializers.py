"""Initial weights: their variance, by the numbers of inputs and outputs."""

import itertools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.nets import variable_scope
from cifar10.settings import Settings

# The inputs and outputs of a unit, counted by hand.
FANS = {
    'conv2/weights': (5 * 5 * 64, 5 * 5 * 64),
    'local3/weights': (2304, 384),
    'softmax_linear/weights': (192, 10)
}
SHAPES = {
    'conv2/weights': [5, 5, 64, 64],
    'local3/weights': [2304, 384],
    'softmax_linear/weights': [192, 10]
}
LOCAL_FANS = {
    'local3/weights': (3 * 3 * 64, 3 * 3 * 64),
    'local4/weights': (3 * 3 * 64, 3 * 3 * 32)
}
DISTRIBUTIONS = ['normal', 'uniform']
FACTOR = {'xavier': 1, 'he': 2, 'lecun': 1}
SHARE = {
    'in': lambda fan_in, fan_out: fan_in,
    'out': lambda fan_in, fan_out: fan_out,
    'mean': lambda fan_in, fan_out: (fan_in + fan_out) / 2
}
SHARE_OF = {'xavier': 'mean', 'he': 'in', 'lecun': 'in'}


def initial_values(top_layers='full', **settings):
  config = Settings(top_layers=top_layers, **settings)
  with variable_scope.training_scope(config):
    networks.inference(tf.zeros([1, 24, 24, 3]), config)
  variables = {v.op.name: v for v in tf.trainable_variables()}
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    return session.run(variables)


def check(weights, variance, distribution):
  """Checks the mean, the variance and the largest of some weights."""
  # Four standard errors, of a normal distribution.
  bound = 4 * np.sqrt(2 / weights.size)
  assert abs(weights.var() / variance - 1) < bound
  assert abs(weights.mean()) < 4 * np.sqrt(variance / weights.size)
  limit = {'uniform': np.sqrt(3), 'normal': 2 / 0.8796}[distribution]
  largest = np.abs(weights).max() / np.sqrt(variance)
  assert 0.95 * limit < largest < 1.001 * limit


@pytest.mark.parametrize('name', sorted(FACTOR))
def test_the_variance_is_the_papers(name):
  cases = list(itertools.product(['default', *SHARE], FANS, DISTRIBUTIONS))
  drawn = []
  for fan, variable, distribution in cases:
    initializer = variable_scope.initializer(
        Settings(initializer=name, initializer_fan=fan,
                 initializer_distribution=distribution))
    drawn.append(initializer(SHAPES[variable], tf.float32))
  with tf.Session() as session:
    drawn = session.run(drawn)
  for (fan, variable, distribution), weights in zip(cases, drawn):
    share = SHARE[SHARE_OF[name] if fan == 'default' else fan]
    check(weights, FACTOR[name] / share(*FANS[variable]), distribution)


@pytest.mark.parametrize('distribution', DISTRIBUTIONS)
def test_the_model_draws_all_weights_so_and_no_biases(distribution):
  values = initial_values(initializer='he', initializer_fan='out',
                          initializer_distribution=distribution)
  for variable, (_, fan_out) in FANS.items():
    assert values[variable].shape == tuple(SHAPES[variable])
    check(values[variable], 2 / fan_out, distribution)
  for variable, weights in values.items():
    if variable.endswith('biases'):
      assert len(set(weights)) == 1


def test_a_locally_connected_layer_counts_one_position():
  values = initial_values(top_layers='local', initializer='xavier')
  for variable, fans in LOCAL_FANS.items():
    variance = 2 / sum(fans)
    assert values[variable].var() == pytest.approx(variance, rel=0.02)


def test_a_part_of_a_variable_counts_as_the_whole():
  initializer = variable_scope.initializer(Settings(initializer='he'))
  with tf.variable_scope('', partitioner=tf.fixed_size_partitioner(4),
                         initializer=initializer):
    weights = tf.get_variable('weights', [1024, 256]).as_tensor()
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    variance = session.run(weights).var()
  assert variance == pytest.approx(2 / 1024, rel=0.02)
