"""Paths that the programs take, and those that they refuse."""

import os

import pytest

from cifar10.errors import UserError
from cifar10.util import paths
from tests import processes
from tests import short_runs

# Bytes that are no UTF-8, as Python holds them in a str.
LATIN = os.fsdecode(b'\xe9')


@pytest.mark.parametrize('name, problem', [
    *((name, 'for a pattern') for name in ('exp[1]', 'exp*', 'exp?', 'a\\1')),
    *((name, 'is an address') for name in ('gs://a', 's3://a/b', 'file:///a')),
    ('~/a', 'no shell has expanded'), ('--steps=1', 'is a flag'),
    ('/a/' + LATIN, 'is not UTF-8'), *((name, None) for name in (
        'a', 'a b', 'a]', '\u00fc', "a'b", 'C:/a'))
])  # yapf: disable
def test_what_tensorflow_cannot_use_is_refused(name, problem):
  if problem is None:
    paths.check(name, '--train_dir', holds_checkpoints=True)
    return
  with pytest.raises(UserError, match='^--train_dir=.*' + problem):
    paths.check(name, '--train_dir', holds_checkpoints=True)
  if 'pattern' in problem:
    paths.check(name, '--eval_dir')


def test_of_several_slashes_at_the_end_one_is_left():
  found = [paths.check(p, '--train_dir') for p in ('a//', 'a//b/', '/')]
  assert found == ['a/', 'a//b/', '/']


def run(program, *arguments):
  return processes.run([os.path.join(short_runs.ROOT, program), *arguments],
                       cwd=short_runs.ROOT)


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
     ('cifar10/cifar10_pretrain.py', [], '--train_dir', '/exp[1]'),
     ('cifar10/cifar10_eval.py', [], '--checkpoint_dir', '/exp[1]'),
     ('cifar10/cifar10_eval.py', [], '--eval_dir', ''),
     ('cifar10/cifar10_predict.py', ['x.png'], '--grid', '/' + LATIN),
     ('cifar10/cifar10_export.py', [], '--checkpoint', '/exp[1]'),
     ('cifar10/cifar10_export.py', [], '--tflite', 'gs://a'),
     ('cifar10/tools/search/search.py', ['space.json'], '--out', '/exp[1]'),
     ('cifar10/tools/sparsify.py', ['--keep=1', '--out=x'
                                   ], 'CHECKPOINT', '/exp[1]'),
     ('cifar10/tools/import_weights.py', ['x'], '--out', '/exp[1]'),
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


@pytest.mark.parametrize('program, flags', [
    ('export', ['--tflite=', '--frozen_graph=x']),
    ('predict', ['x.png', '--grid='])
])  # yapf: disable
def test_an_empty_path_means_none_where_there_may_be_none(
    tmp_path, program, flags):
  status, _, err = run('cifar10/cifar10_%s.py' % program, *flags,
                       '--checkpoint_dir=%s/none' % tmp_path)
  # An error that comes later, when the paths are read.
  assert status == 1 and '%s/none: holds no checkpoint' % tmp_path in err


def test_the_evaluations_of_a_run_are_beside_it(tmp_path, monkeypatch):
  run = tmp_path / 'run'
  run.mkdir()
  monkeypatch.chdir(str(run))
  expected = '%s_eval' % run
  for name in (expected[:-5], '%s/' % run, '.', './', '../run/.'):
    assert os.path.abspath(paths.eval_dir_for(name)) == expected
  assert paths.eval_dir_for('..') == '%s_eval' % tmp_path
  assert paths.eval_dir_for('/tmp/cifar10_train') == '/tmp/cifar10_eval'
