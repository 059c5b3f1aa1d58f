"""scripts/benchmarks/repeat.py trains a recipe with several seeds."""

import json
import os
import time

import pytest

from cifar10.errors import UserError
from tests import processes
from tests import short_runs

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks', 'repeat.py')


def times_in(path):
  return [json.loads(line)['time'] for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_a_run_that_was_stopped_resumes_and_its_minutes_add_up(tmp_path):
  out, runs = tmp_path / 'out.json', tmp_path / 'runs'

  def repeat(max_steps):
    status, text, err = processes.run([
        SCRIPT, '--recipe=tutorial', '--seeds=3', f'--out={out}',
        f'--runs={runs}', '--', '--dataset=sample', '--batch_size=8',
        '--log_frequency=1', f'--max_steps={max_steps}'
    ])
    assert status == 0, err
    return text, json.loads(out.read_text())

  _, first = repeat(2)
  # As if the first start had not come to its end.
  minutes = first['results'].pop()['minutes of training']
  about = dict(first, flags=first['flags'][:-1] + ['--max_steps=4'])
  out.write_text(json.dumps(about))
  (runs / 'settings.json').write_text(json.dumps(dict(about, results=[])))
  text, second = repeat(4)
  (result,) = second['results']
  assert [e['step'] for e in result['evaluations']] == [4, 4]
  assert result['minutes of training'] > minutes / 2
  times = times_in(runs / 'tutorial-3.jsonl')
  begun, resumed = times_in(runs / 'tutorial-3.starts.jsonl')
  # To the last step of the first start, and from the second start on.
  least = times[1] - begun + times[-1] - resumed
  assert least < 60 * result['minutes of training'] < time.time() - begun
  assert text.startswith('seed 3: ')
  assert text.count('1 runs') == 3


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
  repeat = short_runs.module_at(SCRIPT)
  about = {'recipe': 'tutorial', 'settings': {}, 'flags': ['--seed=1']}
  out.write_text(json.dumps(about))
  assert repeat.held(str(out), about) == about
  with pytest.raises(UserError, match='holds runs of other settings'):
    repeat.held(str(out), dict(about, flags=[]))
