"""Whitening: outputs without correlation, in new runs only."""

import dataclasses

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_train
from cifar10.data import records as records_lib
from cifar10.run import initial_values
from cifar10.run import trainer
from cifar10.store import checkpoints
from cifar10.util import graph_keys
from tests import reference
from tests import short_runs
from tests import synthetic_records

pytestmark = pytest.mark.slow

SETTINGS = {
    'network': 'airbench',
    'group_filters': '4,4,4',
    'batch_size': 4,
    'normalization': 'batch',
    'image_size': 32,
    'max_steps': 1
}


def patches(images):
  """All 2 x 2 patches, [n, 2, 2, depth]."""
  return np.array([
      image[y:y + 2, x:x + 2]
      for image in images
      for y in range(image.shape[0] - 1)
      for x in range(image.shape[1] - 1)
  ])


def test_outputs_have_variance_1_and_no_correlation():
  rng = np.random.RandomState(0)
  smooth = rng.normal(size=[50, 9, 9, 3]).cumsum(1).cumsum(2)
  images = (smooth - smooth.mean()) / smooth.std()
  filters = initial_values.whitening_filters([images[:20], images[20:]], 2)
  assert filters.shape == (2, 2, 3, 24)
  np.testing.assert_array_equal(filters[..., :12], -filters[..., 12:])
  outputs = np.tensordot(patches(images), filters[..., :12], 3)
  moments = outputs.T @ outputs / len(outputs)
  # Small variances are not brought up to 1.
  smallest = np.linalg.eigvalsh(
      np.cov(patches(images).reshape(-1, 12).T, bias=True))[0]
  assert np.abs(moments - np.diag(np.diag(moments))).max() < 1e-3
  assert np.diag(moments).max() < 1.001
  assert np.diag(moments).min() > smallest / (smallest + 6e-4)


def filters_in(directory):
  path = checkpoints.latest(directory)
  return tf.train.load_variable(path, 'whitening/weights')


@pytest.fixture(scope='module', name='trained')
def _trained(tmp_path_factory):
  """The Settings of a run of one step."""
  folder = tmp_path_factory.mktemp('trained')
  config = short_runs.small_config(folder, **SETTINGS)
  cifar10_train.train(config)
  return config


def test_a_new_run_has_those_of_its_images(trained):
  found = filters_in(trained.train_dir)
  data = short_runs.prepared(trained)
  records = data.records_to_train_on()
  images = [
      reference.whiten(image)
      for image in synthetic_records.images_of(records[:200])
  ]
  outputs = np.tensordot(patches(images), found, 3)
  deviations = outputs.std(axis=0)
  assert deviations.max() < 1.3 and deviations[0] > 0.7
  # A run that is resumed keeps them.
  settings = dataclasses.replace(trained, validation_examples=100, max_steps=2)
  assert initial_values.loader(trainer.Run(settings, data, None)) is None


def test_large_images_are_taken_in_small_batches(trained, monkeypatch):
  monkeypatch.setattr(records_lib, '_MAX_BYTES', 99 * 3073)
  shapes = []

  def noted(batches, _):
    shapes.extend(images.shape for images in batches)
    return np.zeros([2, 2, 3, 24])

  monkeypatch.setattr(initial_values, 'whitening_filters', noted)
  data = short_runs.prepared(trained)
  fresh = dataclasses.replace(trained, overwrite=True)
  weights = tf.get_variable('whitening/weights', [2, 2, 3, 24])
  tf.add_to_collection(graph_keys.WHITENING, weights)
  initial_values.loader(trainer.Run(fresh, data, None))
  count = len(data.records_to_train_on())
  assert sum(shape[0] for shape in shapes) == min(count, 5000)
  assert max(shape[0] for shape in shapes) == 99


def test_a_run_from_another_one_takes_its_filters(trained, tmp_path):
  second = str(tmp_path / 'second')
  cifar10_train.train(
      dataclasses.replace(trained, init_from=trained.train_dir,
                          train_dir=second, validation_examples=300,
                          max_steps=2))
  np.testing.assert_array_equal(filters_in(second),
                                filters_in(trained.train_dir))
