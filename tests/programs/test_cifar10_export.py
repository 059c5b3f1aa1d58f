"""Exports: each format, loaded elsewhere, agrees with the evaluator."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tensorflow
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_export
from cifar10 import cifar10_train
from cifar10.data import datasets
from cifar10.errors import UserError
from tests import graphs
from tests import load_export
from tests import picture_folders
from tests import processes
from tests import short_runs
from tests import synthetic_records

COUNT = 100  # Images to compare on.

FLAGS = ('export_dir', 'tflite', 'frozen_graph', 'html')

# Functions of load_export.py, and the flags of what they load.
FORMATS = {
    'tflite': 'tflite',
    'frozen': 'frozen_graph',
    'saved_model': 'export_dir'
}


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
  """A directory with a run, saved at steps 0, 10 and 20."""
  folder = tmp_path_factory.mktemp('trained')
  config = short_runs.small_config(folder, batch_size=32, max_steps=20,
                                   save_steps=10, seed=1)
  cifar10_train.train(config)
  return folder


@pytest.fixture(scope='module')
def images():
  return short_runs.sample_images(COUNT)


@pytest.fixture(scope='module')
def exported(trained):
  """Exports each format into `trained`; returns the paths and the output."""
  flags = {
      'checkpoint_dir': 'train',
      'export_dir': 'away/model/',
      'tflite': 'away/model.tflite',
      'frozen_graph': "files/it's\na graph"
  }
  paths = {flag: str(trained / path) for flag, path in flags.items()}
  os.makedirs(paths['export_dir'])  # An empty folder may exist.
  paths['export_dir'] += '/'
  out = short_runs.output('cifar10_export',
                          *['--%s=%s' % item for item in paths.items()])
  return dict(paths, out=out)


def expected(folder, step=None, averaged=True):
  """The probabilities that the evaluator finds, [COUNT, classes]."""
  config = short_runs.small_config(folder, batch_size=COUNT,
                                   use_moving_averages=averaged)
  _, found = short_runs.evaluated(config, step)
  return found


@pytest.fixture(scope='module')
def newest(trained):
  """What the evaluator finds for the newest checkpoint."""
  return expected(trained)


@pytest.mark.slow
def test_each_format_agrees_with_the_evaluator(exported, newest, images,
                                               tmp_path):
  assert len(set(newest.argmax(axis=1))) > 1
  np.save(str(tmp_path / 'images.npy'), images)
  for i, image in enumerate(images):
    picture_folders.save(tmp_path / ('%03d.png' % i), image)
  models = [
      '%s=%s' % (file_format, exported[flag])
      for file_format, flag in FORMATS.items()
  ]
  environment = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
  # An interpreter of its own: one from tests.processes has loaded this project.
  process = subprocess.run(
      [sys.executable, load_export.__file__,
       str(tmp_path), *models], check=False, cwd=str(tmp_path), env=environment,
      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
      timeout=300)
  assert process.returncode == 0, process.stdout
  for file_format in FORMATS:
    found = dict(np.load(str(tmp_path / (file_format + '.npz'))))
    check_outputs(file_format, found, newest)


def check_outputs(file_format, found, probabilities):
  """Checks all outputs of a format against the evaluator's probabilities."""
  classes = found.pop('classes').tolist()
  assert classes == [name.encode() for name in datasets.CLASSES]
  signatures = {
      'saved_model': {'serving_default', 'images', 'pictures'},
      'frozen': {'images', 'pictures'},
      'tflite': {'images'}
  }[file_format]
  outputs = {'class', 'probabilities'}
  if file_format != 'tflite':
    outputs.add('label')
  assert set(found) == {
      '%s %d %s' % (signature, count, output)
      for signature in signatures
      for count in (100, 7, 1)
      for output in outputs
  }
  for name, value in found.items():
    _, count, output = name.split()
    message = '%s: %s' % (file_format, name)
    wanted = probabilities[:int(count)]
    if output == 'probabilities':
      assert value.dtype == np.float32, message
      assert value.shape == wanted.shape, message
      np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-6,
                                 err_msg=message)
    else:
      numbers = wanted.argmax(axis=1)
      if output == 'label':
        numbers = [classes[i] for i in numbers]
      np.testing.assert_array_equal(value, numbers, message)


def test_it_prints_what_it_has_written(trained, exported, images, tmp_path):
  lines = exported['out'].splitlines()
  checkpoint = str(trained / 'train' / 'model.ckpt-20')
  assert lines[0] == 'Step 20, from %s. 10 classes: %s.' % (
      checkpoint, ', '.join(datasets.CLASSES))
  assert lines[1].startswith('SavedModel: ' + exported['export_dir'])
  assert len([line for line in lines if 'uint8 [n, 32, 32, 3]' in line]) == 2
  assert len([line for line in lines if 'To load it' in line]) == 3
  assert "Interpreter('%s')" % exported['tflite'] in exported['out']
  # Odd paths are quoted.
  graph = exported['frozen_graph']
  assert 'Frozen graph: %s,' % graph.replace('\n', '\\n') in lines
  assert "open(%r, 'rb')" % graph in exported['out']
  # What it says of the SavedModel loads it.
  picture_folders.save(tmp_path / 'x.png', images[0])
  content = (tmp_path / 'x.png').read_bytes()
  text, _, _ = exported['out'].partition('\nTensorFlow Lite')
  text = textwrap.dedent('  ' + text.partition('To load it: ')[2])
  with tf.Graph().as_default():
    exec(text, {'tf': tensorflow, 'content_of_file': content})
  # No temporary files are left.
  assert sorted(os.listdir(str(trained / 'away'))) == ['model', 'model.tflite']
  assert os.listdir(str(trained / 'files')) == [os.path.basename(graph)]
  assert sorted(os.listdir(
      exported['export_dir'])) == ['saved_model.pb', 'variables']


