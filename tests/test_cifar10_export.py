"""The export: each form answers elsewhere as the evaluator does here."""

import os
import subprocess
import sys

import numpy as np
from PIL import Image
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_export
from cifar10 import cifar10_train
from cifar10.config import Config
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.serving import export
from tests import short_runs
from tests import synthetic_records
from tests import test_dataset
from tests import test_pictures

COUNT = 100  # Images that the answers are compared on.

FORMS = {  # What is loaded, and how, by the name of its flag.
  'saved_model': 'export_dir',
  'loader': 'export_dir',
  'tflite': 'tflite',
  'frozen': 'frozen_graph',
}


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
  """A directory with a run, saved at steps 0, 10 and 20."""
  folder = tmp_path_factory.mktemp('trained')
  config = short_runs.small_config(
    folder, batch_size=64, max_steps=20, save_steps=10, seed=1
  )
  cifar10_train.train(config)
  return folder


@pytest.fixture(scope='module')
def images():
  """The first test images of the sample, uint8 [COUNT, 32, 32, 3]."""
  (path,) = short_runs.prepared(Config.of(dataset='sample')).test_files
  records = np.fromfile(path, np.uint8).reshape(-1, 3073)[:COUNT]
  return synthetic_records.images_of(records)


@pytest.fixture(scope='module')
def exported(trained):
  """What a process prints that exports each form; they are in `trained`."""
  flags = {
    'checkpoint_dir': 'train',
    'export_dir': 'away/model/',
    'tflite': 'away/model/model.tflite',
    'frozen_graph': 'files/model.pb',
  }
  paths = {flag: str(trained / path) for flag, path in flags.items()}
  os.makedirs(paths['export_dir'])  # It may be there, if it is empty.
  paths['export_dir'] += '/'
  status, out, err = short_runs.run(
    'cifar10_export', *['--%s=%s' % item for item in paths.items()]
  )
  assert (status, err) == (0, '')
  return dict(paths, out=out)


def expected(folder, step=None, averaged=True):
  """The probabilities that the evaluator finds, [COUNT, classes]."""
  config = short_runs.small_config(
    folder, batch_size=COUNT, use_moving_averages=averaged
  )
  _, found = short_runs.evaluated(config, step)
  return found


def load_elsewhere(form, path, folder):
  """What `load_export.py` finds out, in a process of its own."""
  results = str(folder / 'results.npz')
  environment = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
  process = subprocess.run(
    [sys.executable, os.path.join(os.path.dirname(__file__), 'load_export.py')]
    + [form, path, str(folder), results],
    check=False,
    cwd=str(folder),
    env=environment,
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    universal_newlines=True,
    timeout=120,
  )
  assert process.returncode == 0, process.stdout
  return dict(np.load(results))


@pytest.mark.parametrize('form', sorted(FORMS))
def test_each_form_answers_elsewhere_as_the_evaluator(
  trained, exported, images, tmp_path, form
):
  if form == 'saved_model' and tf.__version__ < '2':
    pytest.skip('tf.saved_model.load is of TensorFlow 2')
  np.save(str(tmp_path / 'images.npy'), images)
  for i, image in enumerate(images):
    Image.fromarray(image).save(str(tmp_path / ('%03d.png' % i)))
  found = load_elsewhere(form, exported[FORMS[form]], tmp_path)
  classes = found.pop('classes').tolist()
  assert classes == [name.encode() for name in datasets.CLASSES]
  signatures = {
    'saved_model': {'serving_default', 'images', 'pictures'},
    'loader': {'serving_default', 'images', 'pictures'},
    'frozen': {'images', 'pictures'},
    'tflite': {'images'},
  }[form]
  outputs = {'class', 'probabilities'}
  if form != 'tflite':
    outputs.add('label')
  assert set(found) == {
    '%s %d %s' % (signature, count, output)
    for signature in signatures
    for count in (100, 7, 1)
    for output in outputs
  }
  probabilities = expected(trained)
  assert len(set(probabilities.argmax(axis=1))) > 1
  for name, answers in found.items():
    _, count, output = name.split()
    wanted = probabilities[: int(count)]
    if output == 'probabilities':
      assert answers.dtype == np.float32
      assert answers.shape == wanted.shape, name
      np.testing.assert_allclose(answers, wanted, rtol=1e-4, atol=1e-6)
    else:
      numbers = wanted.argmax(axis=1)
      if output == 'label':
        numbers = [classes[i] for i in numbers]
      np.testing.assert_array_equal(answers, numbers, name)


