"""Frozen layers that are computed once, before training."""

import dataclasses
import json
import os
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
from cifar10.errors import UserError
from cifar10.store import checkpoints
from tests import processes
from tests import short_runs
from tests import synthetic_records

pytestmark = pytest.mark.slow

TRAINERS = {1: cifar10_train.train, 2: cifar10_multi_gpu_train.train}
COUNT = 100  # Training images: five files of 20.


@pytest.fixture(scope='module')
def source(tmp_path_factory):
  """The --train_dir of a short run, and the data that it was trained on."""
  folder = tmp_path_factory.mktemp('source')
  synthetic_records.make_folder(folder / 'data')
  cifar10_train.train(config_for(folder, folder, cache_frozen=0, freeze=''))
  return folder


def config_for(folder, source, **settings):
  """The Config of a run that caches the layers of the run in `source`."""
  settings = dict(
      {
          'dataset': 'cifar10',
          'data_dir': str(source / 'data'),
          'init_from': '' if folder == source else str(source / 'train'),
          'freeze': 'conv',
          'cache_frozen': 1
      }, **settings)
  return short_runs.small_config(folder, **settings)


def kept(folder):
  """The path of the outputs."""
  return str(folder / 'train' / 'frozen_layers.bin')


def load_kept(folder):
  """The outputs and labels that are kept: [n, 6, 6, 64] and [n]."""
  layout = feature_records.layout_for([6, 6, 64], records.Layout())
  content = records.load([kept(folder)], layout)
  numbers = np.ascontiguousarray(content[:, 1:]).view(np.float32)
  return numbers.reshape(-1, 6, 6, 64), content[:, 0]


def computed(source, checkpoint):
  """What the convolutions of a checkpoint give for the middles of images."""
  data = short_runs.prepared(config_for(source, source))
  content = records.load(data.train_files, data.layout)
  with tf.Graph().as_default(), tf.Session() as session:
    cifar10.inference(
        distortions.central_crop(tf.constant(content), data.layout, 24))
    pooled = tf.get_default_graph().get_tensor_by_name('pool2:0')
    for variable in tf.global_variables():
      variable.load(checkpoint[variable.op.name], session)
    return session.run(pooled), content[:, 0]


@pytest.mark.parametrize('num_gpus', [1, 2])
def test_what_is_kept_is_what_the_layers_give(tmp_path, source, num_gpus):
  config = config_for(tmp_path, source, augment='', cache_frozen=2,
                      num_gpus=num_gpus)
  TRAINERS[num_gpus](config)
  values = short_runs.values(checkpoints.latest(config.train_dir))
  expected, labels = computed(source, values)
  found, found_labels = load_kept(tmp_path)
  # Two versions, which differ by distortions only.
  np.testing.assert_allclose(found, np.tile(expected, [2, 1, 1, 1]), rtol=1e-3,
                             atol=1e-4)
  np.testing.assert_array_equal(found_labels, np.tile(labels, 2))
  # The layers stay, and are part of the checkpoint, with their averages.
  before = short_runs.values(checkpoints.latest(str(source / 'train')))
  average = '/ExponentialMovingAverage'
  for name in ('conv1/weights', 'conv1/biases', 'conv2/weights'):
    for now in (name, name + average):
      np.testing.assert_array_equal(values[now], before[name + average])
  assert (values['local3/weights'] != before['local3/weights' + average]).any()


def test_versions_of_an_image_differ(tmp_path, source):
  cifar10_train.train(config_for(tmp_path, source, cache_frozen=3))
  found, labels = load_kept(tmp_path)
  assert len(found) == 3 * COUNT
  assert len({image.tobytes() for image in found}) == 3 * COUNT
  np.testing.assert_array_equal(labels[:COUNT], labels[COUNT:2 * COUNT])


def losses(config, train):
  """The losses of a run."""
  train(config)
  with open(config.metrics) as lines:
    return [json.loads(line)['loss'] for line in lines]


