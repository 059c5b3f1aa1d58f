"""Checks of paths that a person has given."""

import os
import re

from cifar10 import settings as settings_lib
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.util import files

# TensorFlow looks for the files of a checkpoint, and deletes them, by patterns.
_PATTERN = re.compile(r'[\[*?\\]')

_REMOTE = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*://')


def check(path, flag, holds_checkpoints=False):
  """Returns a path; raises UserError if TensorFlow cannot use it.

  Keeps one of several slashes at its end: TensorFlow 1 finds no checkpoint
  behind two. The error names the flag or argument. With `holds_checkpoints`
  TensorFlow reads or writes checkpoints there.
  """
  name = f'{flag}={path}'
  if not path:
    raise UserError(f'{name}: is empty; expected a path')
  if path.startswith(('~', '--')):
    problem = 'is a flag' if path[0] == '-' else 'no shell has expanded the ~'
    raise UserError(f'{name}: {problem}; expected a path, such as ./{path}')
  if _REMOTE.match(path):
    raise UserError(
        f'{name}: is an address; expected a path of a file system, in which '
        'remote storage may be mounted')
  # TensorFlow encodes paths in UTF-8, whatever the locale.
  if not is_text(path) or os.fsencode(path) != path.encode('utf-8'):
    raise UserError(
        f'{name}: is not UTF-8; expected a path that is, for TensorFlow, and a '
        'locale such as LC_ALL=C.UTF-8')
  found = holds_checkpoints and _PATTERN.search(path)
  if found:
    raise UserError(
        f'{name}: TensorFlow takes the {found.group()} for a pattern and may '
        'mean other files; expected a path without [ * ? \\')
  return re.sub('//+$', '/', path)


def refuse_defaults(values, given):
  """As `refuse_of_another`, for settings that are not `given`."""
  for name in settings_lib.with_policy('is_path').keys() & values.keys():
    if name not in given and name != 'data_dir':
      refuse_of_another(values[name], '--' + name)


def refuse_of_another(folder, flag):
  """Raises UserError if the default of a flag is another user's folder."""
  if files.is_of_another(folder):
    raise UserError(
        f'{folder}: belongs to another user; expected a folder of your own. '
        f'Give {flag} with another one, or with this one to use it')


def refuse_taken(folder, flag):
  """Raises UserError unless a path is free for a new folder."""
  if os.path.isdir(folder) and os.path.samefile(folder, os.curdir):
    raise UserError(f'{flag}={folder}: is the current folder; expected another '
                    'one, new or empty')
  is_own = not os.path.islink(folder) and not os.path.ismount(folder)
  is_empty = os.path.isdir(folder) and not os.listdir(folder)
  if os.path.lexists(folder) and not (is_own and is_empty):
    raise UserError(f'{flag}={folder}: already exists; expected a new or empty '
                    'folder, not a link or a mount')


def check_new_checkpoint_folder(path, flag):
  """Returns a path; raises UserError unless it is free for new checkpoints."""
  path = check(path, flag, holds_checkpoints=True)
  refuse_taken(path, flag)
  return path


def eval_dir_for(train_dir):
  """The --eval_dir for a run: the default, or a folder beside the run's."""
  run = train_dir.rstrip('/')
  if os.path.basename(run) in (os.curdir, os.pardir):
    run = os.path.abspath(run)
  return Settings.eval_dir if run == Settings.train_dir else f'{run}_eval'


def is_text(path):
  """True if a path can be written into a file of text, as UTF-8."""
  return not re.search('[\ud800-\udfff]', path)
