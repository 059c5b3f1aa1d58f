"""Checks of paths that a person has given."""

import os
import re

from cifar10.errors import UserError

# TensorFlow looks for the files of a checkpoint, and deletes them, by patterns.
_PATTERN = re.compile(r'[\[*?\\]')

# Linux takes 4,096 bytes with the zero at the end. The longest names of what
# programs write into a folder, or beside a file for a moment, have some 100.
_MAX_BYTES = 4096 - 256

_REMOTE = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*://')


def check(path, flag, holds_checkpoints=False):
  """Returns a path; raises UserError if the system or TensorFlow cannot use it.

  Of several slashes at its end one is left: TensorFlow 1 finds no checkpoint
  behind two. The error names the flag or argument. With `holds_checkpoints`
  TensorFlow reads or writes checkpoints there.
  """
  name = f'{flag}={path}'
  if _REMOTE.match(path):
    raise UserError(
        f'{name}: is an address; expected a path of a file system, in which '
        'remote storage may be mounted')
  _check_encoding(path, name)
  size = len(os.fsencode(path))
  if size > _MAX_BYTES:
    raise UserError(
        f'{name}: a path of {size} bytes; expected at most {_MAX_BYTES}')
  # The system goes back by a `..` only from a folder that exists.
  parts = path.split(os.sep)
  while parts and parts[-1] != os.pardir:
    parts.pop()
  above = os.sep.join(parts)
  if above and not os.path.isdir(above):
    raise UserError(
        f'{name}: there is no folder {above}; expected a path through folders '
        'that exist')
  found = holds_checkpoints and _PATTERN.search(path)
  if found:
    raise UserError(
        f'{name}: TensorFlow takes the {found.group()} for a pattern and may '
        'mean other files; expected a path without [ * ? \\')
  return re.sub('//+$', '/', path)


def _check_encoding(path, name):
  """Checks that TensorFlow, which encodes in UTF-8, finds the same bytes."""
  content = os.fsencode(path)
  try:
    text = content.decode('utf-8')
  except UnicodeDecodeError as error:
    raise UserError(
        f'{name}: is not UTF-8; expected a path that is, for TensorFlow'
    ) from error
  if text != path:
    raise UserError(
        f'{name.replace(path, text)}: is read in another encoding than UTF-8; '
        'set PYTHONUTF8=1 or a locale such as LC_ALL=C.UTF-8')


def is_text(path):
  """True if a path can be written into a file of text, as UTF-8."""
  try:
    path.encode('utf-8')
  except UnicodeEncodeError:
    return False
  return True
