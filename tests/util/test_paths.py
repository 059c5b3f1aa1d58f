"""Paths that the programs take, and those that they refuse."""

import json
import os
import subprocess
import sys

import pytest

from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from cifar10.store import run_state
from cifar10.util import paths
from tests import processes
from tests import short_runs

# Only those of checkpoints may not hold these.
PATTERNS = ['exp[1]', 'exp*', 'exp?', 'exp\\1']

# Bytes that are no UTF-8, as Python holds them in a str.
LATIN = os.fsdecode(b'\xe9')


@pytest.mark.parametrize('name', PATTERNS)
def test_patterns_are_refused_for_checkpoints_only(name):
  paths.check('/tmp/' + name, '--eval_dir')
  with pytest.raises(UserError) as info:
    paths.check('/tmp/' + name, '--train_dir', holds_checkpoints=True)
  assert str(info.value).startswith('--train_dir=/tmp/' + name[:3])
  assert 'for a pattern' in str(info.value)


@pytest.mark.parametrize('name', ['a', 'a b', 'a]', '\u00fc', "a'b", 'C:/a'])
def test_other_names_are_taken(name):
  paths.check(name, '--train_dir', holds_checkpoints=True)


def test_of_several_slashes_at_the_end_one_is_left():
  found = [paths.check(p, '--train_dir') for p in ('a//', 'a//b/', '/')]
  assert found == ['a/', 'a//b/', '/']


@pytest.mark.parametrize('name',
                         ['gs://a', 's3://a/b', 'hdfs://a', 'file:///a'])
def test_remote_paths_are_refused(name):
  with pytest.raises(UserError, match='--data_dir=.*is an address'):
    paths.check(name, '--data_dir')


def test_paths_through_folders_that_do_not_exist_are_refused(tmp_path):
  folder = str(tmp_path)
  for name in ('..', 'a..b', '../..a', folder + '/../x', folder + '/a..'):
    paths.check(name, '--data_dir')
  with pytest.raises(UserError) as info:
    paths.check(folder + '/a/../../x/', '--data_dir')
  assert 'there is no folder %s/a/../..; exp' % folder in str(info.value)


def test_paths_that_are_not_utf_8_are_refused():
  with pytest.raises(UserError, match=r'--out=/a/.udce9: is not UTF-8'):
    paths.check('/a/' + LATIN, '--out')


def test_paths_that_leave_no_room_for_names_are_refused(tmp_path):
  longest = '\u00fc' * 1920
  paths.check(longest, '--out')
  with pytest.raises(UserError, match='a path of 3841 bytes; expected at most'):
    paths.check(longest + 'a', '--out')


def run(program, *arguments, **environment):
  return processes.run([os.path.join(short_runs.ROOT, program)] +
                       list(arguments), cwd=short_runs.ROOT,
                       env=dict(os.environ, **environment))


@pytest.mark.parametrize('program, arguments, flag', [
    ('cifar10/cifar10_train.py', ['--train_dir=%s'], '--train_dir'),
    ('cifar10/cifar10_train.py', ['--init_from=%s'], '--init_from'),
    ('cifar10/cifar10_pretrain.py', ['--train_dir=%s'], '--train_dir'),
    ('cifar10/cifar10_eval.py', ['--checkpoint_dir=%s'], '--checkpoint_dir'),
    ('cifar10/cifar10_predict.py', [
        'x.png', '--checkpoint_dir=pretrained:fast', '--checkpoint_dir=%s'
    ], '--checkpoint_dir'),
    ('cifar10/cifar10_export.py', ['--checkpoint=%s'], '--checkpoint'),
    ('cifar10/tools/report/report.py', ['%s'], 'train_dir'),
    ('cifar10/tools/search/search.py', ['space.json', '--out=%s'], '--out'),
    ('cifar10/tools/sparsify.py', ['%s', '--keep=1', '--out=x'], 'CHECKPOINT')
])
def test_every_program_refuses_a_pattern(tmp_path, program, arguments, flag):
  (tmp_path / 'exp1').mkdir()
  path = str(tmp_path / 'exp[1]')
  status, _, err = run(program, *[a.replace('%s', path) for a in arguments])
  assert status == 1
  assert '%s=%s: TensorFlow takes the [ for a pattern' % (flag, path) in err
  assert err.count('\n') == 1
  assert os.listdir(str(tmp_path)) == ['exp1']


