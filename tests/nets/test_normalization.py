"""Batch normalization: the paper's formulas, and what is left of it later."""

import dataclasses

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.nets import normalization
from cifar10.nets import variable_scope
from cifar10.optim import towers
from cifar10.settings import Settings
from cifar10.util import graph_keys
from tests import graphs

BATCH = Settings(normalization='batch')
LOGITS = Settings(normalization='batch', normalize_logits=True)
EPSILON = 1e-3


def named(name):
  """The variables whose names end with `name`."""
  return [v for v in tf.global_variables() if v.op.name.endswith(name)]


def normalized(x, scale):
  """The oracle: each channel of x, [n, channels], normalized and scaled."""
  mean, variance = x.mean(axis=0), x.var(axis=0)
  return scale * (x - mean) / np.sqrt(variance + EPSILON)


@pytest.mark.parametrize('shape', [[64, 3], [8, 4, 5, 3]])
def test_values_and_gradients_are_the_papers(shape):
  rng = np.random.RandomState(0)
  values = rng.normal(3, 2, shape)
  upstream = rng.normal(size=shape)
  scales = np.array([0.5, 1.0, 2.0])
  x = tf.constant(values, tf.float32)
  y = normalization.BatchNormalization(*normalization.variables(3),
                                       0.9).outputs(x)
  (scale,) = tf.trainable_variables()
  slopes = tf.gradients(y, [x, scale], tf.constant(upstream, tf.float32))
  with graphs.session() as session:
    scale.load(scales, session)
    found, (by_x, by_scale) = session.run([y, slopes])
  rows = values.reshape(-1, 3)
  expected = normalized(rows, scales)
  np.testing.assert_allclose(found.reshape(-1, 3), expected, atol=1e-4)
  # One direction of the gradient, by differences.
  direction = rng.normal(size=rows.shape)
  small = 1e-5 * direction
  change = normalized(rows + small, scales) - normalized(rows - small, scales)
  slope = (change * upstream.reshape(-1, 3)).sum() / 2e-5
  assert (by_x.reshape(-1, 3) * direction).sum() == pytest.approx(
      slope, rel=1e-3)
  expected = (normalized(rows, 1) * upstream.reshape(-1, 3)).sum(axis=0)
  np.testing.assert_allclose(by_scale, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize('top_layers, name',
                         [('full', 'local4/local4'),
                          ('local', 'softmax_linear/Reshape')])
def test_logits_are_normalized_before_their_biases(graph, top_layers, name):
  rng = np.random.RandomState(0)
  images = tf.constant(rng.normal(size=(16, 24, 24, 3)), tf.float32)
  model = dataclasses.replace(LOGITS, top_layers=top_layers)
  logits = networks.inference(images, model, is_training=True)
  inputs = graph.get_tensor_by_name(name + ':0')
  layer = [
      named('softmax_linear/' + kind)[0]
      for kind in ('weights', 'biases', 'batch_normalization/scale')
  ]
  upstream = rng.normal(size=(16, 10))
  slopes = tf.gradients(logits, layer, tf.constant(upstream, tf.float32))
  with graphs.session() as session:
    for variable in layer[1:]:
      variable.load(rng.uniform(0.5, 2, 10), session)
    x, (weights, biases,
        scale), found, by = session.run([inputs, layer, logits, slopes])
  product = x.astype(np.float64) @ weights
  np.testing.assert_allclose(found,
                             normalized(product, scale) + biases, rtol=1e-3,
                             atol=1e-4)
  # Section 3 of the paper.
  unscaled = normalized(product, 1)
  by_product = upstream - upstream.mean(
      axis=0) - unscaled * (upstream * unscaled).mean(axis=0)
  by_product *= scale / np.sqrt(product.var(axis=0) + EPSILON)
  expected = [
      x.T @ by_product,
      upstream.sum(axis=0), (upstream * unscaled).sum(axis=0)
  ]
  for slope, value in zip(by, expected):
    np.testing.assert_allclose(slope, value, rtol=2e-3,
                               atol=1e-3 * abs(value).max())


# Positions of an image that a channel of other than dense layers has.
POSITIONS = {'conv1': 576, 'conv2': 144, 'local3': 36, 'local4': 36}


# Small logits are scaled up, and with them the errors of rounding.
@pytest.mark.parametrize('model, tolerance', [(BATCH, 2e-4), (LOGITS, 1e-3)])
@pytest.mark.parametrize('top_layers', ['full', 'local'])
def test_folded_it_computes_what_was_trained(model, top_layers, tolerance):
  model = dataclasses.replace(model, top_layers=top_layers,
                              batch_norm_decay=0.5)
  rng = np.random.RandomState(1)
  images = tf.constant(rng.normal(size=(64, 24, 24, 3)), tf.float32)
  trained = networks.inference(images, model, is_training=True)
  with tf.variable_scope('', reuse=True):
    used = networks.inference(images, model)
  with graphs.session() as session:
    for scale in named('batch_normalization/scale'):
      scale.load(rng.uniform(0.5, 2, scale.shape.as_list()), session)
    for _ in range(30):  # Until the averages are those of this batch.
      session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    for variance in named('batch_normalization/moving_variance'):
      layer = variance.op.name.split('/')[0]
      is_dense = top_layers == 'full' and not layer.startswith('conv')
      # The variance of the batch itself, not of what it is a sample of.
      count = 64 * (1 if is_dense else POSITIONS.get(layer, 1))
      of_batch = session.run(variance) * (count - 1) / count
      variance.load(of_batch, session)
    found, expected = session.run([used, trained])
  np.testing.assert_allclose(found, expected, atol=tolerance * expected.std())


@pytest.mark.parametrize(
    'model, layers',
    [(BATCH, ['conv1', 'conv2', 'local3', 'local4']),
     (LOGITS, ['conv1', 'conv2', 'local3', 'local4', 'softmax_linear'])])
def test_its_variables_are_of_the_model_and_two_of_three_not_trained(
    model, layers):
  networks.inference(tf.zeros([2, 24, 24, 3]), model, is_training=True)
  prefixes = {layer + '/batch_normalization/' for layer in layers}
  trained = {v.op.name for v in tf.trainable_variables()}
  assert {p + 'scale' for p in prefixes} < trained
  assert not any('moving' in name for name in trained)
  assert {v.op.name for v in tf.model_variables()} == {
      prefix + name
      for prefix in prefixes
      for name in ('moving_mean', 'moving_variance')
  }
  assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2 * len(layers)


def test_of_two_towers_the_first_is_followed():
  for i in range(2):
    with towers.tower('tower', i):
      images = tf.random_normal([4, 24, 24, 3], mean=float(i))
      networks.inference(images, LOGITS, is_training=True)
  assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 10
  assert len(named('moving_mean')) == 5


def test_frozen_logits_keep_their_moving_averages():
  config = dataclasses.replace(LOGITS, freeze='softmax_linear')
  with variable_scope.training_scope(config):
    networks.inference(tf.zeros([2, 24, 24, 3]), config, is_training=True)
  followed = tf.get_collection(graph_keys.FOLLOWING_STATISTICS)
  assert len(followed) == 8
  assert not any('softmax' in variable.op.name for variable in followed)
