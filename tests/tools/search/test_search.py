"""Searches: real trials, stopped and taken up again."""

import argparse
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from cifar10.errors import UserError
from cifar10.store import run_state
from cifar10.tools import variants
from cifar10.tools.search import search as search_lib
from cifar10.tools.search import space as space_lib
from cifar10.tools.search import trials as trials_lib
from tests import processes
from tests import short_runs

pytestmark = pytest.mark.slow

optuna = pytest.importorskip('optuna')

FLAGS = [
    '--dataset=sample', '--max_steps=12', '--validation_examples=100',
    '--validation_steps=4', '--batch_size=8', '--intra_op_threads=1'
]
# Long enough to be stopped on the way.
LONGER = FLAGS + ['--max_steps=400', '--validation_steps=20']
# So many steps that no trainer here reaches the end.
ENDLESS = FLAGS + ['--max_steps=40000']


@pytest.fixture(autouse=True)
def quick(monkeypatch):
  monkeypatch.setattr(variants, 'POLL_SECS', 0.05)


@pytest.fixture
def start(tmp_path):
  """Starts a search, which ends with the test."""
  started = []

  def start_one(flags, space, count, *more):
    path = write_space(tmp_path, flags, space)
    script = os.path.join(short_runs.ROOT, 'cifar10', 'tools', 'search',
                          'search.py')
    started.append(
        processes.start([
            script, path,
            '--trials=%d' % count,
            '--out=%s' % (tmp_path / 'out'), *more
        ], stdout=processes.PIPE, stderr=processes.PIPE))
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


def test_a_killed_search_goes_on_where_it_was(tmp_path, start, capsys):
  rates = {'learning_rate': [0.01, 0.02]}
  first = start(LONGER, rates, 2)
  folder = tmp_path / 'out' / 'trial_000'
  deadline = time.time() + 120
  while not steps_in(folder):
    assert time.time() < deadline and first.poll() is None
    time.sleep(0.05)
  first.kill()
  first.communicate()
  # The trainer saves and ends.
  while processes.running(tmp_path):
    assert time.time() < deadline
    time.sleep(0.05)
  before = steps_in(folder)
  second = start(LONGER, rates, 2, '--jobs=2')
  out, err = second.communicate(120)
  assert (second.returncode, err) == (0, '')
  # What is resumed is another trial in the same folder.
  assert sorted(os.listdir(str(tmp_path / 'out'))) == [
      'search.db', 'trial_000', 'trial_002', 'trials.json', 'trials.png'
  ]
  assert len(before) < 20
  assert steps_in(folder)[:len(before)] == before
  for name, starts in (('trial_000', 2), ('trial_002', 1)):
    state = run_state.load(str(tmp_path / 'out' / name))
    assert len(state.starts) == starts  # Resumed, not begun anew.
    assert state.validations[-1][0] == 400
  # The table, and the best of it.
  values = dict(re.findall(r'\| (trial_\d+) \| ([\d.]+) \|', out))
  assert set(values) == {'trial_000', 'trial_002'}
  best = re.search(r'The best is (trial_\d+)\. .* To train it again: (.*)', out)
  assert values[best.group(1)] == max(values.values())
  assert '--max_steps=400' in best.group(2)
  again = tmp_path / 'out' / f'again_{best.group(1)}'
  assert f'--train_dir={again}' in best.group(2)
  assert re.search(r'--learning_rate=0.0[12]', best.group(2))
  for trial in json.loads(
      (tmp_path / 'out' / 'trials.json').read_text())['trials']:
    reached = run_state.load(str(tmp_path / 'out' / trial['folder']))
    assert trial['validations'] == [list(v) for v in reached.validations]
    precisions = [precision for _, precision in reached.validations]
    assert trial['precision'] == max(precisions)
  # A finished search does nothing more.
  search_lib.search(arguments(tmp_path, rates, 2, LONGER))
  out = capsys.readouterr().out
  assert 'continuing' not in out
  assert set(re.findall(r'\| (trial_\d+) \| ([\d.]+) \|',
                        out)) == set(values.items())
  assert 'The best is %s.' % best.group(1) in out


