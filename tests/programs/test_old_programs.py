"""Programs of the tutorial's time run on its modules, here and there."""

import glob
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_eval
from cifar10 import cifar10_train
from cifar10.store import checkpoints
from tests import processes
from tests import short_runs
from tests import synthetic_records

pytestmark = pytest.mark.slow

PROGRAMS = os.path.join(short_runs.ROOT, 'tests', 'programs', 'old_programs')
TRAINERS = {
    'monitored_train': (),
    'session_train': (),
    'towers_train': ('--num_gpus=2',)
}

INSIDE = os.path.join(short_runs.ROOT, 'cifar10')


@pytest.fixture(scope='module')
def data_dir(tmp_path_factory):
  folder = tmp_path_factory.mktemp('data')
  synthetic_records.make_folder(folder)
  return str(folder)


def run_elsewhere(name, *arguments):
  """Runs an old program that is elsewhere, with the package imported."""
  path = os.path.join(PROGRAMS, name + '.py')
  return processes.output([path, *arguments], errors=processes.ANY)


def ended_anew(path, *arguments, **environment):
  """Runs a program with a Python that has imported TensorFlow alone.

  Returns its status, output and error output.
  """
  return processes.run([path, *arguments], env=dict(os.environ, **environment),
                       modules=('tensorflow.compat.v1',))


def run_anew(path, *arguments, fails=False, **environment):
  """Runs a program as `ended_anew`.

  Returns what it prints, or if it is expected to fail, its errors.
  """
  status, out, err = ended_anew(path, *arguments, **environment)
  assert bool(status) == fails, err
  return err if fails else out


def run_there(name, *arguments, fails=False):
  """Runs an old program with the folder of the modules on PYTHONPATH."""
  return run_anew(os.path.join(PROGRAMS, name + '.py'), *arguments, fails=fails,
                  PYTHONPATH=INSIDE)


def copied(folder):
  """Copies cifar10/ and the old programs into a folder; returns the copy."""
  programs = folder / 'models' / 'cifar10'
  shutil.copytree(INSIDE, str(programs),
                  ignore=shutil.ignore_patterns('zoo', 'sample', '__pycache__'))
  (programs / 'zoo').mkdir()
  shutil.copy(os.path.join(INSIDE, 'zoo', '__init__.py'), str(programs / 'zoo'))
  for path in glob.glob(os.path.join(PROGRAMS, '*.py')):
    shutil.copy(path, str(programs))
  return programs


@pytest.fixture(name='run_inside', scope='module')
def _run_inside(tmp_path_factory):
  """A function that runs an old program that is in a copy of cifar10/."""
  programs = copied(tmp_path_factory.mktemp('inside'))

  def run_program(name, *arguments):
    return run_anew(programs / (name + '.py'), *arguments, PYTHONPATH='')

  return run_program


def shapes(directory):
  """The shapes of what is in the newest checkpoint, by their names."""
  return dict(tf.train.list_variables(checkpoints.latest(directory)))


@pytest.mark.parametrize('name', sorted(TRAINERS))
def test_it_trains_and_both_evaluators_and_trainers_go_on(
    tmp_path, data_dir, run_inside, capsys, name):
  directory = str(tmp_path / 'train')
  flags = [
      '--data_dir=' + data_dir, '--batch_size=8', '--max_steps=6',
      *TRAINERS[name]
  ]
  if name == 'monitored_train':
    out = run_anew(os.path.join(PROGRAMS, name + '.py'), *flags,
                   '--train_dir=' + directory, PYTHONPATH=short_runs.ROOT)
  else:
    out = run_elsewhere(name, *flags, '--train_dir=' + directory)
  if name == 'towers_train':  # The others are below.
    other = str(tmp_path / 'inside')
    assert re.search(r'step 0, loss = \d+\.\d\d',
                     run_inside(name, *flags, '--train_dir=' + other))
    assert shapes(other) == shapes(directory)
  assert re.search(r'step 0, loss = \d+\.\d\d', out)
  evaluated = run_elsewhere('evaluate', '--data_dir=' + data_dir,
                            '--batch_size=10', '--num_examples=100',
                            '--checkpoint_dir=' + directory)
  (precision,) = re.findall(r'precision @ 1 = (\d\.\d{3})', evaluated)
  settings = short_runs.small_config(tmp_path, dataset='cifar10',
                                     data_dir=data_dir, max_steps=9,
                                     batch_size=8)
  capsys.readouterr()
  cifar10_eval.evaluate(settings)
  found = short_runs.PRECISION_LINE.search(capsys.readouterr().out)
  assert found.group(1) == precision and found.group(4) == '6'
  cifar10_train.train(settings)
  out = capsys.readouterr().out
  assert 'Resuming from' in out
  assert short_runs.steps(out) == [6, 7, 8]
  assert checkpoints.step(checkpoints.latest(directory)) == 9


