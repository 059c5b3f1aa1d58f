"""Comparisons of variants: their tables, and that they go on."""

import json
import os

import pytest
import tensorflow.compat.v1 as tf

from tests import processes
from tests import short_runs

pytestmark = pytest.mark.slow

FOLDER = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks')
SCRIPT = os.path.join(FOLDER, 'compare.py')


@pytest.fixture(scope='module')
def comparison():
  return short_runs.module_at(os.path.join(FOLDER, 'comparison.py'))


def result(name, seed, points, flags=(), steps=10):
  """A result whose precision goes through pairs of step and share."""
  return {
      'name': name,
      'seed': seed,
      'flags': list(flags),
      'steps': steps,
      'points': [{
          'step': step,
          'averaged': 1000 * share,
          'plain': 900 * share
      } for step, share in points],
      'total': 1000,
      'loss': 2.0
  }


def test_variants_are_compared_at_equal_steps_and_equal_time(comparison):
  experiments = {
      'steps': 10,
      'seeds': [1, 2],
      'flags': [],
      'variants': {
          'default': [],
          'slow': ['--a'],
          'bad': ['--b']
      }
  }
  results = [
      result('default', 1, [(0, 0.1), (10, 0.5), (20, 0.7)], steps=20),
      result('default', 2, [(0, 0.1), (10, 0.4), (20, 0.6)], steps=20),
      result('slow', 1, [(0, 0.1), (10, 0.6)], ['--a']),
      result('slow', 2, [(0, 0.1), (10, 0.6)], ['--a']),
      # Of other flags and of other steps: another experiment's.
      result('slow', 3, [(0, 0.1), (10, 0.9)], ['--c']),
      result('slow', 3, [(0, 0.1), (50, 0.9)], ['--a'], steps=50),
      {
          'name': 'bad',
          'seed': 1,
          'flags': ['--b'],
          'steps': 10,
          'error': 'nan'
      }
  ]
  times = [{
      'flags': ['--a'],
      'ratio': ratio
  } for ratio in (1.4, 1.5, 9.0)] + [{
      'flags': ['--c'],
      'ratio': 7.0
  }]
  default, slow, bad = comparison.compared(experiments, results, times)
  assert default['averaged'] == pytest.approx(0.45)
  assert 'time' not in default and 'at_time' not in default
  assert slow['runs'] == 2
  assert slow['averaged'] == pytest.approx(0.6)
  assert slow['plain'] == pytest.approx(0.54)
  assert slow['time'] == pytest.approx(1.5)
  assert slow['at_steps'] == pytest.approx(0.15)
  # In that time the default has taken 15 steps.
  assert slow['at_time'] == pytest.approx(0.05)
  assert bad['errors'] == ['nan']
  # Times alone are shown too.
  (timed,) = comparison.compared(experiments, [], times)
  assert (timed['name'], timed['runs'], timed['time']) == ('slow', 0, 1.5)
  assert ' 1.50 |' in comparison.table([timed])
  lines = comparison.table([default, slow, bad]).splitlines()
  assert lines[3].startswith('| slow | `--a` | 2 | 60.0 % | 60.0 to 60.0 | 54')
  assert lines[4].startswith('| bad | `--b` | 1 | nan |')


@pytest.mark.skipif(tf.__version__ < '2',
                    reason='the programs that it runs are tested on both')
