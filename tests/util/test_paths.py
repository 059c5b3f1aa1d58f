"""Paths that the programs take, and those that they refuse."""

import os

import pytest

from cifar10.errors import UserError
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


def test_paths_that_are_not_utf_8_are_refused():
  with pytest.raises(UserError, match=r'--out=/a/.udce9: is not UTF-8'):
    paths.check('/a/' + LATIN, '--out')


def run(program, *arguments, **environment):
  return processes.run([os.path.join(short_runs.ROOT, program)] +
                       list(arguments), cwd=short_runs.ROOT,
                       env=dict(os.environ, **environment))


# Endings of paths, and what is wrong with them.
PROBLEMS = {
    '/exp[1]': 'TensorFlow takes the [ for a pattern',
    '/' + LATIN: 'is not UTF-8; expected a path',
    'gs://a': 'is an address; expected a path',
    '': 'is empty; expected a path'
}


@pytest.mark.parametrize(
    'program, arguments, flag, name',
    [('cifar10/cifar10_train.py', [], '--train_dir', '/exp[1]'),
     ('cifar10/cifar10_train.py', [], '--init_from', '/exp[1]'),
     ('cifar10/cifar10_train.py', [], '--metrics', 'gs://a'),
     ('cifar10/cifar10_train.py', [], '--data_dir', ''),
     ('cifar10/cifar10_pretrain.py', [], '--train_dir', '/exp[1]'),
     ('cifar10/cifar10_eval.py', [], '--checkpoint_dir', '/exp[1]'),
     ('cifar10/cifar10_eval.py', [], '--eval_dir', ''),
     ('cifar10/cifar10_predict.py', ['x.png'], '--checkpoint_dir', '/exp[1]'),
     ('cifar10/cifar10_predict.py', ['x.png'], '--grid', '/' + LATIN),
     ('cifar10/cifar10_export.py', [], '--checkpoint', '/exp[1]'),
     ('cifar10/cifar10_export.py', [], '--tflite', 'gs://a'),
     ('cifar10/tools/search/search.py', ['space.json'], '--out', '/exp[1]'),
     ('cifar10/tools/sparsify.py', ['--keep=1', '--out=x'
                                   ], 'CHECKPOINT', '/exp[1]'),
     ('cifar10/tools/import_weights.py', ['x'], '--out', ''),
     ('cifar10/data/fetch_data.py', [], '--data_dir', '/' + LATIN),
     ('cifar10/data/make_dataset.py', ['x'], '--out', 'gs://a'),
     ('cifar10/cluster/local_cluster.py', [], '--log_dir', ''),
     ('cifar10/tools/report/report.py', [], 'train_dir', '/exp[1]'),
     ('cifar10/tools/report/report.py', ['x'], '--eval_dir', '/' + LATIN),])
def test_every_program_checks_its_paths(tmp_path, program, arguments, flag,
                                        name):
  (tmp_path / 'exp1').mkdir()
  path = str(tmp_path) + name if name.startswith('/') else name
  given = f'{flag}={path}' if flag.startswith('--') else path
  status, _, err = run(program, *arguments, given)
  # Some say first which model they use.
  assert (status, err.count('error: ')) == (1, 1)
  shown = path.replace(LATIN, '\\udce9')
  assert f'{flag}={shown}: {PROBLEMS[name]}' in err.splitlines()[-1]
  assert os.listdir(str(tmp_path)) == ['exp1']
  assert not os.path.exists(os.path.join(short_runs.ROOT, 'gs:'))


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


def test_a_folder_of_a_sparse_checkpoint_is_no_pattern(tmp_path):
  with pytest.raises(UserError, match='--out=.*: TensorFlow takes the'):
    paths.check_new_checkpoint_folder(str(tmp_path / 'a*'), '--out')


def test_the_evaluations_of_a_run_are_beside_it(tmp_path, monkeypatch):
  run = tmp_path / 'run'
  run.mkdir()
  monkeypatch.chdir(str(run))
  expected = '%s_eval' % run
  for name in (expected[:-5], '%s/' % run, '.', './', '../run/.'):
    assert os.path.abspath(paths.eval_dir_for(name)) == expected
  assert paths.eval_dir_for('..') == '%s_eval' % tmp_path
  assert paths.eval_dir_for('/tmp/cifar10_train') == '/tmp/cifar10_eval'
