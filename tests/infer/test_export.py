"""The exported graph: its outputs, its precision, and the conversion."""

import io
import os
import sys
import zipfile

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

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


class Converter:
  """In the place of TensorFlow's converter: it notes PATH, or fails."""

  def __init__(self, error=None):
    self.error = error
    self.path = None

  def from_session(self, session, inputs, outputs):
    assert [tensor.op.name for tensor in inputs] == ['images']
    assert [tensor.op.name for tensor in outputs] == ['class', 'probabilities']
    return self

  def convert(self):
    self.path = os.environ['PATH']
    if self.error:
      raise self.error
    return b'a model'


@pytest.fixture
def convert(saved, monkeypatch):
  """Converts a model with a given Converter."""
  data, checkpoint, _ = saved
  config = Settings()
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
  with pytest.raises(ValueError, match='broken'):
    convert(Converter(ValueError('broken')))
  assert os.environ['PATH'] == before
  monkeypatch.delenv('PATH')
  convert(Converter())
  assert 'PATH' not in os.environ


def test_a_tflite_file_holds_the_names_of_the_classes(saved, convert):
  content = convert(Converter())
  assert content.startswith(b'a model')
  with zipfile.ZipFile(io.BytesIO(content)) as archive:
    assert archive.namelist() == ['labels.txt']
    names = archive.read('labels.txt').decode('utf-8').splitlines()
  assert tuple(names) == saved[0].classes
