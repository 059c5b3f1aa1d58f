"""Trials: runs of cifar10_train, which report to Optuna while they train."""

import contextlib
import os
import subprocess
import sys
import threading
import time

from cifar10.errors import DivergedError
from cifar10.errors import UserError
from cifar10.run import train_dir
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.tools.search import space as space_lib
from cifar10.util import processes

_TRAIN = os.path.join(
  os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
  'cifar10_train.py',
)

# The attribute of a trial that names its folder.
_FOLDER = 'folder'

FOLDERS = 'trial_*'  # Of trials, in the folder of a search.

_POLL_SECS = 0.5
# A trainer whose search was killed may hold its folder for so long.
_LOCK_SECS = 60


class Trials:
  """The trials of a study, several at a time."""

  def __init__(self, study, space, out, gpus=0):
    """Takes over what an earlier search has left unfinished.

    Args:
      study: optuna.Study.
      space: space.Space.
      out: folder that holds a folder for each trial.
      gpus: how many GPUs there are; each trial sees one of them. 0: all trials
        see all devices.
    """
    self._study, self._space = study, space
    self._out, self._gpus = out, gpus
    self._states = space_lib.optuna().trial.TrialState
    self._lock = threading.Lock()
    self._stopping = threading.Event()
    waiting = {
      trial.user_attrs.get(_FOLDER)
      for trial in study.get_trials(states=[self._states.WAITING])
    }
    for trial in study.get_trials(states=[self._states.RUNNING]):
      folder = folder_of(trial)
      if folder not in waiting:
        # It may have been stopped before all of its values were noted.
        values = dict(trial.system_attrs.get('fixed_params', {}))
        values.update(trial.params)
        study.enqueue_trial(values, user_attrs={_FOLDER: folder})
      study.tell(trial.number, state=self._states.FAIL)

  def finished(self):
    """The trials that have come to an end, a list."""
    return self._study.get_trials(
      states=[self._states.COMPLETE, self._states.PRUNED]
    )

  def run(self, count, jobs):
    """Runs trials until `count` are finished.

    Args:
      count: how many, with those of earlier searches.
      jobs: how many at a time.

    Raises:
      UserError: a trainer cannot be run.
    """
    self._left = count - len(self.finished())
    self._error = None
    threads = [
      threading.Thread(target=self._work, args=(index,))
      for index in range(jobs)
    ]
    for thread in threads:
      thread.start()
    try:
      # Not join(): Python 3.11 takes a thread for dead whose join() is
      # interrupted by Ctrl-C, and would not wait for it below.
      while any(thread.is_alive() for thread in threads):
        time.sleep(_POLL_SECS)
    finally:
      self._stopping.set()
      for thread in threads:
        thread.join()
    if self._error:
      raise self._error

  def _work(self, index):
    """Runs one trial after another, in a thread of its own."""
    try:
      self._run_trials(index)
    except Exception as error:  # For the main thread.
      self._error = error
      self._stopping.set()

  def _run_trials(self, index):
    while not self._stopping.is_set():
      with self._lock:
        if self._left <= 0:
          return
        self._left -= 1
        trial = self._study.ask(self._space.distributions)
        # What is taken up again keeps its folder.
        trial.set_user_attr(_FOLDER, folder_of(trial))
      self._train(trial, index)

  def _train(self, trial, index):
    """Trains to the end, or until the trial is pruned or the search stops.

    Raises:
      UserError: something is wrong with the flags or the machine.
    """
    folder = os.path.join(self._out, folder_of(trial))
    deadline = time.monotonic() + _LOCK_SECS
    reported = set()
    while True:
      os.makedirs(folder, exist_ok=True)
      with open(os.path.join(folder, 'trainer.log'), 'ab+') as log:
        status = self._run(trial, folder, log, index, reported)
        log.seek(0)
        lines = log.read().decode('utf-8', 'replace').splitlines()
      last = lines[-1] if lines else ''
      is_locked = status == 1 and train_dir.IN_USE in last
      if not is_locked or time.monotonic() > deadline:
        break
      if self._stopping.wait(_POLL_SECS):
        return
    if self._stopping.is_set():
      return  # It goes on with the next search.
    with self._lock:
      if status is None:
        self._study.tell(trial, state=self._states.PRUNED)
      elif status and DivergedError.MARK in last:  # A result, not a mistake.
        trial.set_user_attr('error', last)
        self._study.tell(trial, state=self._states.PRUNED)
      elif status < 0 or (not status and not _is_over(folder)):
        # The next search resumes it.
        raise UserError('%s: the trainer was ended from outside' % folder)
      elif status:
        if not is_locked:  # Else the next search resumes it.
          self._study.tell(trial, state=self._states.FAIL)
        raise UserError('%s: %s' % (folder, last or 'status %d' % status))
      else:
        precisions = [precision for _, precision in _validations(folder)]
        if not precisions:
          self._study.tell(trial, state=self._states.FAIL)
          raise UserError(
            '%s: ended without a validation; expected a --validation_steps of '
            'at most --max_steps' % folder
          )
        self._study.tell(trial, max(precisions))

  def _run(self, trial, folder, log, index, reported):
    """Runs the trainer; returns its status, None if the trial is pruned."""
    command = [sys.executable, _TRAIN, '--train_dir=' + folder]
    command += [*self._space.flags, *space_lib.as_flags(trial.params)]
    env = dict(os.environ)
    if self._gpus:
      devices = env.get('CUDA_VISIBLE_DEVICES', '').split(',')
      if devices == ['']:
        devices = [str(gpu) for gpu in range(self._gpus)]
      devices = devices[: self._gpus]
      env['CUDA_VISIBLE_DEVICES'] = devices[index % len(devices)]
    process = subprocess.Popen(
      processes.ending_with_parent(command),
      stdin=subprocess.DEVNULL,
      stdout=log,
      stderr=log,
      env=env,
      # Ctrl-C is for the search, which then ends it.
      start_new_session=True,
    )
    try:
      while process.poll() is None and not self._stopping.is_set():
        if self._is_hopeless(trial, folder, reported):
          return None
        with contextlib.suppress(subprocess.TimeoutExpired):
          process.wait(_POLL_SECS)
      self._is_hopeless(trial, folder, reported)  # Reports the last ones.
      return process.poll()
    finally:
      # It saves.
      process.terminate()
      process.wait()

  def _is_hopeless(self, trial, folder, reported):
    """Reports new validations; returns whether the pruner gives up."""
    with self._lock:
      new = [pair for pair in _validations(folder) if pair[0] not in reported]
      for step, precision in new:
        reported.add(step)
        trial.report(precision, step)
      # Only the last one of a trial that is resumed counts.
      return bool(new) and trial.should_prune()


def folder_of(trial):
  """The name of the folder of a trial, within that of the search."""
  return trial.user_attrs.get(_FOLDER, 'trial_%03d' % trial.number)


def _is_over(folder):
  """Whether the run in a folder has come to its end."""
  checkpoint = checkpoints.latest(folder)
  return checkpoint is not None and config.is_last(
    folder, checkpoints.step(checkpoint)
  )


def _validations(folder):
  """Pairs (step, precision) of a run, so far."""
  state = run_state.load(folder)
  return state.validations if state else ()
