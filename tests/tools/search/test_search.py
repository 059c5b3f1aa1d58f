"""Searches: real trials, stopped and taken up again."""

import argparse
import json
import os
import re
import signal
import subprocess

import pytest

from cifar10.errors import UserError
from cifar10.store import run_state
from cifar10.tools.search import search as search_lib
from cifar10.tools.search import space as space_lib
from cifar10.tools.search import trials as trials_lib
from tests import processes
from tests import short_runs

optuna = pytest.importorskip('optuna')

FLAGS = [
    '--dataset=sample', '--max_steps=12', '--validation_examples=100',
    '--validation_steps=4', '--batch_size=8', '--intra_op_threads=1'
]
RANGE = {'learning_rate': {'low': 0.01, 'high': 0.1}}


@pytest.fixture
def start(tmp_path):
  """Starts a search of one trial, which ends with the test."""
  started = []

  def start_one(flags, space):
    command = [short_runs.script('search'), write_space(tmp_path, flags, space)]
    command += ['--trials=1', '--out=%s' % (tmp_path / 'out')]
    started.append(
        processes.start(command, stdout=processes.PIPE, stderr=processes.PIPE))
    return started[-1]

  yield start_one
  for process in started:
    process.kill()
    process.communicate()


def write_space(tmp_path, flags, space):
  path = tmp_path / 'space.json'
  path.write_text(json.dumps({'flags': flags, 'space': space}))
  return str(path)


def arguments(tmp_path, space, count, flags=FLAGS):
  return argparse.Namespace(space=write_space(tmp_path, flags, space),
                            trials=count, jobs=1, gpus=0, masters='', seed=1,
                            out=str(tmp_path / 'out'))


def steps_in(folder):
  state = run_state.load(str(folder))
  return [step for step, _ in state.validations] if state else []


@pytest.mark.slow
def test_a_search_that_is_killed_or_interrupted_goes_on(tmp_path, start,
                                                        capsys):
  flags = FLAGS + [
      '--max_steps=480', '--validation_steps=40', *short_runs.SMALL_FLAGS
  ]
  rates, folder = {'learning_rate': [0.01]}, tmp_path / 'out' / 'trial_000'
  first = start(flags, rates)
  processes.wait_until(lambda: steps_in(folder) or first.poll() is not None)
  first.kill()
  first.communicate()
  # The trainer saves and ends.
  processes.wait_until(lambda: not processes.running(tmp_path))
  before = steps_in(folder)
  assert 0 < len(before) < 12
  second = start(flags, rates)
  processes.wait_until(lambda: len(steps_in(folder)) > len(before))
  # Two searches do not share a folder.
  with pytest.raises(UserError, match='out: another search uses this folder$'):
    search_lib.search(arguments(tmp_path, rates, 1, flags))
  # A trainer that takes its time to save.
  (trainer,) = processes.running('--train_dir=%s' % folder)
  os.kill(trainer, signal.SIGSTOP)
  try:
    second.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
      second.wait(1)
  finally:
    os.kill(trainer, signal.SIGCONT)
  _, err = second.communicate(60)
  assert (second.returncode, err) == (130, 'search: error: interrupted\n')
  assert not processes.running(tmp_path)
  assert 'is saved in' in (folder / 'trainer.log').read_text()
  third = start(flags, rates)
  out, err = third.communicate(120)
  assert (third.returncode, err) == (0, '')
  # What is resumed is another trial in the same folder.
  assert sorted(os.listdir(str(tmp_path / 'out'))) == [
      'search.db', 'trial_000', 'trials.json', 'trials.png'
  ]
  assert steps_in(folder)[:len(before)] == before
  state = run_state.load(str(folder))
  assert len(state.starts) == 3 and state.validations[-1][0] == 480
  # The table, and the best of it.
  best = max(precision for _, precision in state.validations)
  assert f'| trial_000 | {best:.4f} | 480 | 0.01 |' in out
  again = re.search(r'The best is trial_000\. .* To train it again: (.*)', out)
  for flag in ('--max_steps=480', '--learning_rate=0.01',
               f'--train_dir={tmp_path}/out/again_trial_000'):
    assert flag in again.group(1)
  (trial,) = json.loads(
      (tmp_path / 'out' / 'trials.json').read_text())['trials']
  assert trial['validations'] == [list(v) for v in state.validations]
  assert trial['precision'] == best
  # A finished search does nothing more.
  search_lib.search(arguments(tmp_path, rates, 1, flags))
  found = capsys.readouterr().out
  assert 'continuing' not in found
  assert found.splitlines()[:3] == out.splitlines()[-4:-1]