def test_what_is_written_is_told_with_its_step(trained, exported):
  lines = exported['out'].splitlines()
  checkpoint = str(trained / 'train' / 'model.ckpt-20')
  assert lines[0] == 'Step 20, from %s. 10 classes: %s.' % (
    checkpoint,
    ', '.join(datasets.CLASSES),
  )
  assert lines[1].startswith('SavedModel: ' + exported['export_dir'])
  assert len([line for line in lines if 'uint8 [n, 32, 32, 3]' in line]) == 2
  assert len([line for line in lines if 'To load it' in line]) == 3
  # Nothing besides, such as temporary names.
  assert sorted(os.listdir(str(trained / 'away'))) == ['model']
  assert os.listdir(str(trained / 'files')) == ['model.pb']
  assert sorted(os.listdir(exported['export_dir'])) == [
    'model.tflite',
    'saved_model.pb',
    'variables',
  ]


def read_frozen(path):
  graph_def = tf.GraphDef()
  with open(str(path), 'rb') as content:
    graph_def.ParseFromString(content.read())
  return graph_def


def test_the_graph_is_fit_to_travel(exported):
  graph_def = read_frozen(exported['frozen_graph'])
  assert {node.device for node in graph_def.node} == {''}
  ops = {node.op for node in graph_def.node}
  assert not [op for op in ops if 'Variable' in op or 'Summary' in op]
  with tf.Graph().as_default() as graph:
    tf.import_graph_def(graph_def, name='')
    # Its gradient is found too, with nothing of this process.
    probability = graph.get_tensor_by_name('probabilities:0')
    pixels = graph.get_tensor_by_name('pixels:0')
    assert tf.gradients(probability, pixels)[0] is not None
  assert not [
    node for node in graph_def.node if '_gradient_op_type' in node.attr
  ]


def export_frozen(folder, target, **changes):
  """Exports a frozen graph, into `target`, a path that is not there yet."""
  settings = {'export_dir': '', 'frozen_graph': str(target)}
  settings.update(changes)
  cifar10_export.export(short_runs.small_config(folder, **settings))
  return read_frozen(target)


def answers(graph_def, given, output='probabilities'):
  given = {name + ':0': value for name, value in given.items()}
  with tf.Graph().as_default(), tf.Session() as session:
    tf.import_graph_def(graph_def, name='')
    return session.run(output + ':0', given)


def test_a_checkpoint_is_chosen_by_step_or_path(trained, images, tmp_path):
  path = str(trained / 'train' / 'model.ckpt-0')
  wanted = {'': 20, '10': 10, path: 0}
  by_step = {step: expected(trained, step) for step in wanted.values()}
  for i, (checkpoint, step) in enumerate(wanted.items()):
    graph_def = export_frozen(trained, tmp_path / str(i), checkpoint=checkpoint)
    found = answers(graph_def, {'images': images})
    for other, probabilities in by_step.items():
      close = np.allclose(found, probabilities, rtol=1e-4)
      assert close == (other == step), (checkpoint, other)


def test_the_variables_themselves_on_request(trained, images, tmp_path):
  graph_def = export_frozen(
    trained, tmp_path / 'plain', use_moving_averages=False
  )
  found = answers(graph_def, {'images': images})
  plain = expected(trained, averaged=False)
  np.testing.assert_allclose(found, plain, rtol=1e-4)
  assert not np.allclose(found, expected(trained), rtol=1e-4)


@pytest.mark.parametrize('flag', ['export_dir', 'tflite', 'frozen_graph'])
@pytest.mark.parametrize('kind', ['folder', 'file', 'link'])
def test_nothing_is_overwritten(trained, tmp_path, flag, kind):
  there = tmp_path / 'there'
  if kind == 'folder':
    there.mkdir()
    (there / 'x').write_text('precious')
  elif kind == 'file':
    there.write_text('precious')
  else:
    there.symlink_to(tmp_path / 'nowhere')
  targets = {
    name: str(tmp_path / name)
    for name in ('export_dir', 'tflite', 'frozen_graph')
  }
  targets[flag] = str(there)
  with pytest.raises(UserError) as info:
    export_frozen(trained, targets['frozen_graph'], **targets)
  message = '--%s=%s: is there already; expected a new ' % (flag, there)
  assert str(info.value).startswith(message)
  assert '\n' not in str(info.value)
  assert os.listdir(str(tmp_path)) == ['there']
  if kind != 'link':
    file = there / 'x' if kind == 'folder' else there
    assert file.read_text() == 'precious'


