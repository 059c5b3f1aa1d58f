"""The training directory: its lock, its files, and how a run begins in it."""

import contextlib
import dataclasses
import os
import socket
import time

from cifar10 import settings as settings_lib
from cifar10.data import datasets
from cifar10.data import feature_records
from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.run import combinations
from cifar10.run import initial_values
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.util import files
from cifar10.util import folder_lock

# Files that a trainer writes under a temporary name first.
_ATOMIC_FILES = (config.FILE_NAME, run_state.STATE_FILE,
                 feature_records.FILE_NAME, feature_records.DESCRIPTION_NAME)

# Files of a trainer besides checkpoints; --overwrite deletes nothing else.
_RUN_FILES = ('graph.pbtxt', 'events.out.tfevents.*', *_ATOMIC_FILES)

# Settings that have an effect only when a run begins.
_OF_INITIAL_VALUES = ('init_from', 'init_scope', 'init_map')

BEST = 'best'  # The folder of the best checkpoint, if images are held out.

# cifar10_search recognizes the error by this text.
IN_USE = 'another trainer uses this directory'


@contextlib.contextmanager
def locked(directory):
  """Locks the training directory, which is made if it is missing.

  The system releases the lock however the process ends. After an error, new
  folders that are empty are removed. Raises OSError if the directory cannot be
  written to, UserError if another trainer uses it.
  """

  def refuse(lock):
    holder = lock.read(1000).decode('utf-8', 'replace').strip()
    raise UserError(
        f'{directory}: {IN_USE}: {holder or "one that starts now"}. End it '
        'first, or give another --train_dir')

  path = os.path.join(directory, folder_lock.NAME)
  with files.folders_around(path), folder_lock.held(path, refuse) as lock:
    with files.naming(path):
      lock.truncate()
      lock.write(f'process {os.getpid()} on {socket.gethostname()}'.encode())
    yield


def prepare(settings, data, examples_per_step):
  """The RunState to train with; None if the run is at its end.

  The caller has locked the directory, see `locked`. With --overwrite, the
  session deletes the old run later. `examples_per_step` counts those of all
  machines. Raises UserError if the directory cannot be used, or holds a run of
  another model or data set.
  """
  directory = settings.train_dir
  combinations.check_with_data(settings, data)
  initial_values.check_source(settings)
  _check_names(directory, data)
  new = run_state.begin(data, examples_per_step)
  if settings.overwrite:
    return new
  _remove_unfinished(directory)
  saved = run_state.load(directory)
  checkpoint_files.name_newest(directory, saved and saved.stopped_at)
  checkpoint = checkpoints.latest(directory)
  if checkpoint is None:
    return new
  step, changed = checkpoints.step(checkpoint), _changes(settings)
  state = dataclasses.replace(new, starts=())
  if saved is not None:
    # A run that stopped early is over, unless --early_stopping has changed or
    # it is at another step, because it has been resumed since.
    is_changed = any(name == 'early_stopping' for name, *_ in changed)
    is_over = saved.stopped_at == step and not is_changed
    state = dataclasses.replace(saved.resumed(step, new),
                                stopped_at=step if is_over else None)
  last_step = state.last_step(settings)
  if step >= last_step:
    ends = 'ends' if state.stopped_at is None else 'was stopped early'
    print(f'{directory} is at step {step} already, and training {ends} at step '
          f'{last_step}: nothing to do.')
    return None
  _check_fixed(settings, data, changed, saved)
  print(f'Resuming from {checkpoint}.')
  _report(changed)
  start = run_state.Start(step, time.time(), changed)
  return dataclasses.replace(state, starts=(*state.starts, start))


def _report(changed):
  """Prints the settings that have changed, from `_changes`."""
  for name, before, now in changed:
    if name not in _OF_INITIAL_VALUES:
      change = printable(f'{before} -> {now}')
      print(f'Changed from here on: --{name}, {change}.')
    elif now:
      print(f'--{name} has no effect: the run resumes from its own checkpoint.')