def test_what_was_given_up_is_not_the_best(tmp_path):
  study = optuna.create_study(direction='maximize')
  distribution = optuna.distributions.FloatDistribution(0.1, 0.2)
  space = space_lib.Space((), {'dropout': distribution}, {})
  for state, reported, error in (('COMPLETE', 0.5, None),
                                 ('PRUNED', 0.8, 'loss is nan'), ('PRUNED', 0.7,
                                                                  None)):
    trial = study.ask(space.distributions)
    trial.report(reported, 10)
    if error:
      trial.set_user_attr('error', error)
    value = reported if state == 'COMPLETE' else None
    study.tell(trial, value, state=optuna.trial.TrialState[state])
  trials = study.get_trials()
  assert trials[1].value == 0.8  # Optuna says so.
  rows = search_lib.table(trials, space).splitlines()[2:]
  cells = [row.split(' | ')[:2] for row in rows]
  assert cells == [['| trial_000', '0.5000'], ['| trial_001', 'diverged'],
                   ['| trial_002', 'given up']]
  search_lib.write(trials, space, str(tmp_path))
  written = json.loads((tmp_path / 'trials.json').read_text())['trials']
  assert [trial['precision'] for trial in written] == [0.5, None, None]


def in_memory(monkeypatch):
  """Replaces training; returns the list of the rates that are tried."""
  tried = []

  def train(self, trial, index):
    tried.append(trial.params['learning_rate'])
    self._study.tell(trial, 0.5)

  monkeypatch.setattr(trials_lib.Trials, '_train', train)
  return tried


def test_each_job_needs_a_server_of_its_own(tmp_path):
  args = arguments(tmp_path, RANGE, 4)
  args.jobs, args.masters = 3, 'grpc://a:2222,grpc://b:2222'
  message = '--jobs=3: each trial needs a server of its own; --masters names 2$'
  with pytest.raises(UserError, match=message):
    search_lib.search(args)
  assert not (tmp_path / 'out').exists()


@pytest.mark.slow
def test_a_search_goes_on_in_its_own_space_and_draws_other_values(
    tmp_path, monkeypatch):
  tried = in_memory(monkeypatch)
  for count in (2, 4):
    search_lib.search(arguments(tmp_path, RANGE, count))
  assert len(set(tried)) == len(tried) == 4
  longer = [flag.replace('=12', '=99') for flag in FLAGS]
  wider = {'learning_rate': {'low': 0.01, 'high': 0.2}}
  for space, flags in ((wider, FLAGS), (RANGE, longer),
                       (RANGE, FLAGS + ['--dropout=0.5'])):
    with pytest.raises(UserError, match='space.json: has changed since'):
      search_lib.search(arguments(tmp_path, space, 5, flags))
  assert len(tried) == 4


@pytest.mark.parametrize('name', ['sea%41', 'sea{x}', 'sea{', 'sea#', 'a;b&c'])
def test_a_search_is_in_the_folder_that_is_named(tmp_path, monkeypatch, name):
  in_memory(monkeypatch)
  args = arguments(tmp_path, RANGE, 1)
  args.out = str(tmp_path / name)
  search_lib.search(args)
  assert sorted(os.listdir(str(tmp_path))) == sorted([name, 'space.json'])
  assert 'search.db' in os.listdir(args.out)


def test_trials_without_their_search_are_refused(tmp_path, monkeypatch):
  tried = in_memory(monkeypatch)
  (tmp_path / 'out' / 'trial_000').mkdir(parents=True)
  with pytest.raises(UserError, match='out: holds trials, such as trial_000, '):
    search_lib.search(arguments(tmp_path, RANGE, 1))
  assert not tried


def test_a_damaged_file_is_named(tmp_path):
  (tmp_path / 'out').mkdir()
  (tmp_path / 'out' / 'search.db').write_bytes(b'nothing' * 1000)
  with pytest.raises(UserError, match='search.db: ') as info:
    search_lib.search(arguments(tmp_path, RANGE, 2))
  assert '\n' not in str(info.value)