def test_it_goes_on_with_a_run_of_ours(tmp_path, data_dir, run_inside):
  directory = short_runs.trained(tmp_path).train_dir
  ours = shapes(directory)
  out = run_inside('monitored_train', '--data_dir=' + data_dir,
                   '--batch_size=8', '--train_dir=' + directory,
                   '--max_steps=7')
  assert re.search(r'step 0, loss = \d+\.\d\d', out)
  assert checkpoints.step(checkpoints.latest(directory)) == 7
  assert shapes(directory) == ours
  evaluated = run_inside('evaluate', '--data_dir=' + data_dir,
                         '--batch_size=10', '--num_examples=100',
                         '--checkpoint_dir=' + directory)
  assert 'step 7: precision @ 1 = ' in evaluated


NAMES = """
import cifar10_eval, cifar10_multi_gpu_train, cifar10_train  # Before cifar10.
import helper
import cifar10
import tensorflow.compat.v1 as tf
from cifar10 import *
reader = cifar10.cifar10_input
for eval_data in True, 'test', False, 'train_eval':
  data_dir = cifar10.FLAGS['data_dir'].value + '/cifar-10-batches-bin'
  images, labels = reader.inputs(eval_data, data_dir, 8)
images, labels = distorted_inputs()  # No tf.app.run: it parses its flags.
print(images.shape, images.dtype.name)
cifar10._variable_with_weight_decay('weights', [5, 5, 3, 64], 5e-2, None)
cifar10._variable_on_cpu('biases', [64], tf.zeros_initializer())
"""


def test_it_finds_the_names_and_signatures(tmp_path, data_dir):
  (tmp_path / 'names.py').write_text(NAMES)
  (tmp_path / 'helper.py').write_text('')
  # A Python that has imported nothing.
  out = subprocess.check_output([
      sys.executable, tmp_path / 'names.py', '--batch_size=7', '--use_fp16',
      '--data_dir=' + data_dir, '--its_own=1'
  ], env=dict(os.environ, PYTHONPATH=INSIDE), universal_newlines=True)
  assert out.splitlines()[-1] == '(7, 24, 24, 3) float16'


@pytest.mark.parametrize('place', ['elsewhere', 'inside'])
def test_it_reads_single_records_and_batches(data_dir, run_inside, place):
  folder = os.path.join(data_dir, 'cifar-10-batches-bin')
  if place == 'inside':
    out = run_inside('one_record', folder)
  else:
    # It imports a module that lies beside it only if it is inside.
    out = run_there('one_record', folder)
  lines = out.splitlines()
  (content,) = [open(os.path.join(folder, 'data_batch_1.bin'), 'rb').read()]
  assert lines[-5:-2] == [
      'data_batch_1.bin:%d [%d] (24, 24, 3) (32, 32, 3)' %
      (i, content[3073 * i]) for i in range(3)
  ]
  assert lines[-2:] == ['(7, 24, 24, 3) (7,)', '(5, 24, 24, 3)']