@pytest.mark.parametrize('num_gpus', [1, 2])
def test_a_run_learns_as_without_keeping(tmp_path, source, num_gpus):
  # Batches of all images, so that their order does not matter.
  found = [
      losses(
          config_for(tmp_path / name, source, augment='', max_steps=5,
                     batch_size=COUNT // num_gpus, num_gpus=num_gpus,
                     metrics=str(tmp_path / name),
                     train_dir=str(tmp_path / (name + '_train')),
                     cache_frozen=versions), TRAINERS[num_gpus])
      for name, versions in (('kept', 1), ('computed', 0))
  ]
  assert len(found[0]) == 5 and found[0][4] < found[0][0]
  np.testing.assert_allclose(found[0], found[1], rtol=2e-4)


def test_an_evaluation_needs_nothing_of_it(tmp_path, source, capsys):
  config = config_for(tmp_path, source)
  cifar10_train.train(config)
  os.remove(kept(tmp_path))
  cifar10_eval.evaluate(config)
  assert short_runs.PRECISION_LINE.search(capsys.readouterr().out)


def test_a_resumed_run_goes_on_with_what_is_kept(tmp_path, source, capsys):
  cifar10_train.train(config_for(tmp_path, source))
  before = os.stat(kept(tmp_path))
  cifar10_train.train(config_for(tmp_path, source, max_steps=6))
  after = os.stat(kept(tmp_path))
  assert (after.st_ino, after.st_mtime_ns) == (before.st_ino,
                                               before.st_mtime_ns)
  assert 'outputs of the frozen layers are in' in capsys.readouterr().out


@pytest.mark.parametrize('changes', [{
    'augment': 'crop'
}, {
    'cache_frozen': 2
}, {
    'seed': 7
}])
def test_what_was_kept_of_something_else_is_computed_anew(
    tmp_path, source, changes):
  cifar10_train.train(config_for(tmp_path, source))
  before, _ = load_kept(tmp_path)
  cifar10_train.train(config_for(tmp_path, source, max_steps=6, **changes))
  after, _ = load_kept(tmp_path)
  assert before.shape != after.shape or (before != after).any()


@pytest.mark.parametrize('changes', [{
    'activation': 'tanh'
}, {
    'normalization': 'none'
}])
def test_outputs_of_another_model_are_computed_anew(tmp_path, source, changes):
  config = config_for(tmp_path, source)
  cifar10_train.train(config)
  before, _ = load_kept(tmp_path)
  # As if the first checkpoint could not be written: the model is free.
  for name in os.listdir(config.train_dir):
    if not name.startswith('frozen_layers'):
      os.remove(os.path.join(config.train_dir, name))
  cifar10_train.train(dataclasses.replace(config, **changes))
  after, _ = load_kept(tmp_path)
  assert (before != after).any()


def cut_between_records(path):
  os.truncate(path, 9217)


def cut(path):
  os.truncate(path, 9217 + 5)


def relabel(path):
  with open(path, 'r+b') as file:
    file.write(b'\xff')


def lose_the_description(path):
  os.remove(path.replace('.bin', '.json'))


def damage_the_description(path):
  with open(path.replace('.bin', '.json'), 'w') as file:
    file.write('{')


@pytest.mark.parametrize(
    'damage', [cut_between_records, cut, relabel, lose_the_description] +
    [damage_the_description, os.remove])
def test_what_is_damaged_is_computed_anew(tmp_path, source, damage):
  cifar10_train.train(config_for(tmp_path, source, seed=1))
  before, labels = load_kept(tmp_path)
  damage(kept(tmp_path))
  cifar10_train.train(config_for(tmp_path, source, seed=1, max_steps=6))
  after, labels_now = load_kept(tmp_path)
  np.testing.assert_array_equal(after, before)
  np.testing.assert_array_equal(labels_now, labels)


