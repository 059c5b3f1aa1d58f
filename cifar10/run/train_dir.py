"""The training directory: what a run writes there, and how a run begins."""

import contextlib
import dataclasses
import glob
import os
import socket
import time

from cifar10 import cifar10_input
from cifar10 import settings as settings_lib
from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.data import feature_records
from cifar10.errors import UserError
from cifar10.run import combinations
from cifar10.run import transfer
from cifar10.settings import Settings
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.util import files
from cifar10.util import folder_lock

# What a trainer writes besides checkpoints; --overwrite deletes nothing else.
_RUN_FILES = (
  'graph.pbtxt',
  'events.out.tfevents.*',
  run_state.CONFIG_FILE,
  run_state.STATE_FILE,
  feature_records.FILE_NAME,
  feature_records.DESCRIPTION_NAME,
)

# The folder of the best checkpoint, in a run that holds out images.
BEST = 'best'

_LOCK = '.lock'

# By this a program that runs a trainer knows the message.
IN_USE = 'another trainer uses this directory'


@contextlib.contextmanager
def held(directory):
  """Makes the training directory if it is missing, and keeps others out of it.

  The system releases the lock when the process ends, however it ends.

  Raises:
    OSError: the directory cannot be made or written to.
    UserError: another trainer uses it.
  """

  def refuse(lock):
    holder = lock.read(1000).decode('utf-8', 'replace').strip()
    raise UserError(
      '%s: %s: %s. End it first, or give another --train_dir'
      % (directory, IN_USE, holder or 'one that starts now')
    )

  path = os.path.join(directory, _LOCK)
  with folder_lock.held(
    path, refuse, lambda: os.makedirs(directory, exist_ok=True)
  ) as lock:
    with files.naming(path):
      lock.truncate()
      lock.write(
        b'process %d on %s' % (os.getpid(), socket.gethostname().encode())
      )
    yield


def is_of_trainer(directory):
  """Whether a trainer writes to a directory, or has written to it."""
  return any(
    os.path.exists(os.path.join(directory, name))
    for name in (run_state.CONFIG_FILE, _LOCK)
  )


def prepare(settings, data, examples_per_step):
  """Prepares the training directory for a run that starts or is resumed.

  The caller holds the directory, see `held`. With --overwrite the old run is
  left in place: the session of the new one deletes it, see `remove_run`.

  Args:
    data: datasets.DataSet to train on.
    examples_per_step: training examples that a step takes, on all machines.

  Returns:
    The run_state.RunState to train with; None if the run is at its end already.

  Raises:
    UserError: the directory cannot be used, or holds a run on another data set.
  """
  directory = settings.train_dir
  check_images(settings, data)
  transfer.check_source(settings)
  _check_names(directory)
  state = run_state.begin(data, examples_per_step)
  if settings.overwrite:
    return state
  _remove_unfinished(directory)
  saved = run_state.load(directory)
  checkpoint_files.name_newest(directory, saved and saved.stopped_at)
  checkpoint = checkpoints.latest(directory)
  if checkpoint is None:
    return state
  step = checkpoints.step(checkpoint)
  changed = _changes(settings)
  if saved is not None:
    state = dataclasses.replace(
      state,
      stretches=run_state.resumed_at(step, saved.stretches, examples_per_step),
      validations=tuple(v for v in saved.validations if v[0] <= step),
      stopped_at=_stopped_at(changed, saved, step),
    )
  last_step = state.last_step(settings)
  if step >= last_step:
    print(
      '%s is at step %d already, and training %s at step %d: nothing to do.'
      % (
        directory,
        step,
        'ends' if state.stopped_at is None else 'was stopped early',
        last_step,
      )
    )
    return None
  _check_fixed(settings, data, changed, saved)
  print('Resuming from %s.' % checkpoint)
  for name, before, now in changed:
    print('Changed from here on: --%s, %s -> %s.' % (name, before, now))
  start = run_state.Start(step, time.time(), changed)
  starts = saved.starts if saved is not None else ()
  return dataclasses.replace(state, starts=starts + (start,))