def _changes(settings):
  """Differences from the saved settings: tuples (name, value before, now)."""
  path = os.path.join(settings.train_dir, config.FILE_NAME)
  before = files.read_json(path) or {}
  if before:  # An older run has the defaults of settings newer than it.
    defaults = settings_lib.Settings().values(settings_lib.with_policy('fixed'))
    before = dict(defaults, **before)
  reported = settings_lib.with_policy('reported')
  return tuple((name, before[name], now)
               for name, now in config.saved(settings).items()
               if name in reported and before.get(name, now) != now)


def _check_fixed(settings, data, changed, saved):
  """Raises UserError if a run would resume with another data set or model."""
  earlier = {name: before for name, before, _ in changed}
  for name, before, now in changed:
    if name in settings_lib.with_policy('fixed'):
      recipe = ''
      if 'recipe' in earlier:  # The recipe before may have set it.
        recipe = f'--recipe={earlier["recipe"]} as before, '
      raise UserError(
          f'--{name}={now}: the run in {settings.train_dir} was trained with '
          f'{before}. Give {recipe}another --train_dir, or start from scratch '
          'with --overwrite')
  if saved is None:
    return
  # The data may have moved.
  data_dir = earlier.get('data_dir', settings.data_dir)
  moved = dataclasses.replace(settings, data_dir=data_dir)
  trained = run_state.trained_on(saved, moved)
  datasets.check_fits(data, dataclasses.replace(settings, **trained))
  found, before = data.examples_per_epoch, saved.examples_per_epoch
  if found != before:
    others = ''
    if data.held_out:
      others = (f' The last {data.held_out} images are held out, other ones '
                'than before; the run may have been trained on some.')
    print(f'WARNING: found {found} training images; earlier starts of this run '
          f'had {before}.{others}')


def _folders(directory):
  """The training directory and, if it is this run's, the folder `best` in it.

  A link does not count: by it, others could have this user delete files. Nor
  does a folder of another run, which has starts of its own, or checkpoints
  without any.
  """
  best = os.path.join(directory, BEST)
  if os.path.islink(best):
    return (directory,)
  # A damaged run may be overwritten; `_check_names` refuses a file `best`.
  with contextlib.suppress(UserError, NotADirectoryError):
    states = [run_state.load(folder) for folder in (directory, best)]
    own, found = (
        [s.time for s in state.starts] if state else [] for state in states)
    # A killed trainer leaves at most a config.json there without a state.
    is_unknown = not found and (checkpoints.by_step(best) or files.matching(
        best, 'checkpoint', 'graph.pbtxt', 'events.out.tfevents.*'))
    if is_unknown or found != own[:len(found)]:
      return (directory,)
  return directory, best


def _remove_unfinished(directory):
  """Deletes unfinished files of a trainer that was killed."""
  for folder in _folders(directory):
    checkpoint_files.remove_unfinished(folder)
    for path in files.matching(folder, *(f'{n}.tmp*' for n in _ATOMIC_FILES)):
      os.remove(path)


def remove_run(directory):
  """Deletes the files of a run in `directory`, and no others."""
  _remove_unfinished(directory)
  # `best` first: if this process were killed in between, it would have no run
  # to belong to.
  for folder in reversed(_folders(directory)):
    checkpoint_files.remove_all(folder)
    for path in files.matching(folder, *_RUN_FILES):
      os.remove(path)
  for best in _folders(directory)[1:]:
    if os.path.isdir(best) and not os.listdir(best):
      os.rmdir(best)


def _check_names(directory, data):
  """Raises UserError if something else has the name of a file or of `best`."""
  for folder in _folders(directory):
    for path in files.matching(folder, 'checkpoint', *_RUN_FILES):
      if os.path.isdir(path) and not os.path.islink(path):
        raise UserError(f'{path}: is a folder; expected a file, or none')
  best = os.path.join(directory, BEST)
  is_link = os.path.islink(best)  # Checkpoints behind it would be replaced.
  if is_link or os.path.exists(best) and not os.path.isdir(best):
    problem = 'is a link' if is_link else 'is not a folder'
    raise UserError(f'{best}: {problem}; expected none, or a folder')
  if data.held_out and best not in _folders(directory):
    raise UserError(
        f'{best}: holds a run of its own; the best checkpoint of {directory} '
        'is kept there. Move it, or give another --train_dir')
