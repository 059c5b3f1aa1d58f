"""The network that trains fast: its variables, and what they compute."""

import dataclasses

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.nets import variable_scope
from cifar10.settings import Settings
from tests import graphs
from tests import reference

GROUPS = 'group1', 'group2', 'group3'
AIRBENCH = Settings(network='airbench', normalization='batch')


@pytest.mark.parametrize('of_groups', [(64, 256, 256), (8, 16, 12)])
def test_its_variables_are_the_papers(of_groups):
  settings = dataclasses.replace(AIRBENCH, classes=tuple('abcdefg'),
                                 group_filters='%d,%d,%d' % of_groups)
  logits = networks.inference(tf.zeros([4, 32, 32, 3]), settings, True)
  assert logits.shape.as_list() == [4, 7]
  convolutions, inputs = {}, 24
  for group, filters in enumerate(of_groups, 1):
    for conv in (1, 2):
      layer = 'group%d/conv%d/' % (group, conv)
      convolutions[layer + 'weights'] = [3, 3, inputs, filters]
      convolutions[layer + 'biases'] = [filters]
      inputs = filters
  trained = {v.op.name: v.shape.as_list() for v in tf.trainable_variables()}
  others = {
      'whitening/biases': [24],
      'softmax_linear/weights': [of_groups[-1], 7]
  }
  assert trained == dict(convolutions, **others)
  fixed = {v.op.name: v.shape.as_list() for v in tf.model_variables()}
  assert fixed.pop('whitening/weights') == [2, 2, 3, 24]
  assert set(fixed) == {
      name.replace('weights', 'batch_normalization/' + moving)
      for name in convolutions
      for moving in ('moving_mean', 'moving_variance')
  } - set(convolutions)


def max_pool(x, size):
  """The largest of each size x size pixels, without those left over."""
  batch, height, width, channels = x.shape
  rows, columns = height // size, width // size
  x = x[:, :rows * size, :columns * size]
  x = x.reshape(batch, rows, size, columns, size, channels)
  return x.max(axis=(2, 4))


def logits_of(images, values):
  """The network in numpy, with its moving means and variances."""
  white = sum(images[:, y:y + 31, x:x + 31] @ values['whitening/weights'][y, x]
              for y in range(2)
              for x in range(2))
  x = np.maximum(white + values['whitening/biases'], 0)
  for layer in ('group%d/conv%d/' % (g, c) for g in (1, 2, 3) for c in (1, 2)):
    weights = values[layer + 'weights']
    unused = np.zeros(x.shape[:3] + weights.shape[3:])
    x, _, _ = reference.conv2d(x, weights, unused)
    if 'conv1' in layer:
      x = max_pool(x, 2)
    norm = layer + 'batch_normalization/'
    x = (x - values[norm + 'moving_mean']
        ) / np.sqrt(values[norm + 'moving_variance'] + 1e-3)
    x = np.maximum(x + values[layer + 'biases'], 0)
  rows = max_pool(x, 3).reshape(len(x), -1)
  return rows @ values['softmax_linear/weights'] / 256


def test_it_computes_the_papers_formula_in_both_forms():
  rng = np.random.RandomState(0)
  images = rng.normal(size=[2, 32, 32, 3])
  logits = []
  for form in ('direct', 'winograd'):
    with tf.variable_scope('', reuse=bool(logits)):
      logits.append(
          networks.inference(tf.constant(images, tf.float32),
                             dataclasses.replace(AIRBENCH, conv=form)))
  with graphs.session() as session:
    values = {}
    for variable in tf.global_variables():
      name, shape = variable.op.name, variable.shape.as_list()
      values[name] = rng.normal(size=shape, scale=0.1)
      if name.endswith('moving_variance'):
        values[name] = rng.uniform(0.5, 2, shape)
      variable.load(values[name], session)
    direct, winograd = session.run(logits)
  expected = logits_of(images, values)
  np.testing.assert_allclose(direct, expected, atol=1e-4 * expected.std())
  np.testing.assert_allclose(winograd, expected, atol=1e-4 * expected.std())
  assert (direct != winograd).any()


def test_folded_it_computes_what_was_trained():
  images = tf.constant(graphs.run(tf.random_normal([64, 32, 32, 3], seed=3)))
  settings = dataclasses.replace(AIRBENCH, batch_norm_decay=0.0)
  trained = networks.inference(images, settings, is_training=True)
  with tf.variable_scope('', reuse=True):
    used = networks.inference(images, AIRBENCH)
  with graphs.session() as session:
    for variable in tf.get_collection('whitening'):
      filters = np.random.RandomState(0).normal(size=variable.shape.as_list())
      variable.load(filters, session)
    session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    found, expected = session.run([used, trained])
  # The moving variance is that of what the batch is a sample of.
  np.testing.assert_allclose(found, expected, atol=0.02 * expected.std())


def initial_values(settings=AIRBENCH):
  """The first values of the trained variables, a dict by name."""
  networks.inference(tf.zeros([2, 32, 32, 3]), settings)
  return graphs.run(graphs.trained())


def test_biases_of_the_whitening_and_the_last_layer_start_as_in_the_record():
  values = initial_values()
  biases, last = values['whitening/biases'], values['softmax_linear/weights']
  assert 0.8 * 12**-0.5 < np.abs(biases).max() <= 12**-0.5
  assert min(biases) < 0 < max(biases)
  assert last.std() == pytest.approx(1, rel=0.05)
  assert 0.98 * 3**0.5 < np.abs(last).max() <= 3**0.5


def test_at_first_convolutions_pass_on_their_channels():
  values = initial_values()
  first = values['group1/conv1/weights']
  second = values['group2/conv2/weights']
  identity = np.zeros([3, 3, 24, 24])
  identity[1, 1] = np.eye(24)
  np.testing.assert_array_equal(first[..., :24], identity)
  others, limit = first[..., 24:], (9 * 24)**-0.5
  assert 0.99 * limit < np.abs(others).max() <= limit
  identity = np.zeros([3, 3, 256, 256])
  identity[1, 1] = np.eye(256)
  np.testing.assert_array_equal(second, identity)


def test_at_first_fewer_filters_pass_on_the_first_channels():
  settings = dataclasses.replace(AIRBENCH, group_filters='8,16,12')
  first = initial_values(settings)['group1/conv1/weights']
  np.testing.assert_array_equal(first[1, 1], np.eye(24, 8))
  assert first.sum() == 8


@pytest.mark.parametrize('pattern, expected', [('group1', {'group2', 'group3'}),
                                               ('.*/biases', set(GROUPS))])
def test_layers_with_frozen_weights_keep_their_normalization(pattern, expected):
  getter = variable_scope.freezing_getter(pattern)
  with tf.variable_scope('', custom_getter=getter):
    networks.inference(tf.zeros([2, 32, 32, 3]), AIRBENCH, is_training=True)
  moved = {
      op.name.split('/')[0] for op in tf.get_collection(tf.GraphKeys.UPDATE_OPS)
  }
  assert moved == expected
