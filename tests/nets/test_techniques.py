"""Techniques in the model, and all settings together in the programs."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_export
from cifar10 import cifar10_train
from cifar10 import networks
from cifar10 import settings as settings_lib
from cifar10.nets.techniques import Techniques
from cifar10.run import combinations
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from cifar10.store import run_state
from cifar10.util import graph_keys
from tests import short_runs


@pytest.fixture(autouse=True)
def graph():
  with tf.Graph().as_default() as default_graph:
    tf.set_random_seed(1)
    yield default_graph


def test_dropout_drops_a_share_and_scales_the_rest():
  techniques = Techniques(Settings(dropout=0.2), is_training=True)
  dropped = techniques.dropout(tf.ones([100, 100]), 'dropout')
  with tf.Session() as session:
    values = session.run(dropped)
  assert set(values.ravel()) == {0.0, 1.25}
  assert values.mean() == pytest.approx(1, abs=4 * 0.5 / 100)


DROPPED = {
    'input_dropout': {'random_normal'},
    'conv_dropout': {'norm1/norm1', 'pool2'},
    'dropout': {'local3/local3', 'local4/local4'}
}


def dropped(graph):
  """The names of the operations of whose outputs a share is dropped."""
  return {
      tensor.op.name for operation in graph.get_operations()
      if operation.type == 'Mul' for tensor in operation.inputs
      if 'dropout' in operation.name and 'dropout' not in tensor.op.name
  }


@pytest.mark.parametrize('kind', sorted(DROPPED))
def test_each_dropout_has_its_place_in_training_only(kind, graph):
  images = tf.random_normal([2, 24, 24, 3], name='random_normal')
  networks.inference(images, Settings(**{kind: 0.5}), is_training=True)
  found = dropped(graph)
  assert found == DROPPED[kind] or found == {
      name.replace('norm1/norm1', 'norm1') for name in DROPPED[kind]
  }
  with tf.Graph().as_default() as used:
    cifar10.inference(tf.random_normal([2, 24, 24, 3]))
    assert not dropped(used)


def test_the_norms_of_weights_are_limited_after_the_step():
  config = Settings(max_norm=0.5, learning_rate=0.0)
  images = tf.random_normal([4, 24, 24, 3])
  loss = cifar10.loss(cifar10.inference(images), tf.constant([0, 1, 2, 3]))
  step = cifar10.train(loss, tf.train.get_or_create_global_step(), config,
                       run_state.RunState(('a', 'b'), 50000, ((0, 128),)))
  weights = tf.get_collection(tf.GraphKeys.WEIGHTS)
  assert len(weights) == len(tf.get_collection(graph_keys.MAX_NORM)) == 5
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    before = session.run(weights)
    session.run(step)
    after = session.run(weights)
  limited = set()
  for old, new in zip(before, after):
    norms = np.sqrt((old**2).sum(axis=tuple(range(old.ndim - 1))))
    expected = old * np.minimum(1, 0.5 / norms)
    np.testing.assert_allclose(new, expected, rtol=1e-5, atol=1e-7)
    limited |= set(norms > 0.5)
  assert limited == {True, False}


# Settings that go through all the programs. Each pair of values of two of them
# is in one of the runs.
FACTORS = {
    'activation': ['relu', 'prelu', 'rrelu'],
    'normalization': ['lrn', 'batch', 'none'],
    'initializer': ['tutorial', 'he', 'xavier'],
    'regularizer': ['tutorial', 'l1_l2', 'none'],
    'optimizer': ['sgd', 'nesterov', 'adam'],
    'schedule': ['exponential', 'one_cycle', 'power'],
    'dropout': [0.0, 0.5],
    'max_norm': [0.0, 3.0],
    'augment': ['crop,flip,brightness,contrast', 'rotate,cutout'],
    'top_layers': ['full', 'local']
}

# Values that no pair is tried with.
OTHERS = [{
    'activation': 'leaky_relu',
    'optimizer': 'momentum',
    'conv_dropout': 0.2
}, {
    'activation': 'elu',
    'optimizer': 'adagrad',
    'input_dropout': 0.1
}, {
    'activation': 'selu',
    'optimizer': 'rmsprop',
    'initializer': 'lecun'
}, {
    'activation': 'gelu',
    'optimizer': 'ftrl',
    'regularizer': 'l1'
}, {
    'normalization': 'batch',
    'optimizer': 'muon',
    'bias_rate': 2.0,
    'softmax_rate': 0.5,
    'label_smoothing': 0.2
}, {
    'activation': 'tanh',
    'clip_value': 0.1,
    'regularizer': 'l2'
}, {
    'activation': 'sigmoid',
    'clip_norm_each': 0.1,
    'schedule': 'constant'
}, {
    'schedule': 'piecewise',
    'boundaries': '1',
    'rates': '0.1,0.01'
}]


def covering_set(factors):
  """Few combinations of values with all pairs among them, a list of dicts."""
  open_pairs = {((a, x), (b, y))
                for a, b in itertools.combinations(factors, 2)
                for x in factors[a]
                for y in factors[b]}
  rows = []
  while open_pairs:
    row = dict(min(open_pairs, key=repr))
    for name in factors:
      if name not in row:
        row[name] = max(
            factors[name],
            key=lambda value, name=name: sum(pair in open_pairs
                                             for other in row.items()
                                             for pair in
                                             (((name, value), other),
                                              (other, (name, value)))))
    open_pairs -= set(itertools.product(row.items(), row.items()))
    rows.append(row)
  return rows


RUNS = covering_set(FACTORS) + OTHERS


def test_the_runs_have_all_values():
  tried = {(n, v) for row in RUNS for n, v in row.items()}
  for name in ('activation', 'initializer', 'regularizer', 'optimizer'):
    for value in settings_lib.FIELDS[name].metadata['choices']:
      assert (name, value) in tried, (name, value)


@pytest.mark.slow
@pytest.mark.parametrize('settings', RUNS, ids=lambda row: str(RUNS.index(row)))
def test_a_run_is_trained_resumed_evaluated_and_exported(tmp_path, settings):
  settings = dict(settings, batch_size=4, seed=1)
  config = short_runs.small_config(tmp_path, max_steps=2, **settings)
  combinations.check(config)
  cifar10_train.train(config)
  directory = str(tmp_path / 'train')
  before = short_runs.values(checkpoints.latest(directory))
  config = short_runs.small_config(tmp_path, max_steps=3, **settings)
  cifar10_train.train(config)
  after = short_runs.values(checkpoints.latest(directory))
  assert set(before) == set(after)
  assert all(np.isfinite(value).all() for value in after.values())
  assert (before['conv1/weights'] != after['conv1/weights']).any()
  saved = config_lib.load(directory)
  assert saved.of_groups('model') == config.of_groups('model')

  config = dataclasses.replace(config, batch_size=20, export_dir='')
  _, expected = short_runs.evaluated(config)
  config = dataclasses.replace(config, frozen_graph=str(tmp_path / 'model.pb'))
  cifar10_export.export(config)
  found = short_runs.frozen_probabilities(config, 20)
  np.testing.assert_allclose(found, expected, atol=1e-4)
