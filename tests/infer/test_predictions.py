"""Predictions: probabilities of records, by a restored model."""

import contextlib
import dataclasses
import os
import shutil

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.infer import export
from cifar10.infer import predictions
from cifar10.settings import Settings
from tests import synthetic_records
from tests.infer import random_models

CIFAR10 = datasets.in_folder('nowhere')


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
  """A checkpoint and its values."""
  return random_models.save(tmp_path_factory.mktemp('saved'), CIFAR10)


@pytest.fixture(scope='module')
def exported(saved, tmp_path_factory):
  """The folder of an export of `saved`."""
  return export_to(tmp_path_factory.mktemp('exported'), CIFAR10, saved[0])


def export_to(folder, data, checkpoint):
  """Exports a checkpoint as a SavedModel; returns the path of its folder."""
  path = str(folder / 'exported')
  frozen = export.freeze(data, checkpoint, Settings())
  export.write_saved_model(frozen, path, Settings())
  return path


@pytest.mark.parametrize('own', [False, True])
def test_an_export_has_the_probabilities_of_its_run(saved, exported, tmp_path,
                                                    own):
  data, (_, values), path = CIFAR10, saved, exported
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
  np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize('settings, given, flag', [
    ({'tta': True}, (), '--tta: '),
    ({'image_size': 32}, (), '--image_size: '),
    ({'dataset': 'sample'}, (), '--dataset: '),
    ({}, ['use_moving_averages'], '--use_moving_averages: '),
    ({}, ['precision'], '--precision: '),
    ({}, ['tta', 'image_size', 'eval_device', 'batch_size'], '')
])  # yapf: disable
def test_an_export_follows_no_setting_of_its_own(exported, settings, given,
                                                 flag):
  config = Settings(checkpoint_dir=exported, **settings)
  config = dataclasses.replace(config, given=frozenset(given))
  if not flag:
    predictions.load(config).close()
    return
  with pytest.raises(UserError, match=flag) as info:
    predictions.load(config)
  assert '%s is an export, which' % exported in str(info.value)


@pytest.mark.parametrize('shape', [[None, 3], [None, None, None, 3]])
def test_what_is_no_export_or_damaged_is_named(exported, tmp_path, recwarn,
                                               shape):
  folder = str(tmp_path / 'folder')
  model = os.path.join(folder, 'saved_model.pb')

  def check(problem='not an export of cifar10_export, with the signatures '
            'images and classes, or damaged: '):
    with pytest.raises(UserError) as info:
      predictions.load(Settings(checkpoint_dir=folder))
    assert str(info.value).startswith(f'{folder}: {problem}')
    assert '\n' not in str(info.value)

  # First without the signatures, then with one that takes something else.
  for key in ('serving_default', 'images'):
    with tf.Graph().as_default(), tf.Session() as session:
      given = tf.placeholder(tf.uint8, shape, 'given')
      signature = tf.saved_model.predict_signature_def(
          {'images': given}, {'probabilities': tf.cast(given, tf.float32)})
      builder = tf.saved_model.Builder(folder)
      builder.add_meta_graph_and_variables(session, [tf.saved_model.SERVING],
                                           {key: signature})
      builder.save()
    check()
    shutil.rmtree(folder)
  shutil.copytree(exported, folder)
  with open(model, 'rb') as content:
    whole = content.read()
  for damaged in (b'', whole[:-1000], whole[:len(whole) // 2], b'text'):
    with open(model, 'wb') as content:
      content.write(damaged)
    check()
  with open(model, 'wb') as content:
    content.write(whole.replace(b'Softmax', b'Hardmax'))
  check('written with a newer TensorFlow, or by another program; expected an')
  assert list(recwarn) == []
