"""Techniques compared at their best: what is tried, chosen and run again."""

import json
import os

import pytest
import tensorflow.compat.v1 as tf

from tests import processes
from tests import short_runs

FOLDER = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks')
SCRIPT = os.path.join(FOLDER, 'tuning.py')

EXPERIMENTS = {
    'tuning_steps': 5,
    'steps': 10,
    'seeds': [1, 2],
    'validation_examples': 100,
    'flags': ['--dataset=sample', '--batch_size=8', '--log_frequency=1'],
    'variants': {
        'Adam': {
            'flags': ['--optimizer=adam'],
            'values': {
                'learning_rate': [0.001, 1e30]
            }
        }
    }
}


@pytest.fixture(scope='module')
def tuning():
  return short_runs.module_at(SCRIPT)


def tried(candidates, precisions):
  return [
      dict(
          candidate,
          **({
              'error': 'nan'
          } if precision is None else {
              'validation': precision
          })) for candidate, precision in zip(candidates, precisions)
  ]


@pytest.mark.parametrize('precisions, best', [([0.3, 0.4], '1e+30'),
                                              ([0.5, 0.4], '0.001'),
                                              ([0.1, None], '0.001'),
                                              ([None, 0.1], '1e+30')])
def test_the_best_value_is_that_of_the_best_validation(tuning, precisions,
                                                       best):
  candidates = tuning.candidates(EXPERIMENTS)
  found = tuning.tuned(EXPERIMENTS, tried(candidates, precisions))
  assert found == {'Adam': ['--optimizer=adam', '--learning_rate=' + best]}


def result(name, seed, shares, flags, steps):
  return {
      'name': name,
      'seed': seed,
      'flags': flags,
      'steps': steps,
      'points': [{
          'step': step,
          'averaged': 1000 * share,
          'plain': 900 * share
      } for step, share in shares],
      'total': 1000,
      'loss': 2.0
  }


@pytest.mark.parametrize('share, again', [(0.605, True), (0.595, True),
                                          (0.615, False), (0.585, False)])
def test_other_seeds_are_for_what_is_within_a_point(tuning, share, again):
  experiments = {
      'steps': 10,
      'seeds': [1, 2, 3],
      'flags': [],
      'variants': {
          'default': [],
          'near': ['--a']
      }
  }
  results = [result('default', 1, [(0, 0.1), (10, 0.6)], [], 20)]
  runs = list(tuning.wanted(experiments, results))
  assert [(run['name'], run['seed']) for run in runs] == [('default', 1),
                                                          ('near', 1),
                                                          ('default', 2),
                                                          ('default', 3)]
  results.append(result('near', 1, [(0, 0.1), (10, share)], ['--a'], 10))
  names = [run['name'] for run in tuning.wanted(experiments, results)]
  assert names.count('near') == (3 if again else 1)


def test_rows_have_what_was_tried_and_the_difference_before(tuning):
  candidates = tuning.candidates(EXPERIMENTS)
  found = {'tuning': tried(candidates, [0.25, None])}
  best = tuning.tuned(EXPERIMENTS, found['tuning'])
  experiments = dict(EXPERIMENTS, flags=[], variants={'default': [], **best})
  found['results'] = [
      result('default', 1, [(0, 0.1), (10, 0.6), (20, 0.7)], [], 20),
      result('Adam', 1, [(0, 0.1), (5, 0.5), (10, 0.7)], best['Adam'], 10)
  ]
  before = {
      'results': [
          result('default', 1, [(0, 0.1), (5, 0.5), (10, 0.6)], [], 10),
          result('Adam', 1, [(0, 0.1), (5, 0.45)], ['--optimizer=adam'], 5)
      ]
  }
  found['times'] = [{'flags': best['Adam'], 'ratio': 1.5}]
  default, adam = tuning.compared(experiments, found, before)
  assert default['before'] == 0 and default['tried'] == []
  assert adam['before'] == pytest.approx(-0.05)
  assert adam['at_half'] == pytest.approx(0.15)
  assert adam['at_steps'] == pytest.approx(0.1)
  assert adam['at_time'] == pytest.approx(0.05)  # The default's at step 15.
  line = tuning.table([default, adam]).splitlines()[-1]
  assert line == (
      '| Adam | `--optimizer=adam --learning_rate=0.001` | 0.001: 25.0 %, '
      '1e+30: diverges | -5.0 | +15.0 | +10.0 | +5.0 | 70.0 % | 2.00 |')
  adam.update(runs=2, lowest=0.69, highest=0.71)
  assert '| 70.0 % (69.0 to 71.0) | 2.00 |' in tuning.table([adam])


@pytest.mark.slow
@pytest.mark.skipif(tf.__version__ < '2',
                    reason='the programs that it runs are tested on both')
def test_it_goes_on_where_it_was_stopped(tuning, tmp_path):
  path, out = tmp_path / 'experiments.json', tmp_path / 'out.json'
  path.write_text(json.dumps(EXPERIMENTS))
  command = [SCRIPT, str(path), '--out=%s' % out]
  command.append('--runs=%s' % (tmp_path / 'runs'))
  default = result('default', 1, [(0, 0.1), (10, 0.9), (20, 0.9)],
                   EXPERIMENTS['flags'], 20)
  first, _ = tuning.candidates(EXPERIMENTS)
  there = {
      'tuning': tried([first], [0.9]),
      'results': [default, dict(default, seed=2)]
  }
  out.write_text(json.dumps(there))
  status, table, err = processes.run(command)
  assert status == 0, err
  written = json.loads(out.read_text())
  # A rate of 1e30 diverges; what was there is not run again.
  assert written['tuning'][0] == there['tuning'][0]
  assert 'loss' in written['tuning'][1]['error']
  assert written['results'][:2] == there['results']
  (adam,) = written['results'][2:]
  assert [point['step'] for point in adam['points']] == [0, 2, 4, 6, 8, 10]
  assert table.count('\n| ') == 2 and '1e+30: diverges' in table
  assert (tmp_path / 'out.png').stat().st_size > 1000
  status, again, err = processes.run(command)
  assert (status, again, err) == (0, table, '')
  status, timed, err = processes.run(command + ['--time_rounds=1'])
  assert status == 0, err
  written = json.loads(out.read_text())
  assert [time['flags'] for time in written['times']
         ] == [default['flags'], adam['flags']]
  assert all(time['ratio'] > 0 for time in written['times'])
  assert len(written['results']) == 3 and timed.count('\n| ') == 2


@pytest.mark.slow
def test_only_a_run_that_diverges_is_a_result(tmp_path):
  path, out = tmp_path / 'experiments.json', tmp_path / 'out.json'
  bad = {'Best': {'flags': ['--optimizer=best'], 'values': {'power': [1]}}}
  path.write_text(json.dumps(dict(EXPERIMENTS, variants=bad)))
  status, _, err = processes.run([SCRIPT, str(path), '--out=%s' % out])
  assert status == 1
  assert 'Best: ' in err and '--optimizer' in err and err.count('\n') == 1
  assert json.loads(out.read_text())['tuning'] == []


def test_experiments_that_make_no_sense_are_named(tmp_path):
  path = tmp_path / 'experiments.json'
  bad = dict(EXPERIMENTS, variants={'Adam': {'flags': [], 'values': {}}})
  for content, problem in ((None, 'no such file'), (bad, 'expected tuning')):
    if content:
      path.write_text(json.dumps(content))
    status, _, err = processes.run(
        [SCRIPT, str(path),
         '--out=%s' % (tmp_path / 'out.json')])
    assert status == 1
    assert str(path) in err and problem in err and err.count('\n') == 1
