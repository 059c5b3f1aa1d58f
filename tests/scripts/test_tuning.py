"""Techniques compared at their best: what is tried, chosen and run again."""

import argparse
import json

import pytest

from tests import forked_variants
from tests import short_runs

tuning = short_runs.module_of('benchmarks', 'tuning')

EXPERIMENTS = {
    'tuning_steps': 2,
    'steps': 2,
    'points': 1,
    'seeds': [1, 2],
    'validation_examples': 20,
    'flags': [],
    'variants': {
        'Adam': {
            'flags': ['--optimizer=adam'],
            'values': {
                'learning_rate': [0.001, 1e30]
            }
        }
    }
}
result = short_runs.result_of_variant


def tried(precisions, experiments=EXPERIMENTS):
  """Results of the candidates; a precision of None stands for an error."""
  return [
      dict(c, **({'error': 'nan'} if p is None else {'validation': p}))
      for c, p in zip(tuning.candidates(experiments), precisions)
  ]  # yapf: disable


@pytest.mark.parametrize('precisions, best', [([0.3, 0.4], '1e+30'),
                                              ([0.5, 0.4], '0.001'),
                                              ([0.1, None], '0.001'),
                                              ([None, 0.1], '1e+30')])
def test_the_best_value_is_that_of_the_best_validation(precisions, best):
  found = tuning.tuned(EXPERIMENTS, tried(precisions))
  assert found == {'Adam': ['--optimizer=adam', '--learning_rate=' + best]}


@pytest.mark.parametrize('share, again', [(0.605, True), (0.595, True),
                                          (0.615, False), (0.585, False)])
def test_other_seeds_are_for_what_is_within_a_point(share, again):
  variants = {'default': [], 'near': ['--a']}
  experiments = {
      'steps': 10, 'seeds': [1, 2, 3], 'flags': [], 'variants': variants
  }  # yapf: disable
  results = [result('default', 1, [(0, 0.1), (10, 0.6)], [], 20)]
  runs = list(tuning.wanted(experiments, results))
  assert [(run['name'], run['seed']) for run in runs] == [('default', 1),
                                                          ('near', 1),
                                                          ('default', 2),
                                                          ('default', 3)]
  results.append(result('near', 1, [(0, 0.1), (10, share)], ['--a'], 10))
  names = [run['name'] for run in tuning.wanted(experiments, results)]
  assert names.count('near') == (3 if again else 1)


def test_rows_have_what_was_tried_and_the_difference_before():
  found = {'tuning': tried([0.25, None])}
  best = tuning.tuned(EXPERIMENTS, found['tuning'])
  experiments = dict(EXPERIMENTS, steps=10, flags=[],
                     variants={'default': [], **best})  # yapf: disable
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
def test_it_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
  forked_variants.fork(monkeypatch)
  path, out = tmp_path / 'experiments.json', tmp_path / 'out.json'
  flags = forked_variants.quick_flags(tmp_path)
  experiments = dict(EXPERIMENTS, flags=flags)
  path.write_text(json.dumps(experiments))
  args = argparse.Namespace(experiments=str(path), out=str(out), jobs=1,
                            runs=str(tmp_path / 'runs'), before='',
                            time_rounds=0)
  default = result('default', 1, [(0, 0.1), (2, 0.9), (4, 0.9)], flags, 4)
  there = {
      'tuning': tried([0.9], experiments),
      'results': [default, dict(default, seed=2)]
  }
  out.write_text(json.dumps(there))
  tuning.tune_all(args)
  table, _ = capsys.readouterr()
  written = json.loads(out.read_text())
  # A rate of 1e30 diverges; what was there is not run again.
  assert written['tuning'][:1] == there['tuning']
  assert 'loss' in written['tuning'][1]['error']
  assert written['results'][:2] == there['results']
  (adam,) = written['results'][2:]
  assert [point['step'] for point in adam['points']] == [0, 2]
  assert table.count('\n| ') == 2 and '1e+30: diverges' in table
  assert (tmp_path / 'out.png').stat().st_size > 1000
  tuning.tune_all(args)
  assert capsys.readouterr() == (table, '')
  monkeypatch.setattr(tuning.compare, '_speed', len)
  args.time_rounds = 1
  tuning.tune_all(args)
  written = json.loads(out.read_text())
  assert [time['flags'] for time in written['times']] == [flags, adam['flags']]
  assert len(written['results']) == 3
