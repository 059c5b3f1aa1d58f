"""Restoring a trained model: its data set, and its variables."""

import dataclasses
import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10 import zoo
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.infer import restore
from cifar10.settings import Settings
from cifar10.store import checkpoints
from tests import synthetic_records
from tests.infer import random_models

CIFAR10 = datasets.in_folder('nowhere')


@pytest.mark.parametrize('normalization, count', [('lrn', 10), ('batch', 22)])
@pytest.mark.parametrize('averages', [True, False])
@pytest.mark.parametrize('are_there', [True, False])
def test_variables_and_statistics_are_restored_from_either(
    tmp_path, capsys, normalization, count, averages, are_there):
  networks.inference(tf.zeros([1, 24, 24, 3]),
                     Settings(normalization=normalization))
  variables = {v.op.name: v for v in tf.global_variables()}
  assert len(variables) == count
  rng, values = np.random.RandomState(0), {'global_step': np.int64(3)}
  for name, variable in variables.items():
    for suffix in ('', random_models.AVERAGE)[:1 + are_there]:
      value = rng.normal(size=variable.shape.as_list())
      values[name + suffix] = value.astype(np.float32)
  checkpoints.write(str(tmp_path), values)
  checkpoint = checkpoints.latest(str(tmp_path))
  saver = restore.savers().choose(checkpoint, averages)
  warning = (
      'WARNING: %s holds no moving averages; using the variables themselves.\n'
      % checkpoint)
  is_missing = averages and not are_there
  assert capsys.readouterr() == (warning if is_missing else '', '')
  with tf.Session() as session:
    saver.restore(session, checkpoint)
    found = session.run(variables)
  suffix = random_models.AVERAGE if averages and are_there else ''
  for name, value in found.items():
    np.testing.assert_array_equal(value, values[name + suffix])


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
  checkpoint, _ = random_models.save(tmp_path, CIFAR10)
  networks.inference(tf.zeros([1, 24, 24, 3]), Settings(top_layers='local'))
  savers = restore.savers()
  problem = '-7: is of --top_layers=full; this model is of --top_layers=local'
  with pytest.raises(UserError, match=problem):
    savers.choose(checkpoint, True)
  path = str(tmp_path / 'model.ckpt-1')
  for averages in (True, False):
    with pytest.raises(UserError, match=path + ': cannot be read'):
      savers.choose(path, averages)


def test_the_classes_of_cifar10_are_assumed_with_a_warning(tmp_path, capsys):
  missing, there = str(tmp_path / 'no'), str(tmp_path)
  assert restore.describe_data(
      Settings(data_dir=missing)).classes == CIFAR10.classes
  assert capsys.readouterr() == (
      '', 'WARNING: --data_dir=%s: no such folder; assuming the classes of '
      'CIFAR-10.\n' % missing)
  for settings in (Settings(), Settings(data_dir=there),
                   Settings(dataset='sample', data_dir=missing)):
    assert restore.describe_data(settings).classes == CIFAR10.classes
  data = restore.describe_data(synthetic_records.make_own_dataset(tmp_path))
  assert data.classes == ('a', 'b', 'c')
  assert capsys.readouterr() == ('', '')


def test_a_model_of_the_package_is_of_cifar10(tmp_path):
  own = synthetic_records.make_own_dataset(tmp_path)
  folder = zoo.directory(zoo.DEFAULT, '')
  settings = Settings(checkpoint_dir=folder, data_dir=own.data_dir,
                      classes=datasets.CLASSES, image_shape=(32, 32, 3))
  data = restore.describe_data(settings)
  assert data.classes == datasets.CLASSES
  assert data.test_files == (os.path.join(own.data_dir, 'cifar-10-batches-bin',
                                          'test_batch.bin'),)
  large = synthetic_records.make_images_of_size(tmp_path / 'large', 40)
  for data_dir, problem in (
      (own.data_dir, 'the model was trained on airplane'),
      (large.data_dir, 'of 40 x 40 x 3; the model was trained on 32 x 32')):
    given = dataclasses.replace(settings, data_dir=data_dir,
                                given=frozenset(['data_dir']))
    with pytest.raises(UserError, match=problem):
      restore.describe_data(given)
