"""The files of checkpoints: put in place, named as the newest, deleted.

Only the one process that holds a training directory calls these functions.
"""

import glob
import os

from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.util import files


def name_newest(directory, stopped_at=None):
  """Names the newest whole checkpoint in the file `checkpoint`.

  A trainer that is killed at the end of a save leaves a checkpoint without a
  name; without any name the next one would start at step 0 and overwrite it. A
  name that is newer than all checkpoints was written by a person, and is kept.

  Args:
    directory: the training directory of a run.
    stopped_at: the step to which the run has gone back, by stopping early;
      None if it has not. Later checkpoints are not what it goes on from.

  Raises:
    UserError: none is named, and of those that exist none is whole.
  """
  found, named = checkpoints.by_step(directory), checkpoints.latest(directory)
  if named is not None:
    # Later in time, and in steps: in a copy all files are new.
    name_time = os.path.getmtime(checkpoints.name_file(directory))
    found = {
      step: path
      for step, path in found.items()
      if step > _step_in_name(named) and checkpoints.written(path) > name_time
    }
    if len(found) > 1:  # This is a copy: a killed trainer leaves one at most.
      found = {}
  before = {step: found[step] for step in found if step <= (stopped_at or step)}
  if before or named is not None:
    found = before
  found = list(found.values())
  for path in reversed(found):
    if _is_whole(path):
      print(
        '%s does not name the newest whole checkpoint; going on from %s.'
        % (checkpoints.name_file(directory), path)
      )
      set_newest(path)
      return
  if found and named is None:
    raise UserError(
      '%s: names no existing checkpoint, and %s is damaged; expected a line '
      'model_checkpoint_path: "%s". Start afresh with --overwrite'
      % (
        checkpoints.name_file(directory),
        found[-1],
        os.path.basename(found[-1]),
      )
    )


def set_newest(path):
  """Names the checkpoint `path` as the newest one of its folder."""
  directory, base = os.path.split(path)
  # As tf.train.Saver writes it, with relative paths.
  line = 'model_checkpoint_path: "%s"\n' % base
  files.write_atomically(checkpoints.name_file(directory), line.encode('utf-8'))


def _step_in_name(path):
  """The step that the name of a checkpoint says; -1 if it says none."""
  number = path.rpartition('-')[2]
  return int(number) if number.isdecimal() else -1


def _is_whole(path):
  """Whether all variables of the checkpoint `path` can be read."""
  try:
    checkpoints.check_fits(path, checkpoints.shapes(path))
  except UserError:
    return False
  return True


def put(unfinished, step):
  """Gives a checkpoint its final name, and names it as the newest.

  Args:
    unfinished: path of the checkpoint, in its folder.
    step: the step that it holds; a checkpoint of that step is replaced.

  Raises:
    OSError: it cannot be renamed.
  """
  directory, base = os.path.split(unfinished)
  path = checkpoints.at_step(directory, step)
  remove(path)
  suffixes = [
    found[len(base) :]
    for found in os.listdir(directory or '.')
    if checkpoints.FILE_SUFFIX.sub('', found) == base
  ]
  # The index last: with it the checkpoint is there.
  for suffix in sorted(suffixes, key=lambda suffix: suffix == '.index'):
    os.replace(unfinished + suffix, path + suffix)
  set_newest(path)


def remove(path):
  """Deletes the checkpoint `path`.

  Not tf.train.remove_checkpoint, which takes some characters for patterns.
  """
  directory, base = os.path.split(path)
  own = [
    found
    for _, found in checkpoints.files_in(directory or '.')
    if checkpoints.FILE_SUFFIX.sub('', found) == base
  ]
  _remove_files(directory, own)


def remove_all(directory):
  """Deletes all checkpoints in `directory`, and the file that names one."""
  if os.path.lexists(checkpoints.name_file(directory)):
    os.remove(checkpoints.name_file(directory))
  _remove_files(
    directory, [found for _, found in checkpoints.files_in(directory)]
  )


def _remove_files(directory, names):
  # The index first: what is left without it cannot be taken for a checkpoint.
  for found in sorted(names, key=lambda found: not found.endswith('.index')):
    os.remove(os.path.join(directory, found))


def remove_unfinished(directory):
  """Deletes what a killed trainer, or a full disk, has left of a checkpoint."""
  for pattern in ('.tmp*', '-*.tempstate*', '-*.tmp*'):
    for path in glob.glob(glob.escape(checkpoints.prefix(directory)) + pattern):
      os.remove(path)
  for path in glob.glob(
    glob.escape(checkpoints.name_file(directory)) + '.tmp*'
  ):
    os.remove(path)
