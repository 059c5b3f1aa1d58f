"""The comparison of ways to train on a cluster: its runs and its table."""

import json
import time
import types

from cifar10.tools import variants
from tests import short_runs

exercise_10 = short_runs.module_of('benchmarks', 'exercise_10')


class Runner(variants.Runner):
  """Notes commands; writes what a cluster of 50 steps in 30 seconds would."""

  commands = []

  def run(self, command, watch=None, **popen):
    flags = dict(flag.split('=') for flag in command[2:] if '=' in flag)
    self.commands.append(' '.join(command[2:]))
    start = time.time() - 30
    with open(flags['--metrics'], 'w') as metrics:
      for number in range(3):
        row = {'time': start + 10 * number, 'examples_per_sec': 100 + number}
        metrics.write(json.dumps(row) + '\n')
    return None if watch() else 0

  def answer(self, command):
    self.commands.append('eval')
    return json.dumps({'step': 50, 'precision @ 1': 0.25})


def test_ways_take_turns_and_are_resumed(tmp_path, monkeypatch, capsys):
  monkeypatch.setattr(variants, 'Runner', Runner)
  args = types.SimpleNamespace(out=str(tmp_path / 'found.json'), steps=50,
                               secs=20, rounds=1, data_dir='/data')
  exercise_10.compare_all(args)
  trained = [c for c in Runner.commands if c != 'eval']
  assert len(trained) == 8 and len(Runner.commands) == 16
  for number, command in enumerate(trained):
    limit = '--max_steps=50 ' if number < 4 else '--max_steps=1000000 '
    flags = list(exercise_10.WAYS.values())[number % 4]
    assert limit in command and command.endswith(' '.join(flags))
  assert capsys.readouterr().out.splitlines()[2:4] == [
      '| synchronous | 50 steps | 50 | 102 | 25.0 % |',
      '| asynchronous | 50 steps | 50 | 102 | 25.0 % |'
  ]
  args.rounds = 2
  exercise_10.compare_all(args)
  assert len(Runner.commands) == 32  # The first round is not run again.
  assert '| columns | 20 secs | 50 | 102 | 25.0 %, 25.0 % |' in (
      capsys.readouterr().out)
  rows = json.loads((tmp_path / 'found.json').read_text())['results']
  assert [row['round'] for row in rows] == [0] * 8 + [1] * 8
  assert {row['secs_taken'] for row in rows} == {20}
