"""Trials and what becomes of them, with trainers that only end somehow."""

import json
import os
import sys

import numpy as np
import pytest

from cifar10.errors import DivergedError
from cifar10.errors import UserError
from cifar10.run import train_dir
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.tools import variants
from cifar10.tools.search import space as space_lib
from cifar10.tools.search import trials as trials_lib

optuna = pytest.importorskip('optuna')

RATES = [0.01, 0.02]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
  monkeypatch.setattr(variants, 'POLL_SECS', 0.01)


@pytest.fixture(name='trainer')
def _trainer(tmp_path, monkeypatch):
  """Replaces the trainer by lines of Python; `folder` is its --train_dir."""
  path = tmp_path / 'trainer.py'

  def replace(code):
    path.write_text('import os, sys\n'
                    'folder = sys.argv[1].partition("=")[2]\n' + code)

  monkeypatch.setattr(
      variants, 'command',
      lambda program, *flags: [sys.executable, '-S', '-E',
                               str(path), *flags])
  return replace


def study_of(pruner=None):
  return optuna.create_study(direction='maximize', pruner=pruner)


def trials_of(tmp_path, study, gpus=0):
  choices = {'learning_rate': optuna.distributions.CategoricalDistribution(
      RATES)}  # yapf: disable
  space = space_lib.Space(('--max_steps=12',), choices,
                          {'learning_rate': RATES})
  return trials_lib.Trials(study, space, str(tmp_path / 'out'), gpus)


def states(study):
  return [trial.state.name for trial in study.get_trials()]


def make_run(folder, validations, step):
  """A run of 12 steps as a trainer leaves it at a step."""
  folder.mkdir(parents=True, exist_ok=True)
  config.save(Settings(max_steps=12), str(folder))
  checkpoints.write(str(folder), {'global_step': np.int64(step)})
  run_state.RunState((), 100, ((0, 10),),
                     validations=validations).save(str(folder))


def test_a_trial_is_worth_its_best_precision(tmp_path, trainer):
  study = study_of()
  make_run(tmp_path / 'out' / 'trial_000', ((4, 0.25), (8, 0.75), (12, 0.5)),
           12)
  trainer('import json\n'
          'json.dump(sys.argv[1:], open(folder + "/argv", "w"))')
  trials_of(tmp_path, study).run(1, 1)
  (trial,) = study.get_trials()
  assert (trial.state.name, trial.value) == ('COMPLETE', 0.75)
  assert trial.intermediate_values == {4: 0.25, 8: 0.75, 12: 0.5}
  folder = str(tmp_path / 'out' / 'trial_000')
  with open(folder + '/argv') as argv:
    assert json.load(argv) == [
        '--train_dir=' + folder, '--max_steps=12',
        '--learning_rate=%s' % trial.params['learning_rate']
    ]


@pytest.mark.parametrize('code, step, problem, state', [
    ('sys.exit("bad\\nno such flag")', None, 'trial_000: no such fl', 'FAIL'),
    ('sys.exit(4)', None, 'trial_000: status 4$', 'FAIL'),
    ('', 12, 'trial_000: ended without a validation', 'FAIL'),
    ('os.kill(os.getpid(), 9)', None, 'ended from outside$', 'RUNNING'),
    # It has saved after a signal that was not of the search.
    ('', None, 'ended from outside$', 'RUNNING'),
    # It finds its folder in use for too long, which is no reason to give up.
    (f'sys.exit("x: {train_dir.IN_USE}")', None,
     'trial_000: .*' + train_dir.IN_USE, 'RUNNING')
])  # yapf: disable
def test_a_trainer_that_fails_ends_the_search(tmp_path, trainer, monkeypatch,
                                              code, step, problem, state):
  monkeypatch.setattr(trials_lib, '_LOCK_SECS', 0)
  study = study_of()
  if step:
    make_run(tmp_path / 'out' / 'trial_000', (), step)
  trainer(code)
  with pytest.raises(UserError, match=problem):
    trials_of(tmp_path, study).run(3, 1)
  assert states(study) == [state]