def test_the_graph_runs_elsewhere(exported):
  graph_def = graphs.read_frozen(exported['frozen_graph'])
  assert {node.device for node in graph_def.node} == {''}
  ops = {node.op for node in graph_def.node}
  assert not [op for op in ops if 'Variable' in op or 'Summary' in op]


def export_frozen(folder, target, **changes):
  """Exports a frozen graph to `target`, a new path; returns the GraphDef."""
  settings = dict(changes, frozen_graph=str(target))
  cifar10_export.export(short_runs.small_config(folder, **settings))
  return graphs.read_frozen(target)


@pytest.mark.slow
def test_a_checkpoint_is_chosen_by_step_or_path(trained, newest, images,
                                                tmp_path):
  # By default it is the newest, with averages, as the formats above show.
  path = str(trained / 'train' / 'model.ckpt-0.index')
  wanted = [('checkpoint', '10', expected(trained, 10)),
            ('checkpoint', path, expected(trained, 0)),
            ('use_moving_averages', False, expected(trained, averaged=False))]
  for number, (name, value, _) in enumerate(wanted):
    graph_def = export_frozen(trained, tmp_path / str(number), **{name: value})
    found = graphs.run_frozen(graph_def, {'images': images})
    assert not np.allclose(found, newest, rtol=1e-4)
    close = [np.allclose(found, other, rtol=1e-4) for _, _, other in wanted]
    assert close == [other == number for other in range(3)]


@pytest.mark.parametrize('kind', ['folder', 'file', 'link'])
def test_nothing_is_overwritten(trained, tmp_path, kind):
  existing = tmp_path / 'existing'
  if kind == 'folder':
    existing.mkdir()
    (existing / 'x').write_text('precious')
  elif kind == 'file':
    existing.write_text('precious')
  else:
    existing.symlink_to(tmp_path / 'nowhere')
  for flag in FLAGS:
    targets = {name: str(tmp_path / name) for name in FLAGS}
    targets[flag] = str(existing)
    with pytest.raises(UserError) as info:
      export_frozen(trained, targets['frozen_graph'], **targets)
    message = '--%s=%s: already exists; expected a new ' % (flag, existing)
    assert str(info.value).startswith(message)
    assert os.listdir(str(tmp_path)) == ['existing']
  if kind != 'link':
    file = existing / 'x' if kind == 'folder' else existing
    assert file.read_text() == 'precious'


def test_without_a_target_there_is_a_saved_model(trained, tmp_path,
                                                 monkeypatch):
  target = tmp_path / 'default'
  monkeypatch.setattr(cifar10_export, '_EXPORT_DIR', str(target))
  cifar10_export.export(short_runs.small_config(trained))
  assert sorted(os.listdir(str(target))) == ['saved_model.pb', 'variables']


def test_no_two_targets_are_the_same(trained, tmp_path):
  same, again = str(tmp_path / 'x'), str(tmp_path / 'y' / '..' / 'x')
  for other in again, again + '/inside':
    with pytest.raises(UserError, match='--tflite=.* --frozen_graph=.* inside'):
      export_frozen(trained, same, tflite=other)
  with pytest.raises(UserError, match='ends with /'):
    export_frozen(trained, same + '/')
  assert os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize('flag', FLAGS)
def test_a_full_disk_is_told_with_the_name_of_the_file(trained, tmp_path, flag):
  target = str(tmp_path / 'target')
  config = short_runs.small_config(trained, **{flag: target})
  problem = f'{target}.*File too large|File too large.*{target}'
  with processes.full_disk(100000):
    with pytest.raises((UserError, OSError), match=problem):
      cifar10_export.export(config)
  assert os.listdir(str(tmp_path)) == []


@pytest.mark.slow
def test_the_data_set_is_that_of_the_run(tmp_path):
  (tmp_path / 'data').mkdir()
  data = synthetic_records.make_own_dataset(tmp_path / 'data')
  cifar10_train.train(
      short_runs.small_config(tmp_path, dataset='cifar10', batch_size=2,
                              data_dir=data.data_dir, max_steps=2))
  # The export needs the dataset.json, but no records.
  for name in ('train.bin', 'test.bin'):
    os.remove(str(tmp_path / 'data' / name))
  # Not by short_runs.output, which names a data set.
  out = processes.output([
      short_runs.script('cifar10_export'), '--checkpoint=train/model.ckpt-2',
      '--frozen_graph=x'
  ], cwd=str(tmp_path))
  assert out.startswith('Step 2, from train/model.ckpt-2. 3 classes: a, b, c.')
  graph_def = graphs.read_frozen(tmp_path / 'x')
  image = picture_folders.noise(8, 8, 1)
  path = tmp_path / 'x.png'
  picture_folders.save(path, image)
  found = graphs.run_frozen(graph_def, {'pictures': [path.read_bytes()]})
  np.testing.assert_array_equal(
      found, graphs.run_frozen(graph_def, {'images': [image]}))
  classes = graphs.run_frozen(graph_def, {}, 'classes').tolist()
  assert classes == [b'a', b'b', b'c']
