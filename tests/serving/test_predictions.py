"""Predictions: probabilities of records, by a restored model."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.config import Config
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.serving import predictions
from tests import synthetic_records
from tests.serving import random_models

CIFAR10 = datasets.in_folder('nowhere')


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
  """A checkpoint and its values."""
  return random_models.save(tmp_path_factory.mktemp('saved'), CIFAR10)


def predict(batches, data, checkpoint, **settings):
  """The probabilities of several batches of records, by one Predictor."""
  with tf.Graph().as_default(), tf.Session() as session:
    predictor = predictions.Predictor(
      session, data, checkpoint, Config.of(**settings)
    )
    return [predictor.probabilities(records) for records in batches]


@pytest.mark.parametrize('averages', [True, False])
def test_probabilities_are_those_of_the_model(saved, averages):
  checkpoint, values = saved
  records = synthetic_records.make_records(np.arange(9))
  suffix = random_models.AVERAGE if averages else ''
  expected = random_models.probabilities(records, CIFAR10, values, suffix)
  assert expected.std(axis=0).max() > 0.01  # The images differ.
  unlabeled = records.copy()
  unlabeled[:, 0] = 0
  together, first = predict(
    [unlabeled, records[:1]],
    CIFAR10,
    checkpoint,
    use_moving_averages=averages,
  )
  assert together.dtype == np.float32
  np.testing.assert_allclose(together, expected, rtol=1e-4, atol=1e-6)
  np.testing.assert_allclose(first, expected[:1], rtol=1e-4, atol=1e-6)


def test_a_model_of_small_gray_images_and_local_layers(tmp_path):
  data = random_models.own_data(tmp_path)
  checkpoint, values = random_models.save(tmp_path, data, 'local')
  records = synthetic_records.make_records([0, 1, 2], layout=data.layout)
  expected = random_models.probabilities(
    records, data, values, random_models.AVERAGE, 'local'
  )
  assert expected.shape == (3, 3)
  (found,) = predict([records], data, checkpoint, top_layers='local')
  np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_precision_is_that_of_the_settings(saved):
  checkpoint, values = saved
  records = synthetic_records.make_records(np.arange(9))
  expected = random_models.probabilities(
    records, CIFAR10, values, random_models.AVERAGE
  )
  (found,) = predict([records], CIFAR10, checkpoint, precision='bfloat16')
  error = np.abs(found - expected).max()
  assert 1e-5 < error < 0.05


def test_a_model_of_other_classes_is_refused(saved, tmp_path):
  checkpoint, _ = saved
  with pytest.raises(UserError) as info:
    predict([], CIFAR10._replace(classes=('a', 'b')), checkpoint)
  assert str(info.value) == (
    '%s: softmax_linear/biases/ExponentialMovingAverage has shape [10]; this '
    'model expects [2]' % checkpoint
  )


def test_a_checkpoint_that_cannot_be_read_is_named(tmp_path):
  path = str(tmp_path / 'model.ckpt-1')
  with pytest.raises(UserError, match=path + ': cannot be read'):
    predict([], CIFAR10, path)