def test_a_diverged_trial_is_finished_and_the_search_goes_on(tmp_path, trainer):
  study = study_of()
  trainer('sys.exit(%r)' % str(DivergedError('loss is nan at step 3')))
  trials_of(tmp_path, study).run(2, 1)
  assert states(study) == ['PRUNED'] * 2
  assert study.get_trials()[0].user_attrs['error'].startswith('loss is nan')


def test_a_folder_that_is_in_use_is_waited_for(tmp_path, trainer):
  study = study_of()
  make_run(tmp_path / 'out' / 'trial_000', ((12, 0.5),), 12)
  trainer('busy = folder + "/busy"\n'
          'count = os.path.exists(busy) and os.path.getsize(busy)\n'
          'open(busy, "ab").write(b"x")\n'
          'if count < 2: sys.exit(%r)' % ('x: ' + train_dir.IN_USE))
  trials_of(tmp_path, study).run(1, 1)
  assert states(study) == ['COMPLETE']
  assert os.path.getsize(str(tmp_path / 'out' / 'trial_000' / 'busy')) == 3


class Noted(optuna.pruners.BasePruner):
  """Notes the last step at each question, and gives up at one of them."""

  def __init__(self, last):
    self.asked, self._last = [], last

  def prune(self, study, trial):
    self.asked.append(trial.last_step)
    return trial.last_step >= self._last


def test_a_hopeless_trainer_is_told_to_end_and_keeps_its_precisions(
    tmp_path, trainer):
  pruner = Noted(8)
  study = study_of(pruner)
  make_run(tmp_path / 'out' / 'trial_000', ((4, 0.25), (8, 0.125)), 8)
  trainer('import time\ntime.sleep(60)')
  trials_of(tmp_path, study).run(1, 1)
  (trial,) = study.get_trials()
  assert (trial.state.name, trial.last_step) == ('PRUNED', 8)
  assert pruner.asked == [8]  # Not for a validation that is old.
  # A validation is reported once.
  pruner = study.pruner = Noted(99)
  make_run(tmp_path / 'out' / 'trial_001', ((4, 0.25),), 12)
  trainer('import time\ntime.sleep(0.2)')  # For some looks.
  trials_of(tmp_path, study).run(2, 1)
  assert pruner.asked == [4]


def test_an_unfinished_trial_is_taken_up_once_in_its_folder(
    tmp_path, monkeypatch):
  study = study_of()
  first = trials_of(tmp_path, study)
  for _ in range(2):  # As a search that was killed leaves them.
    next(first._asked(9))
  rates = [trial.params['learning_rate'] for trial in study.get_trials()]

  def kill(*args, **kwargs):
    raise KeyboardInterrupt

  # The next one is killed too, before it has noted what it has taken up.
  with monkeypatch.context() as patched:
    patched.setattr(study, 'tell', kill)
    with pytest.raises(KeyboardInterrupt):
      trials_of(tmp_path, study)
  assert states(study) == ['RUNNING', 'RUNNING', 'WAITING']
  for _ in range(2):  # The first of these is killed before it asks.
    trials = trials_of(tmp_path, study)
    assert states(study) == ['FAIL', 'FAIL', 'WAITING', 'WAITING']
  taken = [next(trials._asked(9)) for _ in range(2)]
  assert [trial.params['learning_rate'] for trial in taken] == rates
  folders = [trials_lib.folder_of(trial) for trial in taken]
  assert folders == ['trial_000', 'trial_001']
  assert trials_lib.folder_of(next(trials._asked(9))) == 'trial_004'


@pytest.mark.parametrize('visible, gpus, seen', [
    (None, 2, ['0', '1', '0']), ('', 2, ['0', '1', '0']),
    ('5,7,9', 2, ['5', '7', '5']), ('3', 2, ['3', '3', '3']),
    ('5,7', 0, ['5,7'] * 3), (None, 0, [None] * 3)
])  # yapf: disable
def test_each_thread_has_a_gpu_of_those_that_are_visible(
    tmp_path, monkeypatch, visible, gpus, seen):
  monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
  if visible is not None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', visible)
  trials = trials_of(tmp_path, study_of(), gpus)
  assert [
      trials._environment(thread).get('CUDA_VISIBLE_DEVICES')
      for thread in range(3)
  ] == seen
