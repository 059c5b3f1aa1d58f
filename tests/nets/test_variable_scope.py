"""The scope of training: initial weights, and penalties on weights."""

import itertools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_multi_gpu_train
from cifar10 import networks
from cifar10.nets import variable_scope
from cifar10.optim import towers
from cifar10.settings import Settings
from tests import graphs

# The shapes of weights, and the inputs and outputs of a unit, counted by hand.
WEIGHTS = {
    'conv2/weights': ((5, 5, 64, 64), (5 * 5 * 64, 5 * 5 * 64)),
    'local3/weights': ((2304, 384), (2304, 384)),
    'softmax_linear/weights': ((192, 10), (192, 10))
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
  return graphs.run(graphs.trained())


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
  for fan, (shape, fans), distribution in itertools.product(['default', *SHARE],
                                                            WEIGHTS.values(),
                                                            DISTRIBUTIONS):
    initializer = variable_scope.initializer(
        Settings(initializer=name, initializer_fan=fan,
                 initializer_distribution=distribution))
    share = SHARE[SHARE_OF[name] if fan == 'default' else fan]
    check(graphs.run(initializer(shape, tf.float32)),
          FACTOR[name] / share(*fans), distribution)


@pytest.mark.parametrize('distribution', DISTRIBUTIONS)
def test_the_model_draws_all_weights_so_and_no_biases(distribution):
  values = initial_values(initializer='he', initializer_fan='out',
                          initializer_distribution=distribution)
  for variable, (shape, (_, fan_out)) in WEIGHTS.items():
    assert values[variable].shape == shape
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
  assert graphs.run(weights).var() == pytest.approx(2 / 1024, rel=0.02)


def total_loss(config):
  images = tf.random_normal([4, 24, 24, 3], seed=2)
  labels = tf.constant([0, 1, 2, 3])
  with variable_scope.training_scope(config):
    logits = cifar10.inference(images)
  return cifar10.loss(logits, labels)


def weights():
  return [v for v in tf.trainable_variables() if v.op.name.endswith('weights')]


PENALTIES = {
    'none': lambda w: 0 * w,
    'l1': lambda w: 0.01 * np.abs(w),
    'l2': lambda w: 0.02 * w**2 / 2,
    'l1_l2': lambda w: 0.01 * np.abs(w) + 0.02 * w**2 / 2
}


@pytest.mark.parametrize('name', sorted(PENALTIES))
def test_the_penalty_joins_the_loss(name):
  config = Settings(regularizer=name, l1_scale=0.01, l2_scale=0.02)
  total = total_loss(config)
  (entropy,) = [
      loss for loss in tf.get_collection('losses') if 'entropy' in loss.op.name
  ]
  assert len(weights()) == 5
  values, found, of_labels = graphs.run([weights(), total, entropy])
  expected = sum(PENALTIES[name](w.astype(np.float64)).sum() for w in values)
  assert found - of_labels == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_each_tower_has_the_whole_penalty():
  config = Settings(regularizer='l2')
  found = []
  with variable_scope.training_scope(config):
    for i in range(2):
      with towers.tower('tower', i) as scope:
        images = tf.random_normal([4, 24, 24, 3], seed=i)
        loss = cifar10_multi_gpu_train.tower_loss(scope, images,
                                                  tf.constant([0, 1, 2, 3]),
                                                  config)
        found.append(towers.named_losses(scope, loss))
  with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
    session.run(tf.global_variables_initializer())
    first, second = session.run(found)
  names = {'cross_entropy', 'regularization_loss', 'total_loss'}
  assert set(first) == set(second) == names
  assert first['regularization_loss'] == second['regularization_loss'] > 0
