"""Frozen layers that are computed once, before training."""

import dataclasses
import json
import os
import re
import shutil
import signal

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_eval
from cifar10 import cifar10_multi_gpu_train
from cifar10 import cifar10_train
from cifar10.data import distortions
from cifar10.data import feature_records
from cifar10.data import records
from cifar10.run import feature_cache
from cifar10.store import checkpoints
from tests import short_runs
from tests import synthetic_records

pytestmark = pytest.mark.slow

TRAINERS = {1: cifar10_train.train, 2: cifar10_multi_gpu_train.train}
COUNT = 50  # Training images: five files of 10.


@pytest.fixture(scope='module')
def source(tmp_path_factory):
  """The --train_dir of a short run, and the data that it was trained on."""
  folder = tmp_path_factory.mktemp('source')
  synthetic_records.make_folder(folder / 'data', COUNT // 5)
  cifar10_train.train(config_for(folder, folder, cache_frozen=0, freeze=''))
  return folder


@pytest.fixture(scope='module')
def cached(tmp_path_factory, source):
  """The folder of a run that has kept the layers of `source`."""
  folder = tmp_path_factory.mktemp('cached')
  cifar10_train.train(config_for(folder, source, seed=1))
  return folder


def copied(cached, tmp_path, source, **settings):
  """The Config of a copy of the run in `cached`, to go on with."""
  shutil.copytree(str(cached / 'train'), str(tmp_path / 'train'))
  return config_for(tmp_path, source, **dict({'seed': 1}, **settings))


def config_for(folder, source, **settings):
  """The Config of a run that caches the layers of the run in `source`."""
  init_from = '' if folder == source else str(source / 'train')
  config = short_runs.small_config(folder, dataset='cifar10', freeze='conv',
                                   cache_frozen=1, init_from=init_from,
                                   data_dir=str(source / 'data'))
  return dataclasses.replace(config, **settings)


def kept(folder):
  """The path of the outputs."""
  return str(folder / 'train' / 'frozen_layers.bin')


def load_kept(folder, shape=(6, 6, 64)):
  """The outputs and labels that are kept: [n, *shape] and [n]."""
  layout = feature_records.layout_for(list(shape), records.Layout())
  content = records.load([kept(folder)], layout)
  numbers = np.ascontiguousarray(content[:, 1:]).view(np.float32)
  return numbers.reshape(-1, *shape), content[:, 0]


def computed(source, checkpoint, name):
  """What an operation of the checkpoint's model gives for middles of images."""
  data = short_runs.prepared(config_for(source, source))
  content = records.load(data.train_files, data.layout)
  with tf.Graph().as_default(), tf.Session() as session:
    cifar10.inference(
        distortions.central_crop(tf.constant(content), data.layout, 24))
    outputs = tf.get_default_graph().get_tensor_by_name(name + ':0')
    for variable in tf.global_variables():
      variable.load(checkpoint[variable.op.name], session)
    return session.run(outputs), content[:, 0]


def losses(config, train):
  """The losses of a run."""
  train(config)
  with open(config.metrics) as lines:
    return [json.loads(line)['loss'] for line in lines]


@pytest.mark.parametrize('freeze, name, shape, num_gpus', [
    ('conv1', 'norm1', [12, 12, 64], 1),
    ('conv', 'pool2', [6, 6, 64], 2),
    ('conv|local', 'local4/local4', [192], 1),
])  # yapf: disable
def test_a_run_learns_from_what_the_layers_give(tmp_path, source, capsys,
                                                freeze, name, shape, num_gpus):
  # A run that keeps nothing, in batches of all images.
  (tmp_path / 'plain').mkdir()
  config = config_for(tmp_path / 'plain', source, augment='', max_steps=3,
                      batch_size=COUNT, freeze=freeze, cache_frozen=0,
                      metrics=str(tmp_path / 'plain_metrics'))
  plain_losses = losses(config, cifar10_train.train)
  # Two versions, which differ by distortions only. Batches hold all of both, so
  # that their order does not matter.
  config = config_for(tmp_path, source, augment='', max_steps=3, cache_frozen=2,
                      batch_size=2 * COUNT // num_gpus, num_gpus=num_gpus,
                      freeze=freeze, metrics=str(tmp_path / 'metrics'))
  found = losses(config, TRAINERS[num_gpus])
  assert len(found) == 3 and found[2] < found[0]
  np.testing.assert_allclose(found, plain_losses, rtol=2e-4)
  num_bytes = 2 * COUNT * (1 + 4 * np.prod(shape))
  assert os.path.getsize(kept(tmp_path)) == num_bytes
  assert (
      f'up to {name.split("/")[0]} for 2 versions of {COUNT} images; the '
      f'outputs take {num_bytes / 1e6:.0f} MB in ') in capsys.readouterr().out
  values = short_runs.values(checkpoints.latest(config.train_dir))
  expected, labels = computed(source, values, name)
  found, found_labels = load_kept(tmp_path, shape)
  np.testing.assert_allclose(found, np.concatenate([expected] * 2), rtol=1e-3,
                             atol=1e-4)
  np.testing.assert_array_equal(found_labels, np.tile(labels, 2))
  # The layers stay, and are part of the checkpoint, with their averages.
  before = short_runs.values(checkpoints.latest(str(source / 'train')))
  average = '/ExponentialMovingAverage'
  frozen = {
      layer + kind for layer in ('conv1', 'conv2', 'local3', 'local4')
      if re.match(freeze, layer) for kind in ('/weights', '/biases')
  }
  for name in frozen:
    for now in (name, name + average):
      np.testing.assert_array_equal(values[now], before[name + average])
  last = 'softmax_linear/weights'
  assert (values[last] != before[last + average]).any()


def test_dropout_after_a_frozen_layer_is_drawn_in_each_step(tmp_path, source):
  config = config_for(tmp_path, source, augment='', conv_dropout=0.5,
                      learning_rate=0.0, regularizer='none', max_steps=3,
                      batch_size=COUNT, metrics=str(tmp_path / 'metrics'))
  assert len(set(losses(config, cifar10_train.train))) == 3
  values = short_runs.values(checkpoints.latest(config.train_dir))
  expected, _ = computed(source, values, 'norm1')
  found, _ = load_kept(tmp_path, [12, 12, 64])
  np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_versions_of_an_image_differ(tmp_path, source, cached):
  # A run goes on with more versions, and with other distortions.
  config = copied(cached, tmp_path, source, cache_frozen=3, seed=7, max_steps=6)
  before, _ = load_kept(tmp_path)
  cifar10_train.train(config)
  found, labels = load_kept(tmp_path)
  assert len(found) == 3 * COUNT
  assert len({image.tobytes() for image in found}) == 3 * COUNT
  np.testing.assert_array_equal(labels[:COUNT], labels[COUNT:2 * COUNT])
  assert (found[:COUNT] != before).any()


def relabel(path):
  with open(path, 'r+b') as file:
    file.write(b'\xff')


DAMAGES = [
    lambda path: os.truncate(path, 9217),  # Between two records.
    lambda path: os.truncate(path, 9217 + 5), relabel,
    lambda path: os.remove(path.replace('.bin', '.json')),
    lambda path: os.truncate(path.replace('.bin', '.json'), 1), os.remove
]  # yapf: disable
CHANGES = [
    {'augment': 'crop'}, {'seed': 7}, {'activation': 'tanh'},
    {'normalization': 'none'}
]  # yapf: disable


def test_a_resumed_run_goes_on_with_what_is_kept_if_it_is_whole(
    tmp_path, source, cached, monkeypatch, capsys):
  config = copied(cached, tmp_path, source, max_steps=6)
  before, labels = load_kept(tmp_path)
  fill, path = feature_cache.fill, kept(tmp_path)

  def identity():
    status = os.path.exists(path) and os.stat(path)
    return status and (status.st_ino, status.st_mtime_ns)

  def is_computed(frozen, *arguments):
    """Fills the file; whether it was not used as it was."""
    found = identity()
    fill(frozen, *arguments)
    outputs, labels_now = load_kept(tmp_path)
    assert outputs.shape == before.shape
    np.testing.assert_array_equal(labels_now, labels)
    is_used = 'outputs of the frozen layers are' in capsys.readouterr().out
    assert is_used == (identity() == found)
    return not is_used

  def fill_often(frozen, *arguments):
    assert not is_computed(frozen, *arguments)
    np.testing.assert_array_equal(load_kept(tmp_path)[0], before)
    for damage in DAMAGES:
      damage(path)
      assert is_computed(frozen, *arguments)
      if damage == DAMAGES[0]:  # Each run begins with the same distortions.
        np.testing.assert_array_equal(load_kept(tmp_path)[0], before)
    # Nor is it used if it was computed with other settings.
    settings = frozen.settings
    for change in CHANGES:
      frozen.settings = dataclasses.replace(frozen.settings, **change)
      assert is_computed(frozen, *arguments)
    frozen.settings = settings
    assert is_computed(frozen, *arguments)
    filled.append(True)

  filled = []
  monkeypatch.setattr(feature_cache, 'fill', fill_often)
  cifar10_train.train(config)
  assert filled
  assert checkpoints.step(checkpoints.latest(config.train_dir)) == 6


def test_it_goes_with_other_images_and_techniques(tmp_path, capsys):
  # Gray ones of another size. Crops of 27 pixels become 7 x 7.
  folder = synthetic_records.make_three_classes(tmp_path, size=36, channels=1)
  first = config_for(tmp_path, tmp_path, data_dir=folder, cache_frozen=0,
                     freeze='', normalization='batch', top_layers='local',
                     batch_size=4, max_steps=2)
  cifar10_train.train(first)
  config = dataclasses.replace(first, train_dir=str(tmp_path / 'next'),
                               checkpoint_dir=str(tmp_path / 'next'),
                               init_from=first.train_dir, freeze='conv|local',
                               cache_frozen=2, precision='bfloat16',
                               validation_examples=20, validation_steps=2,
                               labelled_examples=20, dropout=0.2)
  cifar10_train.train(config)
  path = str(tmp_path / 'next' / 'frozen_layers.bin')
  assert os.path.getsize(path) == 2 * 20 * (1 + 7 * 7 * 64 * 4)
  os.remove(path)  # An evaluation needs nothing of it.
  cifar10_eval.evaluate(config)
  out = capsys.readouterr().out
  assert 'validation precision @ 1 = ' in out
  assert short_runs.PRECISION_LINE.search(out)


def test_a_damaged_file_ends_a_run_that_saves(tmp_path, source, cached):
  config = copied(cached, tmp_path, source)
  process = start(config, '--log_frequency=1', '--seed=1')
  line = ''
  while not short_runs.steps(line):
    line = process.stdout.readline()
    assert 'Computing' not in line and process.poll() is None
  os.truncate(kept(tmp_path), 9217)
  _, err = process.communicate(60)
  assert process.returncode == 1
  assert err.startswith('cifar10_train: error: ') and err.count('\n') == 1
  assert 'frozen_layers.bin: found 9217 bytes; expected 460850' in err


def start(config, *more):
  """Starts a trainer with the settings of `config_for`."""
  names = ('train_dir', 'data_dir', 'init_from', 'freeze', 'cache_frozen')
  values = config.of_groups('running', 'data', 'transfer')
  flags = ['--%s=%s' % (name, values[name]) for name in names]
  return short_runs.start('cifar10_train', '--dataset=cifar10',
                          '--batch_size=16', *flags, *more)


def test_a_signal_leaves_nothing_unfinished(tmp_path, source):
  config = config_for(tmp_path, source, cache_frozen=2000)
  process = start(config)
  while 'Computing' not in process.stdout.readline():
    assert process.poll() is None
  process.send_signal(signal.SIGTERM)
  out, err = process.communicate(60)
  assert process.returncode == 0 and err == ''
  assert 'Stopped by SIGTERM.\n' in out
  assert not [n for n in os.listdir(config.train_dir) if 'frozen' in n]