@pytest.mark.parametrize(
    'program, arguments',
    [('cifar10/cifar10_train.py', ['--train_dir=%s']),
     ('cifar10/cifar10_train.py', ['--data_dir=%s']),
     ('cifar10/cifar10_train.py', ['--metrics=%s']),
     ('cifar10/cifar10_eval.py', ['--eval_dir=%s']),
     ('cifar10/cifar10_export.py', ['--tflite=%s']),
     ('cifar10/cifar10_predict.py', ['x.png', '--grid=%s']),
     ('cifar10/data/fetch_data.py', ['--data_dir=%s']),
     ('cifar10/data/make_dataset.py', ['x', '--out=%s']),
     ('cifar10/cluster/local_cluster.py', ['--log_dir=%s']),
     ('cifar10/tools/report/report.py', ['x', '--eval_dir=%s'])])
@pytest.mark.parametrize('name', [LATIN, 'gs://bucket/a'])
def test_every_program_refuses_what_it_cannot_write(tmp_path, program,
                                                    arguments, name):
  path = name if '://' in name else str(tmp_path / name)
  status, _, err = run(program, *[a.replace('%s', path) for a in arguments])
  problem = 'is an address' if '://' in name else 'is not UTF-8'
  # Some say first which model they use.
  assert (status, err.count('error: ')) == (1, 1)
  assert problem in err.splitlines()[-1]
  assert os.listdir(str(tmp_path)) == []
  assert not os.path.exists(os.path.join(short_runs.ROOT, 'gs:'))


@pytest.mark.parametrize(
    'program, arguments, flag',
    [('cifar10/cifar10_train.py', ['--train_dir='], '--train_dir'),
     ('cifar10/cifar10_train.py', ['--data_dir='], '--data_dir'),
     ('cifar10/cifar10_eval.py', ['--eval_dir='], '--eval_dir'),
     ('cifar10/cifar10_export.py', ['--checkpoint_dir='], '--checkpoint_dir'),
     ('cifar10/tools/import_weights.py', ['x', '--out='], '--out'),
     ('cifar10/data/make_dataset.py', ['x', '--out='], '--out'),
     ('cifar10/cluster/local_cluster.py', ['--log_dir='], '--log_dir'),
     ('cifar10/tools/report/report.py', [''], 'train_dir')])
def test_an_empty_path_is_refused(program, arguments, flag):
  status, _, err = run(program, *arguments)
  assert status == 1 and err.count('error: ') == 1
  assert err.endswith('error: %s=: is empty; expected a path\n' % flag)


def test_an_empty_path_means_none_where_there_may_be_none(tmp_path):
  # An error that comes later, when the paths are read.
  expected = '%s/none: holds no checkpoint' % tmp_path
  for program, arguments in (('cifar10/cifar10_export.py', [
      '--export_dir=', '--tflite=',
      '--frozen_graph=%s/x' % tmp_path, '--checkpoint=',
      '--checkpoint_dir=%s/none' % tmp_path
  ]), ('cifar10/cifar10_predict.py',
       ['x.png', '--grid=',
        '--checkpoint_dir=%s/none' % tmp_path])):
    status, _, err = run(program, *arguments)
    assert status == 1 and expected in err


@pytest.mark.slow
def test_another_locale_is_named(tmp_path):
  code = ('import os, sys; from cifar10.util import paths\n'
          'try: paths.check(sys.argv[1], "--train_dir")\n'
          'except Exception as error: print(ascii(str(error)))')
  process = subprocess.run(
      [sys.executable, '-c', code,
       str(tmp_path / '\u00fc')], check=True, cwd=short_runs.ROOT,
      env=dict(os.environ, LC_ALL='POSIX', PYTHONUTF8='0',
               PYTHONCOERCECLOCALE='0'), stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL)
  assert b': is read in another encoding than UTF-8; set PYTHONUTF8=1 or' in (
      process.stdout)


def test_a_folder_of_a_sparse_checkpoint_is_no_pattern(tmp_path):
  with pytest.raises(UserError, match='--out=.*: TensorFlow takes the'):
    checkpoints.check_out(str(tmp_path / 'a*'))


def test_a_run_in_a_current_folder_that_is_not_utf_8_is_saved(
    tmp_path, monkeypatch):
  folder = tmp_path / LATIN
  folder.mkdir()
  monkeypatch.chdir(str(folder))
  config_lib.save(Settings(data_dir='data'), '.')
  assert json.loads(
      (folder / run_state.CONFIG_FILE).read_text())['data_dir'] == ('data')


def test_the_evaluations_of_a_run_are_beside_it(tmp_path, monkeypatch):
  run = tmp_path / 'run'
  run.mkdir()
  monkeypatch.chdir(str(run))
  expected = '%s_eval' % run
  for name in (expected[:-5], '%s/' % run, '.', './', '../run/.'):
    assert os.path.abspath(paths.of_evaluations(name)) == expected
  assert paths.of_evaluations('..') == '%s_eval' % tmp_path
  assert paths.of_evaluations('/tmp/cifar10_train') == '/tmp/cifar10_eval'
