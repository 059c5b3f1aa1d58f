"""scripts/benchmarks/repeat.py trains a recipe with several seeds."""

import argparse
import json
import os
import time

import pytest

from cifar10.errors import UserError
from tests import forked_variants
from tests import processes
from tests import short_runs
from tests import synthetic_records

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks', 'repeat.py')
repeat = short_runs.module_at(SCRIPT)


def times_in(path):
  return [json.loads(line)['time'] for line in path.read_text().splitlines()]


def _interrupted(path):
  raise KeyboardInterrupt  # Once it has trained.


@pytest.mark.slow
def test_a_run_that_was_stopped_resumes_and_its_minutes_add_up(
    tmp_path, monkeypatch, capsys):
  forked_variants.fork(monkeypatch)
  out, runs = tmp_path / 'out.json', tmp_path / 'runs'
  data_dir = synthetic_records.make_three_classes(tmp_path, 8, 1)
  flags = [f'--data_dir={data_dir}', '--batch_size=4', '--log_frequency=1']
  args = argparse.Namespace(recipe='tutorial', seeds=[3], out=str(out),
                            runs=str(runs), flags=flags + ['--max_steps=2'])
  with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
    context.setattr(repeat, '_times', _interrupted)
    repeat.repeat(args)
  for path in (out, runs / 'settings.json'):
    about = json.loads(path.read_text())
    assert about['flags'] == args.flags and not about.get('results')
    path.write_text(json.dumps(dict(about, flags=flags + ['--max_steps=4'])))
  args.flags = flags + ['--max_steps=4']
  repeat.repeat(args)
  (result,) = json.loads(out.read_text())['results']
  assert [e['step'] for e in result['evaluations']] == [4, 4]
  times = times_in(runs / 'tutorial-3.jsonl')
  begun, resumed = times_in(runs / 'tutorial-3.starts.jsonl')
  # To the last step of the first start, and from the second start on.
  least = times[1] - begun + times[-1] - resumed
  assert least < 60 * result['minutes of training'] < time.time() - begun
  text = capsys.readouterr().out
  assert text.startswith('seed 3: ') and text.count('1 runs') == 3


@pytest.mark.parametrize('name', ['out.json', 'settings.json'])
def test_results_of_other_settings_are_kept(name, tmp_path):
  path, out = tmp_path / name, tmp_path / 'out.json'
  held = json.dumps({'recipe': 'better', 'results': []})
  path.write_text(held)
  status, _, err = processes.run(
      [SCRIPT, '--recipe=fast', f'--out={out}', f'--runs={tmp_path}'])
  assert status == 1
  assert err == f'repeat: error: {path}: holds runs of other settings\n'
  assert path.read_text() == held


def test_seeds_that_are_no_numbers_are_named(tmp_path):
  status, _, err = processes.run([SCRIPT, '--seeds=1,a', '--out=x'])
  assert status == 2
  assert err.endswith('argument --seeds: found 1,a; expected whole numbers '
                      'separated by commas\n')


def test_results_with_other_flags_are_kept(tmp_path):
  out = tmp_path / 'out.json'
  about = {'recipe': 'tutorial', 'settings': {}, 'flags': ['--seed=1']}
  out.write_text(json.dumps(about))
  repeat.check(str(out), about)
  with pytest.raises(UserError, match='holds runs of other settings'):
    repeat.check(str(out), dict(about, flags=[]))
