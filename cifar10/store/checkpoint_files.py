"""Files of checkpoints in a held directory: put in place, named, deleted."""

import contextlib
import os
import shutil

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.util import files


def name_newest(directory, stopped_at=None):
  """Names the newest whole checkpoint in the file `checkpoint`.

  A trainer that is killed at the end of a save leaves a checkpoint that the
  file does not name. The file lists all that were there when it was written; a
  later one that it does not list was saved afterwards. A name that a person
  wrote, which does not fit the list, is kept.

  `stopped_at` is the step to which the run has gone back, by stopping early, or
  None: it does not go on from later checkpoints. Raises UserError if the file
  names none that exists, and of those that exist none is whole.
  """
  found, named = checkpoints.by_step(directory), checkpoints.latest(directory)
  name_file = checkpoints.name_file(directory)
  if named is not None:
    found = _unnamed(directory, named, found)
  before = {step: found[step] for step in found if step <= (stopped_at or step)}
  if before or named is not None:
    found = before
  paths = list(found.values())
  for path in reversed(paths):
    try:
      checkpoints.read(path)
    except UserError:
      continue  # It is damaged.
    print(f'{name_file} does not name the newest whole checkpoint; continuing '
          f'from {path}.')
    set_newest(path)
    return
  if named is not None or not (paths or os.path.exists(name_file)):
    return
  rest = ''
  if paths:
    rest = (f', and {paths[-1]} is damaged; expected a line '
            f'model_checkpoint_path: "{os.path.basename(paths[-1])}"')
  raise UserError(f'{name_file}: names no existing checkpoint{rest}. '
                  '--overwrite starts from scratch')


def _unnamed(directory, named, found):
  """The checkpoints of `found` that were saved after the one `named`."""
  state = tf.train.get_checkpoint_state(directory)
  listed = [os.path.basename(p) for p in state.all_model_checkpoint_paths]
  base = os.path.basename(named)
  number = base.rpartition('-')[2]
  step = int(number) if number.isdecimal() else -1
  # A person who replaced each name, or had TensorFlow write a single one.
  is_chosen = listed.count(base) != 1 or len(listed) == 1 and step > min(
      found, default=step)
  if is_chosen:
    if os.path.dirname(named) == os.path.dirname(checkpoints.prefix(directory)):
      set_newest(named)  # With its list, for a trainer killed from now on.
    return {}
  later = {
      at: path
      for at, path in found.items()
      if at > step and os.path.basename(path) not in listed
  }
  return later if len(later) < 2 else {}  # A killed trainer leaves one at most.


def set_newest(path):
  """Names a checkpoint as the newest of its folder; lists it and the others."""
  directory, base = os.path.split(path)
  others = map(os.path.basename, checkpoints.by_step(directory).values())
  # As tf.train.Saver writes it, with relative paths; the newest one at the end.
  lines = [f'model_checkpoint_path: "{base}"\n']
  for name in (*(name for name in others if name != base), base):
    lines.append(f'all_model_checkpoint_paths: "{name}"\n')
  files.write_atomically(checkpoints.name_file(directory),
                         ''.join(lines).encode('utf-8'))


def move_into_place(unfinished, step):
  """Gives a checkpoint the name of its step, and names it as the newest.

  `unfinished` is its path, in its folder; a checkpoint of that step is
  replaced. It is on disk before its name is, and the file `checkpoint` names a
  whole one at any time. Raises OSError if it cannot be written or renamed.
  """
  directory, base = os.path.split(unfinished)
  path = checkpoints.at_step(directory, step)
  suffixes = [
      name[len(base):]
      for name in os.listdir(directory or '.')
      if checkpoints.FILE_SUFFIX.sub('', name) == base
  ]
  # The index last: with it the checkpoint is there.
  suffixes.sort(key=lambda suffix: suffix == '.index')
  for suffix in suffixes:
    files.sync(unfinished + suffix)
  if step in checkpoints.by_step(directory):
    set_newest(unfinished)  # Until its copy is in place.
  named = checkpoints.latest(directory) or ''
  move = _copy if os.path.basename(named) == base else os.replace
  remove(path)
  for suffix in suffixes:
    move(unfinished + suffix, path + suffix)
  with contextlib.suppress(OSError):  # Not each file system can.
    files.sync(directory or os.curdir)
  set_newest(path)
  for suffix in suffixes if move is _copy else ():
    os.remove(unfinished + suffix)


def _copy(source, target):
  with open(source, 'rb') as content, files.new_file(target) as output:
    shutil.copyfileobj(content, output)


def remove(path):
  """Deletes the checkpoint `path`; its name may hold characters of patterns."""
  directory, base = os.path.split(path)
  names = [
      name for _, name in checkpoints.files_in(directory)
      if checkpoints.FILE_SUFFIX.sub('', name) == base
  ]
  # The index first: what is left without it cannot be taken for a checkpoint.
  for name in sorted(names, key=lambda name: not name.endswith('.index')):
    os.remove(os.path.join(directory, name))


def remove_all(directory):
  """Deletes all checkpoints in `directory`, and the file that names one."""
  if os.path.lexists(checkpoints.name_file(directory)):
    os.remove(checkpoints.name_file(directory))
  for step in {step for step, _ in checkpoints.files_in(directory)}:
    remove(checkpoints.at_step(directory, step))


def remove_unfinished(directory):
  """Deletes what a killed trainer, or a full disk, has left of a checkpoint.

  One that is named already, to replace another one, is put in its place.
  """
  own, named = checkpoints.PREFIX, checkpoints.latest(directory)
  if named and os.path.basename(named).startswith(own + '.tmp'):
    move_into_place(named, checkpoints.step(named))
  names = os.path.basename(checkpoints.name_file(directory))
  for path in files.matching(directory, own + '.tmp*', own + '-*.tempstate*',
                             own + '-*.tmp*', names + '.tmp*'):
    os.remove(path)