def check_images(settings, data):
  """Checks that the images can be cropped and distorted as they are meant to.

  Raises:
    UserError: they cannot.
  """
  distortions.check(settings, data.layout)
  with combinations.naming_recipe(settings):
    cifar10_input.crop_size(data.layout, settings.image_size)


def _stopped_at(changed, saved, step):
  """The step at which the run has stopped early; None if it goes on.

  It goes on with another --early_stopping, or if it has gone on before.
  """
  same = not any(name == 'early_stopping' for name, *_ in changed)
  return saved.stopped_at if same and saved.stopped_at == step else None


def _changes(settings):
  """What differs from the settings that the run has saved.

  Returns:
    Tuple of tuples (name, value before, value now).
  """
  path = os.path.join(settings.train_dir, run_state.CONFIG_FILE)
  before = files.read_json(path) or {}
  if before:  # An older run has the defaults of settings newer than it.
    defaults = Settings().values(settings_lib.with_policy('fixed'))
    before = dict(defaults, **before)
  reported, saved = settings_lib.with_policy('reported'), config.saved(settings)
  return tuple(
    (name, before[name], now)
    for name, now in saved.items()
    if name in reported and before.get(name, now) != now
  )


def _check_fixed(settings, data, changed, saved):
  """Checks that a run goes on with its data set and its model.

  Args:
    data: datasets.DataSet.
    changed: the settings that have changed, from `_changes`.
    saved: run_state.RunState that the run has saved; None if there is none.

  Raises:
    UserError: one of them is another one.
  """
  # The recipe may have set them.
  recipe = ''.join(
    '--recipe=%s as before, ' % before
    for name, before, _ in changed
    if name == 'recipe'
  )
  for name, before, now in changed:
    if name in settings_lib.with_policy('fixed'):
      raise UserError(
        '--%s=%s: the run in %s was trained with %s. Give %sanother '
        '--train_dir, or start afresh with --overwrite'
        % (name, now, settings.train_dir, before, recipe)
      )
  if saved is None:
    return
  # The data may lie elsewhere now.
  earlier = {name: before for name, before, _ in changed if name == 'data_dir'}
  trained = run_state.trained_on(
    saved, dataclasses.replace(settings, **earlier)
  )
  datasets.check_fits(data, dataclasses.replace(settings, **trained))
  found = data.examples_per_epoch
  if found != saved.examples_per_epoch:
    print(
      'WARNING: found %d training images; earlier starts of this run had %d.'
      % (found, saved.examples_per_epoch)
    )


def _remove_unfinished(directory):
  """Deletes what a trainer that was killed has left unfinished."""
  for folder in (directory, os.path.join(directory, BEST)):
    checkpoint_files.remove_unfinished(folder)
    for name in (
      run_state.CONFIG_FILE,
      run_state.STATE_FILE,
      feature_records.FILE_NAME,
      feature_records.DESCRIPTION_NAME,
    ):
      start = os.path.join(folder, name)
      for path in glob.glob(glob.escape(start) + '.tmp*'):
        os.remove(path)


def remove_run(directory):
  """Deletes what a trainer has written into `directory`, and no other file."""
  _remove_unfinished(directory)
  best = os.path.join(directory, BEST)
  for folder in (directory, best):
    checkpoint_files.remove_all(folder)
    for path in _run_files(folder):
      os.remove(path)
  if os.path.isdir(best) and not os.listdir(best):
    os.rmdir(best)


def _run_files(folder):
  """The paths of what a trainer has written besides checkpoints."""
  return [
    path
    for pattern in _RUN_FILES
    for path in glob.glob(os.path.join(glob.escape(folder), pattern))
  ]


def _check_names(directory):
  """Checks that no folder has the name of a file that a trainer writes.

  Raises:
    UserError: one has.
  """
  best = os.path.join(directory, BEST)
  for folder in (directory, best):
    names = [name for _, name in checkpoints.files_in(folder)]
    paths = [os.path.join(folder, name) for name in names] + _run_files(folder)
    for path in paths + [checkpoints.name_file(folder)]:
      if os.path.isdir(path) and not os.path.islink(path):
        raise UserError(
          '%s: is a folder; expected none of that name, or a file' % path
        )
  if os.path.lexists(best) and not os.path.isdir(best):
    raise UserError('%s: is not a folder; expected none, or a folder' % best)
