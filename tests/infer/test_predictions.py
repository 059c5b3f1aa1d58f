"""Predictions: probabilities of records, by a restored model."""

import contextlib
import dataclasses
import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.infer import export
from cifar10.infer import predictions
from cifar10.settings import Settings
from tests import short_runs
from tests import synthetic_records
from tests.infer import random_models

CIFAR10 = datasets.in_folder('nowhere')


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
  """A checkpoint and its values."""
  return random_models.save(tmp_path_factory.mktemp('saved'), CIFAR10)


def predict(batches, data, checkpoint, **settings):
  """The probabilities of several batches of records, by one Predictor."""
  network = predictions.Network(Settings(**settings), checkpoint)
  with contextlib.closing(predictions.Predictor(data, network)) as predictor:
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
  together, first = predict([unlabeled, records[:1]], CIFAR10, checkpoint,
                            use_moving_averages=averages)
  assert together.dtype == np.float32
  np.testing.assert_allclose(together, expected, rtol=1e-4, atol=1e-6)
  np.testing.assert_allclose(first, expected[:1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize('form', ['direct', 'winograd'])
def test_both_forms_of_convolution_give_the_same_probabilities(
    saved, monkeypatch, form):
  forms = short_runs.noted_forms(monkeypatch)
  checkpoint, values = saved
  records = synthetic_records.make_records(np.arange(9))
  expected = random_models.probabilities(records, CIFAR10, values,
                                         random_models.AVERAGE)
  del forms[:]
  (found,) = predict([records], CIFAR10, checkpoint, conv=form)
  assert forms == [form] * 2
  np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


def test_a_model_of_small_gray_images_and_local_layers(tmp_path):
  data = random_models.own_data(tmp_path)
  checkpoint, values = random_models.save(tmp_path, data, 'local')
  records = synthetic_records.make_records([0, 1, 2], layout=data.layout)
  expected = random_models.probabilities(records, data, values,
                                         random_models.AVERAGE, 'local')
  assert expected.shape == (3, 3)
  (found,) = predict([records], data, checkpoint, top_layers='local')
  np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize('size, count, lengths', [(32, 600, [500, 100]),
                                                  (96, 200, [151, 49]),
                                                  (256, 30, [21, 9]),
                                                  (4096, 2, [1, 1]),
                                                  (32, 0, [])])
def test_parts_of_large_images_are_small(size, count, lengths):
  records = np.zeros([count, 1 + 3 * size**2], np.uint8)
  assert [len(part) for part in predictions.parts(records)] == lengths


def test_no_records_have_no_probabilities(saved):
  records = np.zeros([0, CIFAR10.layout.record_bytes], np.uint8)
  (found,) = predict([records], CIFAR10, saved[0])
  assert (found.shape, found.dtype) == ((0, 10), np.float32)


def export_to(folder, data, checkpoint):
  """Exports a checkpoint as a SavedModel; returns the path of its folder."""
  path = str(folder / 'exported')
  config = Settings()
  frozen = export.freeze(data, checkpoint, config)
  export.write_saved_model(frozen, path, config)
  return path


@pytest.mark.parametrize('own', [False, True])
def test_an_export_has_the_probabilities_of_its_run(saved, tmp_path, own):
  data, (checkpoint, values) = CIFAR10, saved
  if own:
    data = random_models.own_data(tmp_path, 300)
    checkpoint, values = random_models.save(tmp_path, data)
  path = export_to(tmp_path, data, checkpoint)
  records = synthetic_records.make_records(np.arange(9), layout=data.layout)
  expected = random_models.probabilities(records, data, values,
                                         random_models.AVERAGE)
  config = Settings(checkpoint_dir=path)
  with contextlib.closing(predictions.load(config)) as predictor:
    assert isinstance(predictor, predictions.ExportedPredictor)
    assert predictor.classes == tuple(data.classes)
    assert predictor.layout == data.layout
    found = predictor.probabilities(records)
    none = predictor.probabilities(records[:0])
  np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
  assert (none.shape, none.dtype) == ((0, len(data.classes)), np.float32)


@pytest.mark.parametrize(
    'settings, given, flag',
    [({
        'tta': True
    }, (), '--tta: '),
     ({
         'use_moving_averages': False
     }, (), '--use_moving_averages: '),
     ({}, ['use_moving_averages'], '--use_moving_averages: '),
     ({}, ['precision'], '--precision: '),
     ({
         'image_size': 32
     }, (), '--image_size: '), ({
         'dataset': 'sample'
     }, (), '--dataset: '),
     ({
         'tta': False
     }, ['tta', 'image_size', 'eval_device', 'batch_size'], '')])
def test_an_export_follows_no_setting_of_its_own(saved, tmp_path, settings,
                                                 given, flag):
  path = export_to(tmp_path, CIFAR10, saved[0])
  config = dataclasses.replace(Settings(checkpoint_dir=path, **settings),
                               given=frozenset(given))
  if not flag:
    predictions.load(config).close()
    return
  with pytest.raises(UserError, match=flag) as info:
    predictions.load(config)
  assert '%s is an export, which' % path in str(info.value)


def test_a_run_is_loaded_from_its_newest_checkpoint(saved):
  checkpoint, values = saved
  records = synthetic_records.make_records(np.arange(3))
  config = Settings(checkpoint_dir=os.path.dirname(checkpoint),
                    data_dir='nowhere')
  with contextlib.closing(predictions.load(config)) as predictor:
    found = predictor.probabilities(records)
  assert predictor.classes == CIFAR10.classes
  expected = random_models.probabilities(records, CIFAR10, values,
                                         random_models.AVERAGE)
  np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def load_error(folder):
  """The message of the error of loading what is in a folder, one line."""
  with pytest.raises(UserError) as info:
    predictions.load(Settings(checkpoint_dir=str(folder)))
  message = str(info.value)
  assert message.startswith('%s: ' % folder) and '\n' not in message
  return message


@pytest.mark.parametrize('shape', [[None, 3], [None, None, None, 3]])
def test_an_export_of_another_program_is_refused(tmp_path, shape):
  # First without the signatures, then with one that takes something else.
  for name, key in (('one', 'serving_default'), ('two', 'images')):
    path = str(tmp_path / name)
    with tf.Graph().as_default(), tf.Session() as session:
      given = tf.placeholder(tf.uint8, shape, 'given')
      signature = tf.saved_model.predict_signature_def(
          {'images': given}, {'probabilities': tf.cast(given, tf.float32)})
      builder = tf.saved_model.Builder(path)
      builder.add_meta_graph_and_variables(session, [tf.saved_model.SERVING],
                                           {key: signature})
      builder.save()
    assert load_error(path) == (
        '%s: not an export of cifar10_export; expected a SavedModel with the '
        'signatures images and classes' % path)


def test_a_damaged_export_is_named(saved, tmp_path, recwarn):
  path = export_to(tmp_path, CIFAR10, saved[0])
  model = os.path.join(path, 'saved_model.pb')
  with open(model, 'rb') as content:
    whole = content.read()
  for damaged in (b'', whole[:-1000], whole[:len(whole) // 2], b'text'):
    with open(model, 'wb') as content:
      content.write(damaged)
    assert 'the SavedModel there cannot be loaded: ' in load_error(path)
  assert list(recwarn) == []


def test_precision_is_that_of_the_settings(saved):
  checkpoint, values = saved
  records = synthetic_records.make_records(np.arange(9))
  expected = random_models.probabilities(records, CIFAR10, values,
                                         random_models.AVERAGE)
  (found,) = predict([records], CIFAR10, checkpoint, precision='bfloat16')
  error = np.abs(found - expected).max()
  assert 1e-5 < error < 0.05


def test_a_model_of_other_classes_is_refused(saved, tmp_path):
  checkpoint, _ = saved
  with pytest.raises(UserError) as info:
    predict([], CIFAR10._replace(classes=('a', 'b')), checkpoint)
  assert str(info.value) == (
      '%s: softmax_linear/biases/ExponentialMovingAverage has shape [10]; this '
      'model expects [2]' % checkpoint)


def test_a_checkpoint_that_cannot_be_read_is_named(tmp_path):
  path = str(tmp_path / 'model.ckpt-1')
  with pytest.raises(UserError, match=path + ': cannot be read'):
    predict([], CIFAR10, path)
