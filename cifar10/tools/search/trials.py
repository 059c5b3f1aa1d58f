"""Trials: runs of cifar10_train, which report to Optuna while they train."""

import os
import re
import time

from cifar10.errors import DivergedError
from cifar10.errors import UserError
from cifar10.run import train_dir
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.tools import variants
from cifar10.tools.search import space as space_lib

_FOLDER = 'folder'  # The attribute of a trial that names its folder.
_LOCK_SECS = 60  # How long a trainer may hold its folder after a killed search.


class Trials:
  """The trials of a study, several at a time."""

  def __init__(self, study, space, out, gpus=0, masters=()):
    """Takes over what an earlier search has left unfinished.

    Each trial has a folder in `out`, sees one of the `gpus`, or all devices if
    that is 0, and runs on one of the servers `masters`, if there are any.
    """
    self._study, self._space = study, space
    self._out, self._gpus, self._masters = out, gpus, masters
    self._states = space_lib.optuna().trial.TrialState
    self._runner = variants.Runner()
    waiting = study.get_trials(states=[self._states.WAITING])
    waiting = {trial.user_attrs.get(_FOLDER) for trial in waiting}
    for trial in study.get_trials(states=[self._states.RUNNING]):
      folder = folder_of(trial)
      if folder not in waiting:
        # It may have been stopped before all of its values were noted.
        values = {**trial.system_attrs.get('fixed_params', {}), **trial.params}
        study.enqueue_trial(values, user_attrs={_FOLDER: folder})
      study.tell(trial.number, state=self._states.FAIL)

  def finished(self):
    """The complete and the pruned trials, a list."""
    return self._study.get_trials(
        states=[self._states.COMPLETE, self._states.PRUNED])

  def run(self, count, jobs):
    """Runs trials, `jobs` at a time, until `count` are finished in all."""
    self._runner.run_all(self._train, self._asked(count), jobs)

  def _asked(self, count):
    """Yields the trials that are left, one by one."""
    for _ in range(count - len(self.finished())):
      trial = self._study.ask(self._space.distributions)
      # A trial that is resumed keeps its folder.
      trial.set_user_attr(_FOLDER, folder_of(trial))
      yield trial

  def _train(self, trial, thread):
    """Trains to the end, or until the trial is pruned or the search stops."""
    folder = os.path.join(self._out, folder_of(trial))
    deadline = time.monotonic() + _LOCK_SECS
    reported, stopping = set(), self._runner.stopping
    while True:
      status, last = self._run(trial, folder, thread, reported)
      if (status != 1 or train_dir.IN_USE not in last or
          time.monotonic() > deadline or stopping.wait(variants.POLL_SECS)):
        break
    with self._runner.lock:
      if not stopping.is_set():  # Else the next search resumes it.
        self._end(trial, folder, status, last)

  def _end(self, trial, folder, status, last):
    """Tells Optuna and prints how a trainer has ended.

    The next search resumes a trial that is not told to have failed.
    """
    precisions = [precision for _, precision in _validations(folder)]
    if status is None:
      self._study.tell(trial, state=self._states.PRUNED)
      print(f'{folder_of(trial)}: given up')
    elif status and DivergedError.MARK in last:  # A result, not a mistake.
      trial.set_user_attr('error', last)
      self._study.tell(trial, state=self._states.PRUNED)
      print(f'{folder_of(trial)}: diverged')
    elif status < 0 or (not status and not _is_over(folder)):
      raise UserError(f'{folder}: the trainer was ended from outside')
    elif status:
      if train_dir.IN_USE not in last:
        self._study.tell(trial, state=self._states.FAIL)
      raise UserError(f'{folder}: {last or f"status {status}"}')
    elif not precisions:
      self._study.tell(trial, state=self._states.FAIL)
      raise UserError(f'{folder}: ended without a validation; expected a '
                      '--validation_steps of at most the steps of the run')
    else:
      self._study.tell(trial, max(precisions))
      print(f'{folder_of(trial)}: precision {max(precisions):.4f}')

  def _run(self, trial, folder, thread, reported):
    """Runs the trainer: its status, None if pruned, and its log's last line."""
    flags = [*self._space.flags, *space_lib.as_flags(trial.params)]
    if self._masters:
      flags.append('--master=' + self._masters[thread])
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'trainer.log'), 'ab+') as log:
      status = self._runner.run(
          variants.command('cifar10_train.py', '--train_dir=' + folder, *flags),
          watch=lambda: self._is_hopeless(trial, folder, reported), stdout=log,
          stderr=log, env=self._environment(thread))
      return status, variants.last_line(log)

  def _environment(self, thread):
    """The environment of a trainer, with only the GPU of its thread visible."""
    env = dict(os.environ)
    if self._gpus:
      usual = ','.join(map(str, range(self._gpus)))
      seen = env.get('CUDA_VISIBLE_DEVICES') or usual
      devices = seen.split(',')[:self._gpus]
      env['CUDA_VISIBLE_DEVICES'] = devices[thread % len(devices)]
    return env

  def _is_hopeless(self, trial, folder, reported):
    """Reports new validations; True if the pruner gives up."""
    with self._runner.lock:
      new = [pair for pair in _validations(folder) if pair[0] not in reported]
      for step, precision in new:
        reported.add(step)
        trial.report(precision, step)
      # Only the last one of a trial that is resumed counts.
      return bool(new) and trial.should_prune()


def folder_of(trial):
  """The name of the folder of a trial, within that of the search.

  Raises UserError if search.db names a folder that is elsewhere.
  """
  name = trial.user_attrs.get(_FOLDER, 'trial_%03d' % trial.number)
  if not re.fullmatch(r'trial_\d+', str(name)):
    raise UserError(f'search.db: names {name!r} as the folder of trial '
                    f'{trial.number}; expected a name such as trial_000')
  return name


def _is_over(folder):
  """True if the run in a folder has come to its end."""
  found = checkpoints.latest(folder)
  return found is not None and config.is_last(folder, checkpoints.step(found))


def _validations(folder):
  """Pairs (step, precision) of a run, so far."""
  state = run_state.load(folder)
  return state.validations if state else ()
