"""The exported graph: its precision, the conversion, the comparison."""

import itertools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import settings as settings_lib
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.infer import export
from cifar10.settings import Settings
from tests.infer import random_models

CONFIG = Settings(tflite='x.tflite')


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
  """A data set of gray images, a checkpoint and its frozen graph."""
  folder = tmp_path_factory.mktemp('saved')
  data = random_models.own_data(folder)
  checkpoint, _ = random_models.save(folder, data)
  return data, checkpoint, export.freeze(data, checkpoint, CONFIG)


def test_images_of_another_size_are_refused(saved):
  with tf.Graph().as_default(), tf.Session() as session:
    # Without a static shape, as a function of TensorFlow 2 is called.
    images = tf.placeholder(tf.uint8)
    (label,) = tf.import_graph_def(saved[2], {'images': images}, ['label:0'],
                                   name='')
    right = np.zeros([2, 16, 16, 1], np.uint8)
    assert session.run(label, {images: right}).shape == (2,)
    for shape in ((2, 64, 64, 1), (2, 16, 17, 1)):
      with pytest.raises(tf.errors.InvalidArgumentError,
                         match=r'%d,%d,1\] .*16,16,1' % shape[1:3]):
        session.run(label, {images: np.zeros(shape, np.uint8)})


@pytest.mark.parametrize('precision', ['bfloat16', 'float16'])
def test_the_graph_computes_in_float32(saved, precision):
  data, checkpoint, frozen = saved
  assert export.freeze(data, checkpoint,
                       Settings(precision=precision)) == frozen
  types = {node.attr['T'].type for node in frozen.node if node.op == 'MatMul'}
  assert types == {tf.float32.as_datatype_enum}


@pytest.mark.parametrize(
    'error, content, reason',
    [(ValueError('A traceback.\n\nMany words. No such operation: Odd.\n'), None,
      'No such operation: Odd.'), (ValueError(), None, 'ValueError'),
     (None, b'a model', '.*[mM]odel .*')])
def test_a_fault_of_the_converter_is_one_line(saved, monkeypatch, capfd, error,
                                              content, reason):
  data, _, frozen = saved

  def convert(_):
    if error:
      raise error
    return content

  monkeypatch.setattr(export.tf.lite.TFLiteConverter, 'convert', convert)
  problem = '^--tflite=x.tflite: TensorFlow .* cannot convert this model: %s$'
  with pytest.raises(UserError, match=problem % reason):
    export.tflite(frozen, data, CONFIG)
  assert capfd.readouterr() == ('', '')


def test_another_model_is_no_export(saved, tmp_path, monkeypatch):
  data, _, right = saved
  other, _ = random_models.save(tmp_path, data, seed=8)
  frozen = export.freeze(data, other, CONFIG)
  convert = export._converted

  def convert_wrongly(*args):
    content, found = convert(*args)
    return content, found[:, ::-1]

  monkeypatch.setattr(export, '_converted', convert_wrongly)
  with pytest.raises(UserError, match='^--tflite=x.tflite: TensorF.* wrongly:'):
    export.tflite(frozen, data, CONFIG)

  def load_other(session, *_):
    tf.import_graph_def(frozen, name='')

  monkeypatch.setattr(export.tf.saved_model.loader, 'load', load_other)
  with pytest.raises(UserError, match='^SavedModel: TensorFlow .* wrongly: '):
    export.write_saved_model(right, str(tmp_path / 'model'), CONFIG)


_SHAPES = [
    {}, {'columns': 2}, {'columns': 16}, {'hidden_layers': '30,20'},
    {'normalization': 'none'}, {'top_layers': 'local'},
    {'normalization': 'batch', 'normalize_logits': True},
    {'normalization': 'batch', 'top_layers': 'local'},
    {'normalization': 'batch', 'network': 'airbench', 'image_size': 32,
     'group_filters': '8,12,16'}
]  # yapf: disable
_ACTIVATIONS = settings_lib.FIELDS['activation'].metadata['choices']
# Each shape of a network, and each activation.
_MODELS = [
    dict(shape or {}, activation=activation or 'relu')
    for shape, activation in itertools.zip_longest(_SHAPES, _ACTIVATIONS)
]


@pytest.mark.slow
@pytest.mark.parametrize('settings', _MODELS, ids=str)
def test_every_model_is_converted(tmp_path, settings):
  data = datasets.in_folder('nowhere')
  path, _ = random_models.save(tmp_path, data, averages=False, **settings)
  config = Settings(use_moving_averages=False, **settings)
  # They load and compare what they have made.
  frozen = export.freeze(data, path, config)
  assert export.tflite(frozen, data, config)
  assert not [n for n in frozen.node if '_gradient_op_type' in n.attr]
