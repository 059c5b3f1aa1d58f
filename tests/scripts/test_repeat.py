"""scripts/benchmarks/repeat.py trains a recipe with several seeds."""

import argparse
import json
import time

import pytest

from cifar10.errors import UserError
from tests import forked_variants
from tests import short_runs

repeat = short_runs.module_of('benchmarks', 'repeat')


def interrupted(metrics):
  raise KeyboardInterrupt  # Once it has trained.


@pytest.mark.slow
def test_a_run_that_was_stopped_resumes_and_its_minutes_add_up(
    tmp_path, monkeypatch, capsys):
  forked_variants.fork(monkeypatch)
  out, runs = tmp_path / 'out.json', tmp_path / 'runs'
  flags = forked_variants.quick_flags(tmp_path)
  args = argparse.Namespace(recipe='tutorial', seeds=[3], out=str(out),
                            runs=str(runs), flags=flags + ['--max_steps=2'])
  with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
    context.setattr(repeat.compare, 'rows', interrupted)
    repeat.repeat(args)
  about = json.loads(out.read_text())
  assert about['flags'] == args.flags and not about['results']
  with pytest.raises(UserError, match='holds runs of other settings'):
    repeat.repeat(argparse.Namespace(**dict(vars(args), flags=flags)))
  out.write_text(json.dumps(dict(about, flags=flags + ['--max_steps=4'])))
  args.flags = flags + ['--max_steps=4']
  repeat.repeat(args)
  (result,) = json.loads(out.read_text())['results']
  assert [e['step'] for e in result['evaluations']] == [4, 4]
  lines = (runs / 'tutorial-3.jsonl').read_text().splitlines()
  rows = [json.loads(line) for line in lines]
  assert [row.get('step') for row in rows] == [None, 0, 1, None, 2, 3]
  # To the last step of the first start, and from the second start on.
  times = [row['time'] for row in rows]
  least = times[2] - times[0] + times[5] - times[3]
  assert least < 60 * result['minutes of training'] < time.time() - times[0]
  first = times[1] - times[0]
  assert 60 * result['minutes to first step'] == pytest.approx(first)
  text = capsys.readouterr().out
  assert text.startswith('seed 3: ') and text.count('1 runs') == 3
