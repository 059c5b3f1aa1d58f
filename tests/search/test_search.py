"""Searches: real trials, stopped and taken up again."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from cifar10.search import search as search_lib
from cifar10.search import space as space_lib
from cifar10.search import trials as trials_lib
from cifar10.training import run_state
from tests import short_runs

optuna = pytest.importorskip('optuna')

FLAGS = [
  '--dataset=sample',
  '--max_steps=12',
  '--validation_examples=100',
  '--validation_steps=4',
  '--batch_size=8',
  '--intra_op_threads=1',
]


def start(tmp_path, flags, space, count, *more):
  path = tmp_path / 'space.json'
  path.write_text(json.dumps({'flags': flags, 'space': space}))
  return subprocess.Popen(
    [
      sys.executable,
      os.path.join(short_runs.ROOT, 'scripts', 'search.py'),
      str(path),
      '--trials=%d' % count,
      '--out=%s' % (tmp_path / 'out'),
      *more,
    ],
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    universal_newlines=True,
  )


def steps_in(folder):
  state = run_state.load(str(folder))
  return [step for step, _ in state.validations] if state else []


def processes_with(text):
  """The processes whose command line has `text` in it."""
  found = []
  for pid in filter(str.isdecimal, os.listdir('/proc')):
    try:
      with open('/proc/%s/cmdline' % pid, 'rb') as command:
        if text.encode() in command.read():
          found.append(int(pid))
    except OSError:
      pass
  return found


def test_a_killed_search_goes_on_where_it_was(tmp_path):
  flags = [flag.replace('=12', '=4000') for flag in FLAGS]
  rates = {'learning_rate': [0.01, 0.02]}
  first = start(tmp_path, flags, rates, 2, '--jobs=2')
  folders = [tmp_path / 'out' / name for name in ('trial_000', 'trial_001')]
  deadline = time.time() + 120
  while not all(len(steps_in(folder)) >= 2 for folder in folders):
    assert time.time() < deadline and first.poll() is None
    time.sleep(0.1)
  first.kill()
  first.communicate()
  # The trainers save and end.
  while processes_with(str(tmp_path)):
    assert time.time() < deadline
    time.sleep(0.1)
  before = [steps_in(folder) for folder in folders]
  # Now only as far as they are.
  end = max(steps[-1] for steps in before) + 4
  flags[1] = '--max_steps=%d' % end
  second = start(tmp_path, flags, rates, 2, '--jobs=2')
  out, err = second.communicate(120)
  assert (second.returncode, err) == (0, '')
  assert sorted(os.listdir(str(tmp_path / 'out'))) == [
    'search.db',
    'trial_000',
    'trial_001',
    'trials.json',
    'trials.png',
  ]
  for folder, steps in zip(folders, before):
    state = run_state.load(str(folder))
    assert len(state.starts) == 2  # Resumed, not begun anew.
    assert steps_in(folder)[: len(steps)] == steps
    assert steps_in(folder)[-1] == end
  # The table, and the best of it.
  values = dict(re.findall(r'\| (trial_\d+) \| ([\d.]+) \|', out))
  assert set(values) == {'trial_000', 'trial_001'}
  best = re.search(r'The best is .*(trial_\d+)\. To train it: (.*)', out)
  assert values[best.group(1)] == max(values.values())
  assert '--max_steps=%d' % end in best.group(2)
  assert re.search(r'--learning_rate=0.0[12]', best.group(2))
  for trial in json.loads((tmp_path / 'out' / 'trials.json').read_text())[
    'trials'
  ]:
    reached = run_state.load(str(tmp_path / 'out' / trial['folder']))
    precisions = [precision for _, precision in reached.validations]
    assert trial['precision'] == max(precisions)
  # A finished search does nothing more.
  third = start(tmp_path, flags, rates, 2)
  out, _ = third.communicate(60)
  assert '2 of 2 trials are finished' in out


def test_ctrl_c_ends_all_and_saves(tmp_path):
  flags = [flag.replace('=12', '=4000') for flag in FLAGS]
  process = start(tmp_path, flags, {'learning_rate': [0.01]}, 1)
  folder = tmp_path / 'out' / 'trial_000'
  deadline = time.time() + 120
  while not steps_in(folder):
    assert time.time() < deadline and process.poll() is None
    time.sleep(0.1)
  process.send_signal(signal.SIGINT)
  _, err = process.communicate(60)
  assert process.returncode == 130
  assert err == 'search: error: interrupted\n'
  assert not processes_with(str(tmp_path))
  assert 'is saved in' in (folder / 'trainer.log').read_text()


def trials_of(tmp_path, flags, choices, pruner=None):
  """The Trials of a study in memory, on the sample."""
  space = space_lib.Space(
    tuple(flags),
    {
      name: optuna.distributions.CategoricalDistribution(values)
      for name, values in choices.items()
    },
  )
  study = optuna.create_study(direction='maximize', pruner=pruner)
  return trials_lib.Trials(study, space, str(tmp_path))


def test_a_trial_below_the_others_is_given_up(tmp_path):
  flags = [flag.replace('=12', '=4000') for flag in FLAGS]
  pruner = optuna.pruners.ThresholdPruner(lower=2.0)  # All are below.
  trials = trials_of(tmp_path, flags, {'learning_rate': [0.01]}, pruner)
  trials.run(1, 1)
  (trial,) = trials.finished()
  assert trial.state == optuna.trial.TrialState.PRUNED
  assert 4 <= trial.last_step < 4000
  assert not processes_with(str(tmp_path))


def test_a_trial_that_diverges_is_a_result(tmp_path):
  trials = trials_of(tmp_path, FLAGS, {'learning_rate': [1e30]})
  trials.run(1, 1)
  (trial,) = trials.finished()
  assert trial.state == optuna.trial.TrialState.PRUNED
  assert 'expected a finite number' in trial.user_attrs['error']


@pytest.mark.parametrize(
  'flags, problem',
  [
    (['--max_steps=2', '--validation_steps=9'], 'ended without a validation'),
    (['--data_dir=/nowhere', '--dataset=svhn'], 'error: '),
  ],
)
def test_a_mistake_ends_the_search(tmp_path, flags, problem):
  flags = FLAGS[:1] + FLAGS[2:3] + ['--max_steps=2'] + flags
  trials = trials_of(tmp_path, flags, {'learning_rate': [0.1]})
  with pytest.raises(search_lib.UserError, match=problem):
    trials.run(3, 2)
  assert not trials.finished()


def test_two_searches_do_not_share_a_folder(tmp_path):
  flags = [flag.replace('=12', '=4000') for flag in FLAGS]
  first = start(tmp_path, flags, {'learning_rate': [0.01]}, 1)
  deadline = time.time() + 60
  while not (tmp_path / 'out' / 'search.db').exists():
    assert time.time() < deadline and first.poll() is None
    time.sleep(0.1)
  second = start(tmp_path, flags, {'learning_rate': [0.01]}, 1)
  _, err = second.communicate(60)
  assert second.returncode == 1
  assert err.endswith('out: another search uses this folder\n')
  first.send_signal(signal.SIGINT)
  first.communicate(60)
