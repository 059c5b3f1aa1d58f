"""Programs of the tutorial's time run on its modules, here and there."""

import glob
import os
import re
import shutil
import subprocess
import sys

import pytest

from cifar10 import cifar10_eval
from cifar10 import cifar10_train
from cifar10.store import checkpoints
from tests import short_runs
from tests import synthetic_records

pytestmark = pytest.mark.slow

PROGRAMS = os.path.join(short_runs.ROOT, 'tests', 'old_programs')
TRAINERS = {
    'monitored_train': (),
    'session_train': (),
    'towers_train': ('--num_gpus=2',)
}


@pytest.fixture(scope='module')
def data_dir(tmp_path_factory):
  folder = tmp_path_factory.mktemp('data')
  synthetic_records.make_folder(folder)
  return str(folder)


@pytest.fixture(scope='module', params=['installed', 'inside'])
def run(request, tmp_path_factory):
  """A function that runs an old program, which is elsewhere or in cifar10/."""
  folder = tmp_path_factory.mktemp(request.param)
  environment = dict(os.environ, PYTHONPATH=short_runs.ROOT)
  programs = folder
  if request.param == 'inside':
    del environment['PYTHONPATH']
    programs = folder / 'models' / 'cifar10'
    shutil.copytree(
        os.path.join(short_runs.ROOT, 'cifar10'), str(programs),
        ignore=shutil.ignore_patterns('zoo', 'sample', '__pycache__'))
    (programs / 'zoo').mkdir()
    (programs / 'zoo' / '__init__.py').write_text('')
  for path in glob.glob(os.path.join(PROGRAMS, '*.py')):
    shutil.copy(path, str(programs))

  def run_program(name, *arguments):
    # Modules of the same name lie beside it only if it is inside.
    if request.param == 'installed' and name == 'one_record':
      environment['PYTHONPATH'] = os.path.join(short_runs.ROOT, 'cifar10')
    found = subprocess.run(
        [sys.executable,
         str(programs / (name + '.py')), *arguments], check=False,
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True, timeout=300)
    assert not found.returncode, found.stderr
    return found.stdout

  return run_program


@pytest.mark.parametrize('name', sorted(TRAINERS))
def test_it_trains_and_both_evaluators_and_trainers_go_on(
    tmp_path, data_dir, run, capsys, name):
  directory = str(tmp_path / 'train')
  out = run(name, '--data_dir=' + data_dir, '--batch_size=8',
            '--train_dir=' + directory, '--max_steps=6', *TRAINERS[name])
  assert re.search(r'step 0, loss = \d+\.\d\d', out)
  evaluated = run('evaluate', '--data_dir=' + data_dir, '--batch_size=10',
                  '--num_examples=100', '--checkpoint_dir=' + directory)
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


def test_it_goes_on_with_a_run_of_ours(tmp_path, data_dir, run, capsys):
  settings = short_runs.small_config(tmp_path, dataset='cifar10',
                                     data_dir=data_dir, batch_size=8)
  cifar10_train.train(settings)
  run('monitored_train', '--data_dir=' + data_dir, '--batch_size=8',
      '--train_dir=' + settings.train_dir, '--max_steps=7')
  assert checkpoints.step(checkpoints.latest(settings.train_dir)) == 7
  evaluated = run('evaluate', '--data_dir=' + data_dir, '--batch_size=10',
                  '--num_examples=100',
                  '--checkpoint_dir=' + settings.train_dir)
  assert 'step 7: precision @ 1 = ' in evaluated


def test_it_reads_single_records_and_batches(data_dir, run):
  folder = os.path.join(data_dir, 'cifar-10-batches-bin')
  lines = run('one_record', folder).splitlines()
  (content,) = [open(os.path.join(folder, 'data_batch_1.bin'), 'rb').read()]
  assert lines[-5:-2] == [
      'data_batch_1.bin:%d [%d] (24, 24, 3) (32, 32, 3)' %
      (i, content[3073 * i]) for i in range(3)
  ]
  assert lines[-2:] == ['(7, 24, 24, 3) (7,)', '(5, 24, 24, 3)']
