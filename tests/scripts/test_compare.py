"""Comparisons of variants: their tables, and that they go on."""

import argparse
import json
import os

import pytest

from cifar10.errors import DivergedError
from cifar10.errors import UserError
from tests import forked_variants
from tests import short_runs

compare = short_runs.module_of('benchmarks', 'compare')
comparison = short_runs.module_of('benchmarks', 'comparison')

NONE = {'steps': 5, 'seeds': [1], 'variants': {}}


def test_variants_are_compared_at_equal_steps_and_equal_time():
  variants = {'default': [], 'slow': ['--a'], 'bad': ['--b']}
  experiments = dict(NONE, steps=10, seeds=[1, 2], flags=[], variants=variants)
  result = short_runs.result_of_variant
  results = [
      result('default', 1, [(0, 0.1), (10, 0.5), (20, 0.7)], [], 20),
      result('default', 2, [(0, 0.1), (10, 0.4), (20, 0.6)], [], 20),
      result('slow', 1, [(0, 0.1), (10, 0.6)], ['--a'], 10),
      result('slow', 2, [(0, 0.1), (10, 0.6)], ['--a'], 10),
      # Of other flags and of other steps: another experiment's.
      result('slow', 3, [(0, 0.1), (10, 0.9)], ['--c'], 10),
      result('slow', 3, [(0, 0.1), (50, 0.9)], ['--a'], 50),
      {
          'name': 'bad',
          'seed': 1,
          'flags': ['--b'],
          'steps': 10,
          'error': 'loss is nan at step 9; ' + DivergedError.MARK
      }
  ]
  times = [{'flags': ['--a'], 'ratio': ratio} for ratio in (1.4, 1.5, 9.0)]
  times.append({'flags': ['--c'], 'ratio': 7.0})
  default, slow, bad = comparison.compared(experiments, results, times)
  assert default['averaged'] == pytest.approx(0.45)
  assert 'time' not in default and 'at_time' not in default
  assert slow['runs'] == 2
  assert slow['averaged'] == pytest.approx(0.6)
  assert slow['plain'] == pytest.approx(0.54)
  assert slow['time'] == pytest.approx(1.5)
  assert slow['at_steps'] == pytest.approx(0.15)
  assert slow['spread'] == pytest.approx((0.1, 0.2))
  # In that time the default has taken 15 steps.
  assert slow['at_time'] == pytest.approx(0.05)
  # Times alone are shown too.
  (timed,) = comparison.compared(experiments, [], times)
  assert (timed['name'], timed['runs'], timed['time']) == ('slow', 0, 1.5)
  assert ' 1.50 |' in comparison.table([timed])
  lines = comparison.table([default, slow, bad]).splitlines()
  assert lines[2].endswith(' | 2.00 |  |  |  |')
  assert lines[3] == (
      '| slow | `--a` | 60.0 % (60.0 to 60.0) | 54.0 % | 2.00 | '
      '1.50 | +15.0 | +5.0 |')
  assert lines[4].startswith('| bad | `--b` | diverges at step 9 |')


def test_variants_are_timed_in_turns_with_the_default(monkeypatch):
  asked, speeds = [], [40.0, 80.0, 50.0]
  variants = {'default': [], 'a': ['--a'], 'b': ['--b']}
  experiments = dict(NONE, flags=['--all'], variants=variants)

  def speed(flags):
    asked.append(flags[-1])
    if flags[-1] == '--b':
      raise UserError('fails')
    return speeds.pop(0) if flags[1:] else 100.0

  monkeypatch.setattr(compare, '_speed', speed)
  times = [{'flags': ['--all'], 'ratio': 0.5}]  # Of an earlier start.
  compare.time_all(experiments, times, 3, lambda: None)
  # What fails has no time, and is tried again each time.
  assert asked == ['--all', '--a', '--b'] + 2 * ['--all', '--all', '--a', '--b']
  of_a = [time['ratio'] for time in times if time['flags'] == ['--all', '--a']]
  assert of_a == [2.5, 1.25, 2.0]
  assert [time['ratio'] for time in times if time['flags'] == ['--all']
         ] == [0.5, 1.0, 1.0]


@pytest.mark.slow
def test_it_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
  forked_variants.fork(monkeypatch)
  path, out = tmp_path / 'experiments.json', tmp_path / 'a' / 'b' / 'out.json'
  flags = forked_variants.quick_flags(tmp_path)
  variants = {'adam': ['--optimizer=adam'], 'bad': ['--learning_rate=1e30']}
  path.write_text(
      json.dumps(dict(NONE, steps=2, points=1, flags=flags, variants=variants)))
  args = argparse.Namespace(experiments=str(path), out=str(out), jobs=1,
                            runs=str(tmp_path / 'runs'), time_rounds=1)

  def run():
    compare.compare(args)
    return (json.loads(out.read_text()), *capsys.readouterr())

  # Times alone, into a new folder, are not drawn.
  with monkeypatch.context() as context:
    context.setattr(compare, '_speed', len)
    found, table, _ = run()
  assert len(found['times']) == 3 and table.count('\n| ') == 3
  assert os.listdir(str(out.parent)) == ['out.json']
  # What is there is not run again, and what is not is.
  there = short_runs.result_of_variant('adam', 1, [(0, 0.1), (2, 0.1)],
                                       flags + variants['adam'], 2)
  out.write_text(json.dumps(dict(found, results=[there])))
  args.time_rounds = 0
  found, table, err = run()
  assert table.count('\n| ') == 3 and ' 0.75 |' in table
  assert '| diverges at step ' in table
  assert 'default, seed 1: ' in err and 'bad, seed 1: ' in err
  assert 'adam, seed 1' not in err
  results = {r['name']: r for r in found['results']}
  assert len(found['results']) == 3 and results['adam'] == there
  assert 'loss is ' in results['bad']['error']
  # The default takes twice as many steps.
  steps = [point['step'] for point in results['default']['points']]
  assert steps == [0, 2, 4]
  assert (out.parent / 'out.png').stat().st_size > 1000
  assert run() == (found, table, '')
  monkeypatch.setattr(compare, '_TIMED_STEPS', 12)
  assert compare._speed(flags) > 0


def test_where_results_cannot_be_is_found_out_first(tmp_path):
  (tmp_path / 'file').write_text('')
  with pytest.raises((UserError, OSError), match=str(tmp_path / 'file')):
    compare.open_results(str(tmp_path / 'file' / 'out.json'))


@pytest.mark.parametrize('content, problem', [
    (None, 'no such file'), ({'steps': 5}, 'expected seeds, variants'),
    (dict(NONE, steps=7), 'steps=7: expected a multiple of points=5')
])  # yapf: disable
def test_other_files_are_named(tmp_path, content, problem):
  path = tmp_path / 'experiments.json'
  if content:
    path.write_text(json.dumps(content))
  with pytest.raises(UserError, match=f'experiments.json: {problem}'):
    compare.load_experiments(str(path))