def test_it_goes_with_other_techniques(tmp_path, capsys):
  first = config_for(tmp_path, tmp_path, dataset='sample', cache_frozen=0,
                     freeze='', normalization='batch', top_layers='local')
  cifar10_train.train(first)
  config = dataclasses.replace(first, train_dir=str(tmp_path / 'next'),
                               checkpoint_dir=str(tmp_path / 'next'),
                               init_from=first.train_dir, freeze='conv',
                               cache_frozen=2, precision='bfloat16',
                               validation_examples=100, validation_steps=2,
                               labelled_examples=50, conv_dropout=0.2)
  cifar10_train.train(config)
  size = os.path.getsize(str(tmp_path / 'next' / 'frozen_layers.bin'))
  assert size == 2 * 50 * 9217
  cifar10_eval.evaluate(config)
  out = capsys.readouterr().out
  assert 'validation precision @ 1 = ' in out
  assert short_runs.PRECISION_LINE.search(out)


def test_larger_gray_images_are_kept_too(tmp_path):
  synthetic_records.make_three_classes(tmp_path, size=48, channels=1)
  first = config_for(tmp_path, tmp_path, cache_frozen=0, freeze='')
  cifar10_train.train(first)
  config = dataclasses.replace(first, train_dir=str(tmp_path / 'next'),
                               init_from=first.train_dir, freeze='conv',
                               cache_frozen=1)
  cifar10_train.train(config)
  size = os.path.getsize(str(tmp_path / 'next' / 'frozen_layers.bin'))
  assert size == 60 * (1 + 9 * 9 * 64 * 4)


def test_overwriting_a_run_deletes_what_it_kept(tmp_path, source):
  cifar10_train.train(config_for(tmp_path, source))
  config = config_for(tmp_path, source, overwrite=True, cache_frozen=0,
                      max_steps=2)
  cifar10_train.train(config)
  assert not [n for n in os.listdir(config.train_dir) if 'frozen' in n]


@pytest.mark.parametrize('freeze', ['conv1', 'conv2', 'conv[12]/weights'])
def test_all_convolutional_layers_must_be_frozen(tmp_path, source, freeze):
  with pytest.raises(UserError, match='=1: conv./.* is not frozen; expected'):
    cifar10_train.train(config_for(tmp_path, source, freeze=freeze))


def test_a_damaged_file_ends_a_run_that_saves(tmp_path, source):
  config = config_for(tmp_path, source)
  cifar10_train.train(config)
  process = processes.start(
      [short_runs.script('cifar10_train'), '--log_frequency=1'] +
      flags(config) + ['--max_steps=1000000'], stdout=processes.PIPE,
      stderr=processes.PIPE)
  while not short_runs.steps(process.stdout.readline()):
    assert process.poll() is None
  os.truncate(kept(tmp_path), 9217)
  _, err = process.communicate(60)
  assert process.returncode == 1
  assert err.startswith('cifar10_train: error: ') and err.count('\n') == 1
  assert 'frozen_layers.bin: found 9217 bytes; expected 921700' in err


def flags(config):
  """The settings of `config_for` as flags."""
  names = ('train_dir', 'data_dir', 'init_from', 'freeze', 'cache_frozen')
  values = config.of_groups('run', 'data', 'transfer')
  return ['--%s=%s' % (name, values[name]) for name in names
         ] + ['--batch_size=16']


def test_a_signal_leaves_nothing_unfinished(tmp_path, source):
  config = config_for(tmp_path, source, cache_frozen=10000)
  process = processes.start([short_runs.script('cifar10_train')] +
                            flags(config), stdout=processes.PIPE,
                            stderr=processes.PIPE)
  while 'Computing' not in process.stdout.readline():
    assert process.poll() is None
  process.send_signal(signal.SIGTERM)
  out, err = process.communicate(60)
  assert process.returncode == 0 and err == ''
  assert 'Stopped by SIGTERM.\n' in out
  assert not [n for n in os.listdir(config.train_dir) if 'frozen' in n]
