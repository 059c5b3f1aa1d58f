"""Which paths the programs take."""

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
  """Checks a path that a person has given.

  Args:
    path: the path, as a person has given it.
    flag: name of the flag or argument, for the error.
    holds_checkpoints: whether TensorFlow reads or writes checkpoints there.

  Returns:
    The path, with one slash at its end where it has several: TensorFlow 1 finds
    no checkpoint behind two.

  Raises:
    UserError: the system or TensorFlow cannot use it.
  """
  name = '%s=%s' % (flag, path)
  if _REMOTE.match(path):
    raise UserError(
      '%s: is an address; expected a path of a file system, in which '
      'remote storage may be mounted' % name
    )
  _check_encoding(path, name)
  size = len(os.fsencode(path))
  if size > _MAX_BYTES:
    raise UserError(
      '%s: a path of %d bytes; expected at most %d' % (name, size, _MAX_BYTES)
    )
  above = _up_to_dots(path)
  if above and not os.path.isdir(above):
    raise UserError(
      '%s: there is no folder %s; expected a path through folders that exist'
      % (name, above)
    )
  found = holds_checkpoints and _PATTERN.search(path)
  if found:
    raise UserError(
      '%s: TensorFlow takes the %s for a pattern and may mean other files; '
      'expected a path without [ * ? \\' % (name, found.group())
    )
  return re.sub('//+$', '/', path)


def _up_to_dots(path):
  """The beginning of a path, up to the last `..`; empty if it has none.

  The system finds what follows only if that is a folder.
  """
  parts = path.split(os.sep)
  while parts and parts[-1] != os.pardir:
    parts.pop()
  return os.sep.join(parts)


def _check_encoding(path, name):
  """Checks that the bytes of a path are those that TensorFlow makes of it."""
  content = os.fsencode(path)
  try:
    text = content.decode('utf-8')
  except UnicodeDecodeError as error:
    raise UserError(
      '%s: is not UTF-8; expected a path that is, for TensorFlow' % name
    ) from error
  if text != path:
    raise UserError(
      '%s: is read in another encoding than UTF-8; set PYTHONUTF8=1 or a '
      'locale such as LC_ALL=C.UTF-8' % name.replace(path, text)
    )


def is_text(path):
  """Whether a path can be written into a file of text, as UTF-8."""
  try:
    path.encode('utf-8')
  except UnicodeEncodeError:
    return False
  return True
