"""Techniques in the model, and all settings together in the programs."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_export
from cifar10 import cifar10_pretrain
from cifar10 import cifar10_train
from cifar10 import networks
from cifar10 import settings as settings_lib
from cifar10.nets import pretraining
from cifar10.nets import variable_scope
from cifar10.nets.techniques import Techniques
from cifar10.run import combinations
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from tests import graphs
from tests import short_runs


def test_dropout_drops_a_share_and_scales_the_rest():
  techniques = Techniques(Settings(dropout=0.2), is_training=True)
  dropped = techniques.dropout(tf.ones([100, 100]), 'dropout')
  values = graphs.run(dropped)
  assert set(values.ravel()) == {0.0, 1.25}
  assert values.mean() == pytest.approx(1, abs=4 * 0.5 / 100)


@pytest.mark.parametrize('dtype', ['bfloat16', 'float16'])
@pytest.mark.parametrize('rate', [0.01, 0.2, 0.99])
def test_dropout_in_16_bits_has_the_mask_and_scale_of_float32(dtype, rate):
  techniques = Techniques(Settings(dropout=rate), is_training=True)

  def dropped(is_wide):
    with tf.Graph().as_default():
      tf.set_random_seed(1)
      x = tf.cast(tf.linspace(1.0, 2.0, 10**6), dtype)
      # Either way, there is one cast before the seed of the mask is taken.
      x = tf.cast(x, tf.float32) if is_wide else x
      y = techniques.dropout(x, 'dropout')
      assert y.dtype == x.dtype
      rounded = [tf.cast(t, dtype) for t in (y, tf.gradients(y, x)[0])]
      return graphs.run([tf.cast(t, tf.float32) for t in rounded])

  expected = dropped(is_wide=True)
  share = (expected[0] == 0).mean()
  assert share == pytest.approx(rate, abs=4 * (rate * (1 - rate))**0.5 / 1000)
  np.testing.assert_array_equal(dropped(is_wide=False), expected)


NETWORKS = {
    'full': Settings(),
    'full, batch': Settings(normalization='batch'),
    'local': Settings(top_layers='local'),
    'local, batch': Settings(top_layers='local', normalization='batch',
                             normalize_logits=True),
    'hidden layers': Settings(hidden_layers='6,5,4', activation='prelu'),
    'columns': Settings(columns=2),
    'airbench': Settings(network='airbench', group_filters='4,4,4',
                         activation='gelu')
}
# Of pretraining, with the layer that is trained.
TASKS = {'rbm of sigmoids/conv2': Settings(task='rbm', activation='sigmoid')}
for _task in pretraining.AUXILIARY:
  TASKS[_task] = Settings(task=_task)
for _layer in ('conv1', 'local3'):
  TASKS[f'autoencoder/{_layer}'] = Settings(task='autoencoder')
  TASKS[f'rbm/{_layer}'] = Settings(task='rbm')
LEARNT = {**NETWORKS, **TASKS}


def learnt_gradients(name, precision):
  """The gradients of the variables of an entry of LEARNT, by their names."""
  layer = name.partition('/')[2]
  size, batch = (25, 32) if name == 'airbench' else (4, 1024)
  settings = dataclasses.replace(LEARNT[name], classes=('',) * 10,
                                 precision=precision, batch_size=batch,
                                 freeze=f'(?!{layer}/)' if layer else '')
  rng = np.random.RandomState(1)
  with tf.Graph().as_default(), variable_scope.training_scope(settings):
    tf.set_random_seed(1)
    images = tf.constant(rng.normal(size=[batch, size, size, 3]), tf.float32)
    labels = tf.constant(rng.randint(3, size=batch), tf.int32)
    if name in NETWORKS:
      logits = networks.inference(images, settings, is_training=True)
      # Of one class: gradients of the same sign, whose sums stall early.
      loss = cifar10.loss(logits, tf.zeros_like(labels))
    elif layer:
      loss = cifar10_pretrain._layer_loss(images, layer, settings)
    elif settings.task in pretraining.PAIRS:
      loss = cifar10_pretrain._pairs_loss(images, labels, settings)
    else:
      loss = cifar10_pretrain._corruption_loss(images, settings)
    trained = tf.trainable_variables()
    slopes = tf.gradients(loss, trained)
    with tf.Session() as session:
      initial = {}
      for variable in tf.global_variables():
        shape = variable.shape.as_list()
        if variable.op.name.endswith('/weights'):
          # Xavier's, so that gradients reach the first layer.
          deviation = np.prod(shape[-4:-1])**-0.5
          drawn = rng.normal(0, deviation, shape)
        elif variable.op.name.endswith('/biases'):
          drawn = rng.uniform(0.05, 0.2, shape)
        else:
          continue
        initial[variable.initializer.inputs[1]] = drawn
      session.run(tf.global_variables_initializer(), initial)
      found = session.run(slopes)
  return {v.op.name: np.ravel(slope) for v, slope in zip(trained, found)}


@pytest.mark.slow
@pytest.mark.parametrize('name', LEARNT)
def test_gradients_in_16_bits_are_those_of_float32(name):
  expected = learnt_gradients(name, 'float32')
  found = [(dtype, variable, slopes)
           for dtype in ('bfloat16', 'float16')
           for variable, slopes in learnt_gradients(name, dtype).items()]
  for dtype, variable, slopes in found:
    exact = expected[variable]
    if np.abs(exact).max() < 1e-6:  # Of what does not change the loss.
      np.testing.assert_allclose(slopes, exact, atol=1e-3)
    else:
      share = slopes @ exact / (exact @ exact)
      assert share == pytest.approx(1, abs=0.2), (dtype, variable)


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
    networks.inference(tf.random_normal([2, 24, 24, 3]),
                       Settings(**{kind: 0.5}), varied=True)
    assert not dropped(used)


def test_the_norms_of_weights_are_limited_after_the_step():
  config = Settings(max_norm=0.5, learning_rate=0.0)
  images = tf.random_normal([4, 24, 24, 3])
  loss = cifar10.loss(cifar10.inference(images), tf.constant([0, 1, 2, 3]))
  step = cifar10.train(loss, tf.train.get_or_create_global_step(), config)
  weights = tf.get_collection(tf.GraphKeys.WEIGHTS)
  assert len(weights) == 5
  with graphs.session() as session:
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


# Settings that go through all the programs. Each pair of the values of two of
# them is in one of the runs.
FACTORS = {
    'activation': ['relu', 'prelu', 'rrelu'],
    'normalization': ['lrn', 'batch', 'none'],
    'initializer': ['tutorial', 'he', 'xavier'],
    'regularizer': ['tutorial', 'l1_l2', 'none'],
    'optimizer': ['sgd', 'nesterov', 'adam'],
    'schedule': ['exponential', 'one_cycle', 'power'],
    'dropout': [0.0, 0.5],
    'max_norm': [0.0, 3.0],
    'augment': ['crop,flip,brightness,contrast', 'rotate, cutout'],
    'top_layers': ['full', 'local']
}

# Values that no pair is tried with.
OTHERS = {
    'activation': ['leaky_relu', 'elu', 'selu', 'gelu', 'tanh', 'sigmoid'],
    'initializer': ['lecun'],
    'regularizer': ['l1', 'l2'],
    'optimizer': ['momentum', 'adagrad', 'rmsprop', 'ftrl', 'muon'],
    'schedule': ['constant', 'piecewise']
}

# More settings of the runs that have these values.
MORE = {
    'full': {'hidden_layers': '16'},
    'leaky_relu': {'conv_dropout': 0.2},
    'elu': {'input_dropout': 0.1},
    'gelu': {'normalize_logits': True},
    'tanh': {'clip_value': 0.1},
    'sigmoid': {'clip_norm_each': 0.1},
    'muon': {'bias_rate': 2.0, 'softmax_rate': 0.5, 'label_smoothing': 0.2},
    'piecewise': {'boundaries': '1', 'rates': '0.1,0.01'}
}  # yapf: disable

# The runs: the place of each setting's value in FACTORS and OTHERS. For a new
# value, append it to OTHERS and change a digit; the test below tells whether a
# pair is missing then.
PLACES = [
    '8214211010', '6102710000', '3010540000', '7221301111', '5233420001',
    '4123631110', '1112100101', '2111011101', '0212021110', '1001220110',
    '1220011011', '2122220111', '0100200000', '2002000001', '2200121110',
    '0021111001'
]


def settings_of(places):
  """The settings of a run."""
  found = {}
  for name, place in zip(FACTORS, places):
    values = FACTORS[name] + OTHERS.get(name, [])
    found[name] = values[int(place)]
    found.update(MORE.get(found[name], {}))
  return found


RUNS = [settings_of(places) for places in PLACES]


def test_the_runs_have_all_pairs_and_all_values():
  for a, b in itertools.combinations(FACTORS, 2):
    tried = {(row[a], row[b]) for row in RUNS}
    assert set(itertools.product(FACTORS[a], FACTORS[b])) <= tried, (a, b)
  tried = {(n, v) for row in RUNS for n, v in row.items()}
  for name in ('activation', 'initializer', 'regularizer', 'optimizer'):
    for value in settings_lib.FIELDS[name].metadata['choices']:
      assert (name, value) in tried, (name, value)


def has_a_first(row):
  """True if a run has a value that none before it has."""
  before = RUNS[:RUNS.index(row)]
  return any(
      all(other.get(name) != value
          for other in before)
      for name, value in row.items())


@pytest.mark.slow
@pytest.mark.parametrize(
    'settings', RUNS, ids=lambda row: '%d%s' %
    (RUNS.index(row), '-first' * has_a_first(row)))
def test_a_run_is_trained_resumed_evaluated_and_exported(tmp_path, settings):
  config = short_runs.small_config(tmp_path, max_steps=2, batch_size=4, seed=1,
                                   image_size=12, **settings)
  combinations.check(config)
  cifar10_train.train(config)
  before, after = saved_values(tmp_path, 0), saved_values(tmp_path, 2)
  assert (before['conv1/weights'] != after['conv1/weights']).any()
  # Whether a run can be resumed is a matter of each value, not of pairs.
  if has_a_first(settings):
    config = dataclasses.replace(config, max_steps=3)
    cifar10_train.train(config)
    before, after = after, saved_values(tmp_path, 3)
    assert (before['conv1/weights'] != after['conv1/weights']).any()
  assert set(before) == set(after)
  assert all(np.isfinite(value).all() for value in after.values())
  saved = config_lib.load(config.train_dir)
  assert saved.of_groups('model') == config.of_groups('model')

  config = dataclasses.replace(config, batch_size=20)
  _, expected = short_runs.evaluated(config)
  config = dataclasses.replace(config, frozen_graph=str(tmp_path / 'model.pb'))
  cifar10_export.export(config)
  found = graphs.run_frozen(graphs.read_frozen(config.frozen_graph),
                            {'images': short_runs.sample_images(20)})
  np.testing.assert_allclose(found, expected, atol=1e-4)


def saved_values(tmp_path, step):
  """The variables of a run in `tmp_path` after a step."""
  prefix = checkpoints.prefix(str(tmp_path / 'train'))
  return short_runs.values('%s-%d' % (prefix, step))
