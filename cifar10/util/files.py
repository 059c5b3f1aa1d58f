"""Files that are whole or absent, whatever happens on the way."""

import contextlib
import hashlib
import json
import os
import shutil

from cifar10.errors import UserError


def write_atomically(path, content):
  """Writes the bytes `content` to `path`: a reader sees all or nothing."""
  temporary = '%s.tmp%d' % (path, os.getpid())
  try:
    with open(temporary, 'wb') as output:
      output.write(content)
      output.flush()
      os.fsync(output.fileno())
    os.replace(temporary, path)
  except BaseException:
    if os.path.exists(temporary):
      os.remove(temporary)
    raise


@contextlib.contextmanager
def new_folder(path, temporary=None):
  """A folder that appears when all of it is there, by a rename.

  Args:
    path: the folder, which does not exist yet or is empty.
    temporary: where it is filled, beside `path`; a name of this process's own
      by default. What is there, left by a killed process, is deleted.

  Yields:
    `temporary`, an empty folder; it is gone if the body fails.
  """
  # Without a slash at its end, which would make it lie within.
  temporary = temporary or '%s.tmp%d' % (os.path.normpath(path), os.getpid())
  shutil.rmtree(temporary, ignore_errors=True)
  os.mkdir(temporary)
  try:
    yield temporary
    os.rename(temporary, path)
  finally:
    shutil.rmtree(temporary, ignore_errors=True)


def sha256(path):
  """The SHA-256 of a file, in hexadecimal."""
  digest = hashlib.sha256()
  with open(path, 'rb') as source:
    for chunk in iter(lambda: source.read(1 << 18), b''):
      digest.update(chunk)
  return digest.hexdigest()


def read_json(path):
  """The JSON object in the file `path`; None where there is no such file.

  Raises:
    UserError: the file holds something else.
  """
  try:
    with open(path, encoding='utf-8') as source:
      value = json.load(source)
  except FileNotFoundError:
    return None
  except ValueError as error:
    raise UserError('%s: not JSON: %s' % (path, error)) from error
  if not isinstance(value, dict):
    raise UserError('%s: expected a JSON object' % path)
  return value
