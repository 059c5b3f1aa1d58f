"""Atomic writes of files and folders, checksums, and JSON files."""

import contextlib
import hashlib
import json
import os
import shutil

from cifar10.errors import UserError


def write_atomically(path, content):
  """Writes a file so that a reader never sees a part of it.

  Args:
    path: path of the file; an existing file is replaced.
    content: bytes.

  Raises:
    OSError: the file cannot be written; then `path` is as before.
  """
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
  """Makes a folder that appears under its name when it is complete.

  Args:
    path: path of the folder, which does not exist or is empty.
    temporary: path, on the same file system, of the folder to fill; deleted
      first if a killed process has left it. By default a name beside `path`
      that contains the process id.

  Yields:
    `temporary`, an empty folder. It is renamed to `path` after the body, and
    deleted if the body raises.

  Raises:
    OSError: a folder cannot be made, or `path` exists and is not empty.
  """
  # Without a trailing slash, which would put it inside `path`.
  temporary = temporary or '%s.tmp%d' % (os.path.normpath(path), os.getpid())
  shutil.rmtree(temporary, ignore_errors=True)
  os.mkdir(temporary)
  try:
    yield temporary
    os.rename(temporary, path)
  finally:
    shutil.rmtree(temporary, ignore_errors=True)


def sha256(path):
  """The SHA-256 of the file `path`, in hexadecimal."""
  digest = hashlib.sha256()
  with open(path, 'rb') as source:
    for chunk in iter(lambda: source.read(1 << 18), b''):
      digest.update(chunk)
  return digest.hexdigest()


def write_json(path, value):
  """Writes a JSON object to `path`, indented, in the order of its keys.

  Args:
    path: the file; a reader sees all of it or nothing.
    value: dict of what JSON can hold.

  Raises:
    OSError: the file cannot be written.
  """
  text = json.dumps(value, indent=2) + '\n'
  write_atomically(path, text.encode('utf-8'))


def read_json(path):
  """Reads a JSON object from a file.

  Args:
    path: path of the file.

  Returns:
    dict; None if there is no such file.

  Raises:
    UserError: the file does not hold a JSON object.
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
