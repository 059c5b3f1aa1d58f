"""Atomic writes of files and folders, checksums, and JSON files."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat

from cifar10.errors import UserError


def write_atomically(path, content):
  """Writes a file so that a reader never sees a part of it.

  Args:
    path: path of the file; an existing file is replaced.
    content: bytes.

  Raises:
    OSError: the file cannot be written; then `path` is as before.
  """
  with new_file(path) as output:
    output.write(content)


@contextlib.contextmanager
def new_file(path):
  """A file to write piece by piece, which appears when the body ends.

  Args:
    path: path of the file; an existing file is replaced.

  Yields:
    A file object, binary.

  Raises:
    OSError: the file cannot be written. Then, and after an error of the body,
      `path` is as before.
  """
  temporary = '%s.tmp%d' % (path, os.getpid())
  with contextlib.suppress(FileNotFoundError):
    os.remove(temporary)  # Of a killed process that had the same number.
  try:
    # A link that somebody has put there is not followed.
    with naming(path, temporary):
      with open(temporary, 'xb') as output:
        yield output
        output.flush()
        os.fsync(output.fileno())
      os.replace(temporary, path)
  except BaseException:
    with contextlib.suppress(FileNotFoundError):
      os.remove(temporary)
    raise


@contextlib.contextmanager
def naming(path, temporary=None):
  """Names `path` in an OSError of the body that names no file, or `temporary`.

  The error of a write says only that the disk is full.
  """
  try:
    yield
  except OSError as error:
    if error.errno is None or error.filename not in (None, temporary):
      raise
    raise OSError(error.errno, error.strerror, path) from error


def open_own(path, may_be_linked=False):
  """Opens a file of this user to read and write; makes it if it is missing.

  For files in folders that other users may write to. Follows no link, and
  changes no content.

  Args:
    path: path of the file.
    may_be_linked: whether it may have other names, hard links.

  Returns:
    A file object, binary, positioned at the start.

  Raises:
    OSError: it cannot be opened.
    UserError: it is a link, no regular file, or not this user's own.
  """
  flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
  try:
    number = os.open(path, flags, 0o644)
  except OSError as error:
    if error.errno != errno.ELOOP:
      raise
    raise UserError(
      '%s: is a link; expected a file, which is written to' % path
    ) from error
  file = os.fdopen(number, 'r+b', buffering=0)
  status = os.fstat(number)
  problem = None
  if not stat.S_ISREG(status.st_mode):
    problem = 'is not a regular file'
  elif status.st_uid != os.geteuid():
    problem = 'belongs to another user'
  elif status.st_nlink > 1 and not may_be_linked:
    problem = 'has another name besides this one'
  if problem:
    file.close()
    raise UserError(
      '%s: %s; expected a file of your own, which is written to'
      % (path, problem)
    )
  return file


def open_regular(path):
  """Opens a file to read.

  Opening a pipe may wait forever, and reading a device may never end.

  Args:
    path: path of the file.

  Returns:
    A file object, binary.

  Raises:
    OSError: it cannot be opened.
    UserError: it is a pipe, a device or a folder.
  """
  number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
  if not stat.S_ISREG(os.fstat(number).st_mode):
    os.close(number)
    raise UserError('%s: is not a regular file; expected one' % path)
  return os.fdopen(number, 'rb')


def make_folders(folder, made):
  """Makes a folder and those above it; adds the new ones to the list `made`.

  Raises:
    OSError: one cannot be made.
  """
  path = folder
  while path and not os.path.isdir(path):
    made.append(path)
    path = os.path.dirname(path)
  if folder:
    os.makedirs(folder, exist_ok=True)


@contextlib.contextmanager
def removed_after_failure():
  """Yields a list of folders; if the body raises, removes the empty ones."""
  made = []
  try:
    yield made
  except BaseException:
    for folder in made:
      with contextlib.suppress(OSError):
        os.rmdir(folder)
    raise


@contextlib.contextmanager
def folders_around(path):
  """Makes the folders around `path`; if the body raises, removes new ones.

  Raises:
    OSError: one cannot be made.
  """
  with removed_after_failure() as made:
    make_folders(os.path.dirname(path.rstrip(os.sep)), made)
    yield


@contextlib.contextmanager
def new_folder(path, temporary=None):
  """Makes a folder that appears under its name when it is complete.

  Args:
    path: path of the folder, which does not exist or is empty; folders around
      it are made.
    temporary: path, on the same file system, of the folder to fill; deleted
      first if a killed process has left it. By default a name beside `path`
      that contains the process id.

  Yields:
    `temporary`, an empty folder. It is renamed to `path` after the body, and
    deleted if the body raises.

  Raises:
    OSError: a folder cannot be made, or `path` exists and is not empty.
    UserError: something at `temporary` cannot be deleted.
  """
  # Without a trailing slash, which would put it inside `path`.
  temporary = temporary or '%s.tmp%d' % (path.rstrip(os.sep), os.getpid())
  if os.path.isdir(temporary):  # rmtree waits for the writer of a pipe.
    shutil.rmtree(temporary, ignore_errors=True)
  with folders_around(path):
    try:
      with naming(path, temporary):
        os.mkdir(temporary)
    except FileExistsError as error:
      raise UserError(
        '%s: is in the way of a temporary folder; remove it' % temporary
      ) from error
    try:
      yield temporary
      with naming(path, temporary):
        os.rename(temporary, path)
    finally:
      shutil.rmtree(temporary, ignore_errors=True)


def sha256(path):
  """The SHA-256 of the file `path`, in hexadecimal."""
  digest = hashlib.sha256()
  with open_regular(path) as source:
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


def append_json_line(path, value):
  """Appends a line of JSON to a file, in a single write.

  Args:
    path: the file; made if it is missing.
    value: dict of what JSON can hold.

  Raises:
    OSError: the file cannot be written.
  """
  line = (json.dumps(value) + '\n').encode('utf-8')
  with naming(path), open(path, 'ab', buffering=0) as output:
    written = output.write(line)
    if written < len(line):
      output.truncate(output.tell() - written)
      raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


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
    with open_regular(path) as source:
      value = json.loads(source.read().decode('utf-8'))
    _check_strings(value)
  except FileNotFoundError:
    return None
  except ValueError as error:
    raise UserError('%s: not JSON: %s' % (path, error)) from error
  except RecursionError as error:
    raise UserError('%s: too many levels of brackets' % path) from error
  if not isinstance(value, dict):
    raise UserError('%s: expected a JSON object' % path)
  return value


def _check_strings(value):
  """Checks that all strings in a value from JSON can be names of files.

  Raises:
    ValueError: one holds a NUL, or half of a character (a lone surrogate).
  """
  if isinstance(value, str):
    value.encode('utf-8')
    if '\0' in value:
      raise ValueError('%r holds a NUL' % value)
  elif isinstance(value, dict):
    _check_strings(list(value) + list(value.values()))
  elif isinstance(value, list):
    for item in value:
      _check_strings(item)