def test_flags_that_a_launcher_sets_count(tmp_path, data_dir, run_inside):
  directory = str(tmp_path / 'train')
  out = run_inside('launch', data_dir, directory, str(tmp_path / 'eval'))
  assert short_runs.steps(out) == [0, 2]  # The others are of --num_gpus=2.
  assert 'Training on 2 towers, each with batches of 8' in out
  assert checkpoints.step(checkpoints.latest(directory)) == 6
  (_, right, count, step) = short_runs.PRECISION_LINE.search(out).groups()
  assert (count, step) == ('24', '6') and 'on training images' in out
  assert os.listdir(str(tmp_path / 'eval'))
  *_, events = sorted(glob.glob(os.path.join(directory, 'events.*')))
  with open(events, 'rb') as content:  # cifar10.TOWER_NAME.
    assert b'clone_1/' in content.read()


def test_flags_that_a_launcher_sets_count_in_main(tmp_path, data_dir):
  directory = str(tmp_path / 'train')
  out = run_there('launch_main', data_dir, directory)
  assert 'Settings: --batch_size=8' in out and '--max_steps=3' in out
  assert checkpoints.step(checkpoints.latest(directory)) == 3


@pytest.mark.parametrize('kind', ['ref', 'resource'])
def test_it_makes_a_network_of_its_own_with_the_helpers(data_dir, kind):
  folder = os.path.join(data_dir, 'cifar-10-batches-bin')
  path = os.path.join(PROGRAMS, 'own_network.py')
  status, out, err = ended_anew(path, folder, kind, PYTHONPATH=INSIDE)
  assert not status, err
  tags = out.splitlines()[-1].split()
  for name in ('conv1/activations', 'conv1/activations_1', 'pool/sparsity',
               'learning_rate', 'learning_rate_1', 'images_2/image/0',
               'conv1/weights/gradients'):
    assert name in tags
  assert 'It is built.' in err and 'loss = ' in err
  assert 'deprecated' not in err


def test_the_folder_of_the_data_may_be_left_out(data_dir):
  out = run_there('without_folder', '--data_dir=' + data_dir, '--batch_size=7')
  assert '(7, 24, 24, 3) (5, 24, 24, 3) [0 1 2 3 4]' in out
  assert re.search(r'loss = \d+\.\d\d', out)


@pytest.mark.parametrize('module', ['cifar10', 'cifar10_input'])
def test_each_constant_that_it_sets_counts(data_dir, module):
  out = run_there('constants', data_dir, module)
  assert out.splitlines()[-5:] == [
      '(8, 16, 16, 3) (8, 16, 16, 3) (8, 12)',
      '20 20',
      '24',  # A shuffle queue of 16 records, and a batch.
      '0.875',
      '[0.25, 0.25, 0.25, 0.125]'
  ]


EDITED = {
    'cifar10.py': ('= cifar10_input.NUM_CLASSES', '= 15'),
    'cifar10_input.py': ('NUM_CLASSES = 10', 'NUM_CLASSES = 15')
}


@pytest.fixture(name='folder_of', scope='module')
def _folder_of(tmp_path_factory):
  """A function of a number of classes: the --data_dir of such records."""
  folders = {}
  for count in (6, 15):
    folder = tmp_path_factory.mktemp('classes')
    inside = synthetic_records.make_folder(folder)
    for seed, path in enumerate(sorted(inside.glob('*.bin'))):
      labels = np.arange(30) % count
      path.write_bytes(synthetic_records.make_records(labels, seed).tobytes())
    folders[count] = str(folder)
  return folders.get


@pytest.mark.parametrize(('module', 'count', 'session'),
                         [('cifar10', 15, 'Session'),
                          ('cifar10_input', 6, 'MonitoredTrainingSession')])
def test_the_number_of_classes_counts(folder_of, module, count, session):
  arguments = module, str(count), session, 'fetches'
  out = run_there('other_classes', folder_of(count), *arguments)
  assert out.splitlines()[-1] == f'(8, {count}) True True'


