"""The command lines: ways to start, flags, and mistakes in them."""

import os
import subprocess
import sys

import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cli
from tests import short_runs

ROOT = short_runs.ROOT


def call(arguments, cwd=ROOT, **environment):
  process = subprocess.Popen(
    [sys.executable] + arguments,
    cwd=cwd,
    env=dict(os.environ, **environment),
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    universal_newlines=True,
  )
  out, err = process.communicate(timeout=120)
  return process.returncode, out, err


@pytest.mark.parametrize(
  'arguments, cwd',
  [
    (['cifar10_train.py'], os.path.join(ROOT, 'cifar10')),
    (['cifar10/cifar10_multi_gpu_train.py'], ROOT),
    (['-m', 'cifar10.cifar10_train'], ROOT),
    ([os.path.join(ROOT, 'cifar10', 'cifar10_eval.py')], '/'),
  ],
)
def test_every_way_to_start_lists_the_flags_with_their_defaults(arguments, cwd):
  _, out, err = call(arguments + ['--help'], cwd)
  assert err == ''
  assert 'CIFAR-10 model' in out
  assert '--batch_size: Images in a batch' in out
  assert "(default: '128')" in out
  has_gpus = 'multi_gpu' in arguments[0]
  assert ('--num_gpus' in out) == has_gpus


@pytest.mark.parametrize(
  'program, flags, message',
  [
    ('train', ['--bach_size=4'], "Unknown command line flag 'bach_size'"),
    ('train', ['--batch_size=0'], '--batch_size=0'),
    ('train', ['--learning_rate=fast'], '--learning_rate=fast'),
    ('train', ['--dataset=mnist'], '--dataset=mnist'),
    ('eval', ['--run_once', 'False'], "unexpected argument 'False'"),
    ('eval', ['--eval_data=tests'], '--eval_data=tests'),
  ],
)
def test_mistakes_are_named_and_nothing_is_done(
  tmp_path, program, flags, message
):
  name = 'cifar10/cifar10_%s.py' % program
  directory = '--%s_dir=%s' % (
    'train' if program == 'train' else 'eval',
    tmp_path / 'out',
  )
  status, out, err = call([name, directory] + flags)
  assert status == 1
  assert message in err and 'Traceback' not in err
  assert out == ''
  assert os.listdir(str(tmp_path)) == []


def test_switches_are_booleans(tmp_path):
  status, _, err = call(
    [
      'cifar10/cifar10_eval.py',
      '--run_once=true',
      '--dataset=sample',
      '--checkpoint_dir=%s' % tmp_path,
    ]
  )
  assert status == 1
  assert err == 'cifar10_eval: error: %s: holds no checkpoint\n' % tmp_path


def test_errors_of_the_data_are_one_line(tmp_path):
  folder = tmp_path / 'cifar-10-batches-bin'
  folder.mkdir()
  status, out, err = call(
    [
      'cifar10/cifar10_train.py',
      '--data_dir=%s' % tmp_path,
      '--train_dir=%s' % (tmp_path / 'train'),
    ]
  )
  assert (status, out) == (1, '')
  assert err.startswith('cifar10_train: error: %s' % folder)
  assert 'data_batch_1.bin: no such file' in err
  assert err.count('\n') == 1
  assert not (tmp_path / 'train').exists()


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
  (tmp_path / 'file').write_text('')
  status, _, err = call(
    [
      'cifar10/cifar10_train.py',
      '--dataset=sample',
      '--train_dir=%s' % (tmp_path / 'file' / 'train'),
    ]
  )
  assert status == 1
  assert str(tmp_path / 'file' / 'train') in err and err.count('\n') == 1


def test_a_program_is_named_as_its_sibling_was_called(monkeypatch):
  for called, sibling in (
    ('cifar10_train.py', 'python cifar10_eval.py'),
    ('cifar10/cifar10_train.py', 'python cifar10/cifar10_eval.py'),
    ('/venv/bin/cifar10_train', '/venv/bin/cifar10_eval'),
  ):
    monkeypatch.setattr(sys, 'argv', [called])
    assert cli.sibling_command('cifar10_eval') == sibling


def test_errors_of_tensorflow_are_told_by_what_they_say():
  with tf.Graph().as_default(), tf.Session() as session:
    with pytest.raises(tf.errors.NotFoundError) as info:
      session.run(tf.read_file('/no/such/file'))
  assert cli._summary(info.value).startswith('/no/such/file; No such file')


def test_tensorflow_is_quiet_unless_asked():
  program = 'import cifar10, tensorflow as tf; tf.compat.v1.Session()'
  assert call(['-c', program], TF_CPP_MIN_LOG_LEVEL='2') == (0, '', '')
  _, _, err = call(['-c', program], TF_CPP_MIN_LOG_LEVEL='0')
  assert 'CPU' in err


def test_an_import_that_fails_tells_why(tmp_path):
  package = tmp_path / 'tensorflow'
  package.mkdir()
  (package / '__init__.py').write_text(
    "import os; os.write(2, b'no AVX\\n'); raise ImportError('broken')"
  )
  environment = {'PYTHONPATH': '%s:%s' % (tmp_path, ROOT)}
  status, _, err = call(
    ['-c', 'import cifar10'], cwd='/', TF_CPP_MIN_LOG_LEVEL='2', **environment
  )
  assert status == 1
  assert err.startswith('no AVX') and 'broken' in err