def test_ctrl_c_ends_all_and_saves(tmp_path, start):
  process = start(ENDLESS, {'learning_rate': [0.01]}, 1)
  folder = tmp_path / 'out' / 'trial_000'
  deadline = time.time() + 120
  while not steps_in(folder):
    assert time.time() < deadline and process.poll() is None
    time.sleep(0.1)
  # Two searches do not share a folder.
  with pytest.raises(UserError, match='out: another search uses this folder$'):
    search_lib.search(arguments(tmp_path, RANGE, 1))
  # A trainer that takes its time to save.
  (trainer,) = processes.running('--train_dir=%s' % folder)
  os.kill(trainer, signal.SIGSTOP)
  try:
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
      process.wait(2)
  finally:
    os.kill(trainer, signal.SIGCONT)
  _, err = process.communicate(60)
  assert process.returncode == 130
  assert err == 'search: error: interrupted\n'
  assert not processes.running(tmp_path)
  assert 'is saved in' in (folder / 'trainer.log').read_text()


def trials_of(tmp_path, flags, choices, pruner=None):
  """The Trials of a study in memory, on the sample."""
  space = space_lib.Space(
      tuple(flags), {
          name: optuna.distributions.CategoricalDistribution(values)
          for name, values in choices.items()
      }, choices)
  study = optuna.create_study(direction='maximize', pruner=pruner)
  return trials_lib.Trials(study, space, str(tmp_path))


def states_of(trials):
  return [trial.state.name for trial in trials._study.get_trials()]


class AfterSteps(optuna.pruners.BasePruner):
  """Gives up below a step, or above another one; notes the last steps."""

  def __init__(self, least, most):
    self.asked, self._least, self._most = [], least, most

  def prune(self, study, trial):
    self.asked.append(trial.last_step)
    return not self._least <= trial.last_step <= self._most


def test_a_trainer_that_is_ended_from_outside_is_resumed_and_given_up(tmp_path):
  trials = trials_of(tmp_path, ENDLESS, {'learning_rate': [0.01]})
  folder = tmp_path / 'trial_000'

  def end():
    deadline = time.time() + 120
    while len(steps_in(folder)) < 2 and time.time() < deadline:
      time.sleep(0.05)
    for pid in processes.running('--train_dir=%s' % folder):
      os.kill(pid, signal.SIGTERM)

  thread = threading.Thread(target=end)
  thread.start()
  with pytest.raises(UserError, match='was ended from outside'):
    trials.run(1, 1)
  thread.join()
  assert states_of(trials) == ['RUNNING']
  # The first precisions, which would have it given up at once, are old.
  before = steps_in(folder)
  pruner = trials._study.pruner = AfterSteps(before[-1], before[-1])
  again = trials_lib.Trials(trials._study, trials._space, str(tmp_path))
  again.run(1, 1)
  assert states_of(again) == ['FAIL', 'PRUNED']
  assert pruner.asked[0] == before[-1] < pruner.asked[1]
  (trial,) = again.finished()
  reported = sorted(trial.intermediate_values)
  assert len(run_state.load(str(folder)).starts) == 2
  assert reported == steps_in(folder)[:len(reported)]
  assert before[-1] < trial.last_step < 40000
  assert not processes.running(tmp_path)


def test_a_trial_that_diverges_is_a_result(tmp_path):
  trials = trials_of(tmp_path, FLAGS, {'learning_rate': [1e30]})
  trials.run(1, 1)
  (trial,) = trials.finished()
  assert trial.state == optuna.trial.TrialState.PRUNED
  assert 'expected a finite number' in trial.user_attrs['error']


def test_a_mistake_ends_the_search(tmp_path):
  flags = FLAGS + ['--l2_scale=0.1']
  trials = trials_of(tmp_path, flags, {'learning_rate': [0.1]})
  problem = 'trial_000: .*error: --l2_scale=0.1 has no effect with'
  with pytest.raises(UserError, match=problem):
    trials.run(3, 1)
  assert states_of(trials) == ['FAIL']


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
  assert search_lib.best(trials).number == 0
  rows = search_lib.table(trials, space).splitlines()[2:]
  cells = [row.split(' | ')[:2] for row in rows]
  assert cells == [['| trial_000', '0.5000'], ['| trial_001', 'diverged'],
                   ['| trial_002', 'given up']]
  search_lib.write(trials, space, str(tmp_path))
  written = json.loads((tmp_path / 'trials.json').read_text())['trials']
  assert [trial['precision'] for trial in written] == [0.5, None, None]