def test_targets_are_wanted_and_apart(trained, tmp_path):
  same = str(tmp_path / 'x')
  with pytest.raises(UserError, match='--frozen_graph=.*: is --tflite as well'):
    export_frozen(trained, same, tflite=str(tmp_path / 'y' / '..' / 'x'))
  with pytest.raises(UserError, match='--export_dir is empty'):
    export_frozen(trained, '')
  assert os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize('failing', ['tflite', 'write_saved_model'])
def test_a_failure_leaves_nothing_behind(
  trained, tmp_path, monkeypatch, failing
):
  write = export.write_saved_model

  def fail(frozen, place):
    if failing == 'write_saved_model':
      write(frozen, place)
    raise OSError('the disk is full')

  monkeypatch.setattr(export, failing, fail)
  with pytest.raises(OSError, match='the disk is full'):
    export_frozen(
      trained,
      tmp_path / 'frozen',
      export_dir=str(tmp_path / 'model'),
      tflite=str(tmp_path / 'tflite'),
    )
  assert os.listdir(str(tmp_path)) == []


def test_errors_are_one_line(trained, tmp_path):
  (tmp_path / 'x').write_text('')
  status, out, err = short_runs.run(
    'cifar10_export',
    '--checkpoint_dir=%s' % (trained / 'train'),
    '--export_dir=%s' % tmp_path,
  )
  assert (status, out) == (1, '')
  assert err.startswith('cifar10_export: error: --export_dir=%s' % tmp_path)
  assert err.count('\n') == 1


@pytest.fixture(scope='module')
def own_run(tmp_path_factory):
  """A run on people's own pictures: 3 classes of grey 8 x 8 images."""
  folder = tmp_path_factory.mktemp('own')
  (folder / 'data').mkdir()
  data_dir = test_dataset.make_own(folder / 'data').data_dir
  cifar10_train.train(
    short_runs.small_config(
      folder, dataset='cifar10', data_dir=data_dir, batch_size=2, max_steps=2
    )
  )
  # What describes the data is enough.
  for name in ('train.bin', 'test.bin'):
    os.remove(str(folder / 'data' / name))
  return folder


@pytest.mark.parametrize('suffix', ['', '.index'])
def test_the_run_of_a_checkpoint_tells_its_data_set(own_run, tmp_path, suffix):
  # The program by itself, since short_runs.run names a data set.
  process = subprocess.run(
    [
      sys.executable,
      os.path.join(short_runs.ROOT, 'cifar10', 'cifar10_export.py'),
      '--checkpoint=train/model.ckpt-2' + suffix,
      '--export_dir=',
      '--frozen_graph=%s' % (tmp_path / 'x'),
    ],
    check=False,
    cwd=str(own_run),
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    universal_newlines=True,
    timeout=120,
  )
  assert process.returncode == 0, process.stdout
  assert process.stdout.startswith('Step 2, from train/model.ckpt-2. 3 classes')
  graph_def = read_frozen(tmp_path / 'x')
  image = test_pictures.noise(8, 8, 1)
  path = tmp_path / 'x.png'
  test_pictures.saved(path, image[..., 0])
  found = answers(graph_def, {'pictures': [path.read_bytes()]})
  assert found.shape == (1, 3)
  np.testing.assert_array_equal(found, answers(graph_def, {'images': [image]}))
  classes = answers(graph_def, {}, 'classes').tolist()
  assert classes == [b'a', b'b', b'c']
  label = answers(graph_def, {'images': [image]}, 'label')
  assert label == [classes[found.argmax()]]


def test_the_model_of_another_data_set_is_refused(own_run, tmp_path):
  with pytest.raises(UserError, match=r'has shape .*; this model expects'):
    export_frozen(own_run, tmp_path / 'x', dataset='sample')
  assert os.listdir(str(tmp_path)) == []
