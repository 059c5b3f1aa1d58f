"""Sparse checkpoints: what becomes zero, and what can be done with them."""

import argparse
import dataclasses
import json
import os
import shutil

import numpy as np
import pytest

from cifar10 import cifar10_train
from cifar10 import zoo
from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.tools import sparsify
from tests import processes
from tests import short_runs
from tests import synthetic_records


def layer(size, seed):
  return np.random.RandomState(seed).normal(size=size).astype(np.float32)


def test_a_share_of_each_layer_is_kept():
  values = {'a/weights': layer((50, 20), 0), 'b/weights': 9 * layer((7, 9), 1)}
  values['a/biases'] = np.zeros(20, np.float32)
  values['whitening/weights'] = layer((50, 20), 0)  # Not trained.
  found = sparsify.sparse_values(values, keep=0.1)
  for name, count in (('a/weights', 100), ('b/weights', 6)):
    kept = found[name] != 0
    assert kept.sum() == count
    np.testing.assert_array_equal(found[name][kept], values[name][kept])
    largest_lost = np.abs(values[name][~kept]).max()
    assert largest_lost <= np.abs(values[name][kept]).min()
  assert sparsify.share_of_zeros(found) == pytest.approx(1 - 106 / 1063)
  for name in ('a/biases', 'whitening/weights'):
    assert found[name] is values[name]
  for keep, zeros in ((0.0, 1.0), (1.0, 0.0)):
    found = sparsify.sparse_values(values, keep=keep)
    assert sparsify.share_of_zeros(found) == zeros


def test_the_average_decides_and_what_moves_weights_goes_with_them():
  values = {
      'a/weights': np.array([1.0, 1.0], np.float32),
      'a/weights/ExponentialMovingAverage': np.array([0.1, 2.0], np.float32),
      'a/weights/Momentum': np.array([3.0, 3.0], np.float32),
      'a/weights/RMSProp': np.array([5.0, 5.0], np.float32),
      'a/weights/RMSProp_1': np.array([6.0, 6.0], np.float32),
      'a/weights/Adam_1': np.array([4.0, 4.0], np.float32)
  }
  found = sparsify.sparse_values(values, threshold=0.5)
  expected = {
      'a/weights': [0, 1],
      'a/weights/ExponentialMovingAverage': [0, 2],
      'a/weights/Momentum': [0, 3],
      'a/weights/RMSProp': [5, 5],
      'a/weights/RMSProp_1': [0, 6],
      'a/weights/Adam_1': [4, 4]
  }
  for name, value in expected.items():
    np.testing.assert_array_equal(found[name], value)


def arguments(checkpoint, out):
  return argparse.Namespace(checkpoint=str(checkpoint), out=str(out), keep=0.25,
                            threshold=None)


SETTINGS = {
    'optimizer': 'nesterov',
    'normalization': 'batch',
    'hidden_layers': '8',
    'batch_size': 8
}


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
  folder = tmp_path_factory.mktemp('trained')
  cifar10_train.train(short_runs.small_config(folder, **SETTINGS))
  return folder


@pytest.mark.slow
def test_without_images_there_is_no_precision_and_what_misfits_is_named(
    trained, tmp_path):
  config = short_runs.small_config(trained, dataset='cifar10',
                                   data_dir=str(tmp_path), **SETTINGS)
  checkpoint = checkpoints.latest(config.train_dir)
  assert sparsify.precisions([{}], checkpoint, config) == [None]
  values = [checkpoints.read(checkpoint)]
  folder = synthetic_records.make_folder(tmp_path)
  other = dataclasses.replace(config, hidden_layers='9')
  with pytest.raises(UserError, match='local3/.* this model expects'):
    sparsify.precisions(values, checkpoint, other)
  (folder / 'test_batch.bin').write_bytes(b'')
  with pytest.raises(UserError, match='test_batch.bin: '):
    sparsify.precisions(values, checkpoint, config)


@pytest.mark.slow
def test_what_cannot_be_read_or_written_is_named(trained, tmp_path):
  train = trained / 'train'
  for checkpoint, out, problem in ((tmp_path / 'none', tmp_path / 'out',
                                    'none: there is no such checkpoint'),
                                   (train, train, 'exists; expected a new')):
    with pytest.raises(UserError, match=problem):
      sparsify.sparsify(arguments(checkpoint, out))


@pytest.mark.slow
def test_a_sparse_checkpoint_evaluates_and_trains_on(trained, tmp_path):
  out = tmp_path / 'train'
  printed = processes.output([
      short_runs.script('sparsify'),
      str(trained / 'train'), '--keep=0.25',
      '--out=%s' % out
  ], errors=processes.MODELS)
  header, before, after, last = printed.splitlines()
  assert last.endswith('run, with a larger --max_steps or --epochs.')
  assert before.split()[:3] == ['before', '0.0', '%']
  assert after.split()[:3] == ['after', '75.0', '%']
  assert float(after.split()[-2]) < 0.5 * float(before.split()[-2])
  config = short_runs.small_config(tmp_path, **SETTINGS)
  correct, _ = short_runs.evaluated(dataclasses.replace(config, batch_size=500))
  assert float(after.split()[3]) == pytest.approx(correct.mean(), abs=6e-4)
  path = checkpoints.latest(str(out))
  zeros = {
      name: value == 0
      for name, value in checkpoints.read(path).items()
      if name.endswith('/weights')
  }
  cifar10_train.train(dataclasses.replace(config, max_steps=7, hold_zeros=True))
  path = checkpoints.latest(str(out))
  assert checkpoints.step(path) == 7
  values = checkpoints.read(path)
  for name, zero in zeros.items():
    np.testing.assert_array_equal(values[name] == 0, zero)


@pytest.mark.slow
def test_a_model_of_the_package_is_averages_only(tmp_path, monkeypatch, capsys):
  # The same model, whose precision is that on the few images of the sample.
  folder = tmp_path / 'zoo' / 'tutorial'
  shutil.copytree(zoo.directory('pretrained:tutorial', ''), str(folder))
  settings = json.loads((folder / 'config.json').read_text())
  (folder / 'config.json').write_text(
      json.dumps(dict(settings, dataset='sample')))
  monkeypatch.setattr(zoo, 'FOLDER', str(tmp_path / 'zoo'))
  before = os.listdir(str(folder))
  sparsify.sparsify(arguments('pretrained:tutorial', tmp_path / 'sparse'))
  header, dense, sparse, last = capsys.readouterr().out.splitlines()
  assert dense.split()[:2] + sparse.split()[:2] == [
      'before', '0.0', 'after', '75.0'
  ]
  assert float(dense.split()[3]) == pytest.approx(0.838, abs=0.004)
  assert 0.5 < float(sparse.split()[-2]) < 0.5 * float(dense.split()[-2])
  assert '--init_from=%s --hold_zeros' % (tmp_path / 'sparse') in last
  assert os.listdir(str(folder)) == before
  config = short_runs.small_config(tmp_path, init_from=str(tmp_path / 'sparse'),
                                   hold_zeros=True)
  cifar10_train.train(config)
  path = checkpoints.latest(str(tmp_path / 'sparse'))
  values = checkpoints.read(checkpoints.latest(config.train_dir))
  for name, value in checkpoints.read(path).items():
    if name.endswith('/weights' + checkpoints.AVERAGE):
      assert not values[name][value == 0].any()
      assert not values[name[:-len(checkpoints.AVERAGE)]][value == 0].any()