def in_memory(tmp_path, monkeypatch):
  """Replaces training; returns the list of the rates that are tried."""
  tried = []

  def train(self, trial, index):
    tried.append(trial.params['learning_rate'])
    self._study.tell(trial, 0.5)

  monkeypatch.setattr(trials_lib.Trials, '_train', train)
  return tried


RANGE = {'learning_rate': {'low': 0.01, 'high': 0.1}}


@pytest.mark.parametrize('seed', ['-1', str(1 << 31)])
def test_a_seed_beyond_the_limits_is_named(tmp_path, start, seed):
  process = start(FLAGS, RANGE, 1, '--seed=' + seed)
  _, err = process.communicate(timeout=120)
  assert process.returncode == 2
  assert f'--seed={seed}: expected 0 to 2147483647' in err
  assert not (tmp_path / 'out').exists()


def test_each_job_needs_a_server_of_its_own(tmp_path):
  args = arguments(tmp_path, RANGE, 4)
  args.jobs, args.masters = 3, 'grpc://a:2222,grpc://b:2222'
  message = '--jobs=3: each trial needs a server of its own; --masters names 2$'
  with pytest.raises(UserError, match=message):
    search_lib.search(args)
  assert not (tmp_path / 'out').exists()


def test_a_search_goes_on_in_its_own_space_and_draws_other_values(
    tmp_path, monkeypatch):
  tried = in_memory(tmp_path, monkeypatch)
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
  tried = in_memory(tmp_path, monkeypatch)
  for count in (1, 2):
    args = arguments(tmp_path, RANGE, count)
    args.out = str(tmp_path / name)
    search_lib.search(args)
    assert len(tried) == count  # The second search goes on.
  assert sorted(os.listdir(str(tmp_path))) == sorted([name, 'space.json'])
  assert 'search.db' in os.listdir(args.out)


def test_trials_without_their_search_are_refused(tmp_path, monkeypatch):
  tried = in_memory(tmp_path, monkeypatch)
  (tmp_path / 'out' / 'trial_000').mkdir(parents=True)
  with pytest.raises(UserError, match='out: holds trials, such as trial_000, '):
    search_lib.search(arguments(tmp_path, RANGE, 1))
  assert not tried


def test_an_error_in_a_thread_ends_the_search(tmp_path, monkeypatch):

  def fail(self, trial, index):
    raise OSError('no space left')

  monkeypatch.setattr(trials_lib.Trials, '_train', fail)
  with pytest.raises(OSError, match='no space left'):
    search_lib.search(arguments(tmp_path, RANGE, 2))


def test_a_full_disk_under_the_file_is_one_line(tmp_path, monkeypatch):

  def fail(self, *args, **kwargs):
    # As SQLAlchemy says it.
    cause = RuntimeError('(sqlite3.OperationalError) database or disk is full\n'
                         '[SQL: INSERT INTO trials]\n(Background on this)')
    raise optuna.exceptions.StorageInternalError('in the commit') from cause

  in_memory(tmp_path, monkeypatch)
  for name in ('tell', 'get_trials', 'set_user_attr'):
    with monkeypatch.context() as context:
      context.setattr(optuna.Study, name, fail)
      with pytest.raises(UserError) as info:
        search_lib.search(arguments(tmp_path, RANGE, 2))
    assert str(info.value) == (
        '%s/out/search.db: (sqlite3.OperationalError) database or disk is full'
        % tmp_path)


def test_a_damaged_file_is_named(tmp_path):
  (tmp_path / 'out').mkdir()
  (tmp_path / 'out' / 'search.db').write_bytes(b'nothing' * 1000)
  with pytest.raises(UserError, match='search.db: ') as info:
    search_lib.search(arguments(tmp_path, RANGE, 2))
  assert '\n' not in str(info.value)
