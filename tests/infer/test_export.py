"""The exported graph: its outputs, its precision, and the conversion."""

import io
import os
import re
import sys
import zipfile

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import settings as settings_lib
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.infer import export
from cifar10.settings import Settings
from tests import synthetic_records
from tests.infer import random_models


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
  """A data set of gray images, and a checkpoint with its values."""
  folder = tmp_path_factory.mktemp('saved')
  data = random_models.own_data(folder, num_classes=300)
  return (data,) + random_models.save(folder, data)


def run(graph_def, outputs, images):
  """Runs a frozen graph; returns the values of its outputs."""
  with tf.Graph().as_default(), tf.Session() as session:
    tf.import_graph_def(graph_def, name='')
    return session.run([name + ':0' for name in outputs], {'images:0': images})


@pytest.mark.parametrize('averages', [True, False])
def test_the_graph_computes_the_probabilities_of_the_model(saved, averages):
  data, checkpoint, values = saved
  config = Settings(use_moving_averages=averages)
  frozen = export.freeze(data, checkpoint, config)
  records = synthetic_records.make_records(np.arange(5), layout=data.layout)
  suffix = random_models.AVERAGE if averages else ''
  expected = random_models.probabilities(records, data, values, suffix)
  images = synthetic_records.images_of(records, data.layout)
  probabilities, number, label, classes = run(
      frozen, ('probabilities', 'class', 'label', 'classes'), images)
  np.testing.assert_allclose(probabilities, expected, rtol=1e-4, atol=1e-6)
  assert number.dtype == np.int32
  np.testing.assert_array_equal(number, expected.argmax(axis=1))
  assert classes.tolist() == [name.encode() for name in data.classes]
  np.testing.assert_array_equal(label, classes[number])


@pytest.mark.parametrize('shape', [(2, 64, 64, 1), (2, 16, 17, 1)])
def test_images_of_another_size_are_refused(saved, shape):
  data, checkpoint, _ = saved
  frozen = export.freeze(data, checkpoint, Settings())
  with tf.Graph().as_default(), tf.Session() as session:
    # Without a static shape, as a function of TensorFlow 2 is called.
    images = tf.placeholder(tf.uint8)
    (label,) = tf.import_graph_def(frozen, {'images': images}, ['label:0'],
                                   name='')
    right = np.zeros([2, 16, 16, 1], np.uint8)
    assert session.run(label, {images: right}).shape == (2,)
    with pytest.raises(tf.errors.InvalidArgumentError,
                       match=r'%d,%d,1\] .*16,16,1' % shape[1:3]):
      session.run(label, {images: np.zeros(shape, np.uint8)})


@pytest.mark.parametrize('precision', ['bfloat16', 'float16'])
def test_the_graph_computes_in_float32(saved, precision):
  data, checkpoint, _ = saved
  config = Settings(precision=precision)
  frozen = export.freeze(data, checkpoint, config)
  assert frozen == export.freeze(data, checkpoint, Settings())
  types = {node.attr['T'].type for node in frozen.node if node.op == 'MatMul'}
  assert types == {tf.float32.as_datatype_enum}


_CONVERTER = tf.lite.TFLiteConverter


class Converter:
  """In the place of TensorFlow's: notes PATH; fails, or returns a content.

  It converts a model only once.
  """
  converted = None

  def __init__(self, error=None, content=None):
    self.error, self.content = error, content
    self.path = None

  def from_session(self, session, inputs, outputs):
    assert [tensor.op.name for tensor in inputs] == ['images']
    assert [tensor.op.name for tensor in outputs] == ['class', 'probabilities']
    self._real = _CONVERTER.from_session(session, inputs, outputs)
    return self

  def convert(self):
    self.path = os.environ['PATH']
    if self.error:
      raise self.error
    if not self.content and not Converter.converted:
      Converter.converted = self._real.convert()
    return self.content or Converter.converted


@pytest.fixture
def convert(saved, monkeypatch):
  """Converts a model with a given Converter."""
  data, checkpoint, _ = saved
  config = Settings(tflite='x.tflite')
  frozen = export.freeze(data, checkpoint, config)

  def call(converter):
    monkeypatch.setattr(export.tf.lite, 'TFLiteConverter', converter)
    return export.tflite(frozen, data, config)

  return call


@pytest.mark.parametrize('path', ['/a:/b', ''])
def test_the_converter_finds_scripts_next_to_python(convert, monkeypatch, path):
  monkeypatch.setenv('PATH', path)
  for _ in range(2):
    converter = Converter()
    convert(converter)
    start, last = converter.path.rsplit(os.pathsep, 1)
    assert start == (path or os.defpath)
    assert last == os.path.dirname(sys.executable)
    assert os.environ['PATH'] == path


def test_path_is_restored_after_an_error(convert, monkeypatch):
  before = os.environ['PATH']
  with pytest.raises(UserError, match='broken'):
    convert(Converter(ValueError('broken')))
  assert os.environ['PATH'] == before
  monkeypatch.delenv('PATH')
  convert(Converter())
  assert 'PATH' not in os.environ


@pytest.mark.parametrize(
    'error, content, reason',
    [(ValueError('A traceback.\n\nMany words. No such operation: Odd.\n'), None,
      'No such operation: Odd.'), (ValueError(), None, 'ValueError'),
     (None, b'a model', '.*[mM]odel .*')])
def test_a_fault_of_the_converter_is_one_line(convert, capfd, error, content,
                                              reason):
  with pytest.raises(UserError) as info:
    convert(Converter(error, content))
  assert re.fullmatch(
      'x.tflite: TensorFlow %s cannot convert this model: %s' %
      (re.escape(tf.__version__), reason),
      str(info.value)[len('--tflite='):])
  assert capfd.readouterr() == ('', '')


def test_another_model_is_no_export(saved, convert, tmp_path, monkeypatch):
  data = saved[0]
  other, _ = random_models.save(tmp_path, data, seed=8)
  frozen = export.freeze(data, other, Settings())
  content = export.tflite(frozen, data, Settings())
  with pytest.raises(UserError,
                     match='^--tflite=x.tflite: TensorFlow .* wrong'):
    convert(Converter(content=content))

  def load_other(session, *_):
    tf.import_graph_def(frozen, name='')

  monkeypatch.setattr(export.tf.saved_model.loader, 'load', load_other)
  right = export.freeze(data, saved[1], Settings())
  with pytest.raises(UserError, match='^SavedModel: TensorFlow .* wrongly: '):
    export.write_saved_model(right, str(tmp_path / 'model'), Settings())


_MODELS = [{
    name: value
}
           for name in ('activation', 'normalization', 'top_layers')
           for value in settings_lib.FIELDS[name].metadata['choices']]
_MODELS += [{'columns': 2}, {'columns': 16}, {'hidden_layers': '30,20'}]
_MODELS += [{'normalization': 'batch', 'normalize_logits': True}]
_MODELS += [{'normalization': 'batch', 'top_layers': 'local'}]
_MODELS += [{'normalization': 'batch', 'network': 'airbench', 'image_size': 32}]


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


def test_a_tflite_file_holds_the_names_of_the_classes(saved, convert):
  content = convert(Converter())
  with zipfile.ZipFile(io.BytesIO(content)) as archive:
    assert archive.namelist() == ['labels.txt']
    names = archive.read('labels.txt').decode('utf-8').splitlines()
  assert tuple(names) == saved[0].classes