def test_an_unknown_label_ends_it(folder_of):
  for session, problem, *fetches in (
      ('Session', 'expected labels 0 to 5; found'),
      ('MonitoredTrainingSession', 'expected labels 0 to 5; found'),
      ('Session', 'record 6 has label 6; expected labels 0 to 5', 'fetches')):
    errors = run_there('other_classes', folder_of(15), 'cifar10', '6', session,
                       *fetches, fails=True)
    assert problem in errors


@pytest.mark.parametrize('name', sorted(EDITED))
def test_an_edited_number_of_classes_counts(tmp_path, folder_of, name):
  programs = copied(tmp_path)
  path, (old, new) = programs / name, EDITED[name]
  content = path.read_text()
  assert content.count(old) == 1
  path.write_text(content.replace(old, new))
  directory = str(tmp_path / 'train')
  data = '--data_dir=' + folder_of(15), '--batch_size=8'
  out = run_anew(programs / 'cifar10_train.py', *data, '--max_steps=1',
                 '--train_dir=' + directory, PYTHONPATH='')
  assert ' 15 classes,' in out
  assert shapes(directory)['softmax_linear/biases'] == [15]
  out = run_anew(programs / 'cifar10_eval.py', *data, '--run_once',
                 '--checkpoint_dir=' + directory, f'--eval_dir={tmp_path}/eval',
                 PYTHONPATH='')
  assert short_runs.PRECISION_LINE.search(out).group(3) == '30'
  if name == 'cifar10.py':
    out = run_anew(programs / 'session_train.py', *data, '--max_steps=9',
                   f'--train_dir={tmp_path}/old', PYTHONPATH='')
    assert re.search(r'step 0, loss = \d+\.\d\d', out)


BEFORE = """
import sys
import tensorflow.compat.v1 as tf
tf.app.flags.DEFINE_integer('batch_size', 7, 'Its own.')
tf.app.flags.DEFINE_string('data_dir', sys.argv[1], 'Its own.')
import cifar10
from cifar10.util import graph_keys
cifar10.INITIAL_LEARNING_RATE = 0.25
images, labels = cifar10.inputs(True)
print(cifar10.distorted_inputs()[0].shape[0], cifar10.FLAGS.batch_size)
loss = cifar10.loss(cifar10.inference(images), labels)
cifar10.train(loss, tf.train.get_or_create_global_step())
with tf.train.MonitoredSession() as session:
  print(*session.run(tf.get_collection(graph_keys.LEARNING_RATE)))
"""


def test_a_flag_that_it_has_defined_is_kept_and_what_it_assigns_counts(
    tmp_path, data_dir):
  (tmp_path / 'before.py').write_text(BEFORE)
  out = run_anew(tmp_path / 'before.py', data_dir, PYTHONPATH=short_runs.ROOT)
  assert out.splitlines()[-2:] == ['7 7', '0.25']


NOTEBOOK = """
import sys
sys.argv = ['/x/ipykernel_launcher.py', '-f', '/x/connection.json']
import cifar10
import cifar10_eval
import tensorflow.compat.v1 as tf
tf.app.flags.DEFINE_string('its_own', 'found', '')
print(cifar10.FLAGS.batch_size, cifar10_eval.FLAGS.num_examples,
      tf.app.flags.FLAGS.its_own)
"""


def test_flags_are_read_in_a_notebook(tmp_path):
  (tmp_path / 'cells.py').write_text(NOTEBOOK)
  out = run_anew(tmp_path / 'cells.py', PYTHONPATH=INSIDE)
  assert out.splitlines()[-1] == '128 10000 found'


def test_a_program_that_embeds_python_may_have_no_arguments():
  code = ('import sys; del sys.argv[:]\n'
          'import cifar10; print(cifar10.IMAGE_SIZE)')
  out = subprocess.check_output([sys.executable, '-c', code],
                                env=dict(os.environ, PYTHONPATH=INSIDE),
                                universal_newlines=True)
  assert out == '24\n'


@pytest.mark.parametrize('name', ['cifar10', 'cifar10_input'])
def test_the_modules_run_as_scripts(name):
  assert run_anew(os.path.join(INSIDE, name + '.py'), PYTHONPATH='') == ''