def test_it_goes_on_where_it_was_stopped(tmp_path):
  experiments = {
      'steps': 4,
      'seeds': [1],
      'points': 2,
      'flags': ['--dataset=sample', '--batch_size=8', '--log_frequency=1'],
      'variants': {
          'adam': ['--optimizer=adam'],
          'bad': ['--learning_rate=1e30']
      }
  }
  path, out = tmp_path / 'experiments.json', tmp_path / 'out.json'
  path.write_text(json.dumps(experiments))
  command = [SCRIPT, str(path), '--out=%s' % out]
  command.append('--runs=%s' % (tmp_path / 'runs'))
  default = experiments['flags']
  adam = default + ['--optimizer=adam']
  # What is there is not run again, and what is not is.
  points = [(step, 0.1) for step in range(0, 5, 2)]
  there = result('adam', 1, points, adam, steps=4)
  out.write_text(json.dumps({'results': [there]}))
  status, table, err = processes.run(command)
  assert status == 0, err
  assert table.count('\n| ') == 3 and 'loss is ' in table
  assert 'default, seed 1: ' in err and 'bad, seed 1: ' in err
  assert 'adam, seed 1' not in err
  results = json.loads(out.read_text())['results']
  found = {r['name']: r for r in results}
  assert len(results) == 3 and found['adam'] == there
  assert 'loss is ' in found['bad']['error']
  # The default takes twice as many steps.
  steps = [point['step'] for point in found['default']['points']]
  assert steps == list(range(0, 9, 2))
  assert (tmp_path / 'out.png').stat().st_size > 1000
  status, again, err = processes.run(command)
  assert (status, again, err) == (0, table, '')
  # Times are beside the results.
  times = [{'flags': default, 'ratio': 2.5}]
  out.write_text(json.dumps({'results': results, 'times': times}))
  status, table, err = processes.run(command + ['--time_rounds=1'])
  assert status == 0, err
  written = json.loads(out.read_text())
  assert written['results'] == results
  assert written['times'][:1] == times
  assert [time['flags'] for time in written['times']] == [default, adam]
  assert 0 < written['times'][1]['ratio'] < 100
  assert ' 2.50 |' in table


@pytest.mark.parametrize('script, arguments', [('compare.py', ['e.json']),
                                               ('repeat.py', [])])
def test_where_results_cannot_be_is_named_before_a_run(tmp_path, script,
                                                       arguments):
  (tmp_path / 'e.json').write_text(
      json.dumps({
          'steps': 5,
          'seeds': [1],
          'flags': ['--dataset=sample'],
          'variants': {}
      }))
  out = tmp_path / 'e.json' / 'out.json'  # In a file.
  status, _, err = processes.run(
      [os.path.join(FOLDER, script), *arguments,
       '--out=%s' % out], cwd=str(tmp_path))
  assert status == 1
  assert str(tmp_path / 'e.json') in err and err.count('\n') == 1
  assert os.listdir(str(tmp_path)) == ['e.json']


@pytest.mark.parametrize('script', ['compare.py', 'sparse.py'])
def test_only_a_run_that_diverges_is_a_result(tmp_path, script):
  path, out = tmp_path / 'e.json', tmp_path / 'out.json'
  flags = ['--dataset=sample', '--optimizer=best']
  path.write_text(
      json.dumps({
          'steps': 5,
          'seeds': [1],
          'flags': flags,
          'variants': {}
      }))
  command = [os.path.join(FOLDER, script), str(path), '--out=%s' % out]
  command.append('--runs=%s' % (tmp_path / 'runs'))
  status, _, err = processes.run(command)
  assert status == 1
  assert 'default: ' in err and '--optimizer' in err and err.count('\n') == 1
  assert json.loads(out.read_text())['results'] == []


def test_results_go_into_a_new_folder_and_times_alone_are_not_drawn(tmp_path):
  path, out = tmp_path / 'experiments.json', tmp_path / 'a' / 'b' / 'out.json'
  path.write_text(
      json.dumps({
          'steps': 5,
          'seeds': [1],
          'flags': ['--dataset=sample', '--batch_size=8'],
          'variants': {}
      }))
  status, table, err = processes.run(
      [SCRIPT, str(path),
       '--out=%s' % out, '--time_rounds=1'])
  assert (status, err) == (0, '')
  assert table.count('\n| ') == 1
  assert os.listdir(str(out.parent)) == ['out.json']


@pytest.mark.parametrize(
    'text, problem',
    [('{"steps": 5}', "KeyError('seeds'); expected steps, a multiple of 5"),
     ('{"steps": 7, "seeds": [1], "variants": {}}', 'steps=7'),
     ('{"steps": 5, "seeds": [1], "points": 2, "variants": {}}', 'points=2')])
def test_other_files_are_named(tmp_path, text, problem):
  path = tmp_path / 'experiments.json'
  path.write_text(text)
  status, _, err = processes.run([SCRIPT, str(path), '--out=/nowhere/x.json'])
  assert status == 1
  assert 'experiments.json: ' in err and problem in err
  assert err.count('\n') == 1
