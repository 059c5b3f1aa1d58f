"""Atomic writes of files and folders, checksums, and JSON files."""

import contextlib
import errno
import glob
import hashlib
import json
import os
import shutil
import stat
import tempfile

from cifar10.errors import UserError


def write_atomically(path, content):
  """Writes bytes to a file so that a reader never sees a part of them."""
  with new_file(path) as output:
    output.write(content)


@contextlib.contextmanager
def new_file(path):
  """Yields a binary file to write, which appears at `path` when the body ends.

  An existing file is replaced by one of the same mode; behind a link of this
  user's own, the link's target. After an error, `path` is as before.
  """
  target = path
  if os.path.islink(path) and os.lstat(path).st_uid == os.geteuid():
    target = os.path.realpath(path)
  temporary = f'{target}.tmp{os.getpid()}'
  with contextlib.suppress(FileNotFoundError):
    os.remove(temporary)  # Of a killed process that had the same number.
  try:
    with naming(path, temporary):
      with open(temporary, 'xb') as output:  # Follows no link.
        with contextlib.suppress(OSError):  # A new file, or one without modes.
          os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        yield output
        output.flush()
        os.fsync(output.fileno())
      os.replace(temporary, target)
  except BaseException:
    with contextlib.suppress(FileNotFoundError):
      os.remove(temporary)
    raise


def sync(path):
  """Returns when a file's content, or the names in a folder, are on disk."""
  number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
  try:
    os.fsync(number)
  finally:
    os.close(number)


@contextlib.contextmanager
def naming(path, temporary=None):
  """Names `path` in an OSError of the body that names none, or `temporary`."""
  try:
    yield
  except OSError as error:
    if error.errno is None or error.filename not in (None, temporary):
      raise
    raise OSError(error.errno, error.strerror, path) from error


def open_own(path, may_be_linked=False):
  """Opens a file of this user to read and write; makes it if it is missing.

  For files in folders that other users may write to. Returns a binary,
  unbuffered file. Raises UserError if the path is a link, not a regular file,
  not this user's own or, unless `may_be_linked`, has hard links.
  """
  flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
  try:
    number = os.open(path, flags, 0o644)
  except OSError as error:
    if error.errno != errno.ELOOP:
      raise
    raise UserError(
        f'{path}: is a link; expected a file of your own') from error
  status = os.fstat(number)
  problem = None
  if not stat.S_ISREG(status.st_mode):
    problem = 'is not a regular file'
  elif not _is_own(status, os.path.dirname(path)):
    problem = 'belongs to another user'
  elif status.st_nlink > 1 and not may_be_linked:
    problem = 'has another name besides this one'
  if problem:
    os.close(number)
    raise UserError(f'{path}: {problem}; expected a file of your own')
  return os.fdopen(number, 'r+b', buffering=0)


def is_of_another(path):
  """True if a folder, or a link there, is neither this user's nor root's."""
  try:
    status = os.lstat(path)
  except OSError:
    return False
  above = path if os.path.ismount(path) else os.path.dirname(path)
  return status.st_uid != 0 and not _is_own(status, above)


def _is_own(status, folder):
  """True if a file in `folder`, by its os.stat, belongs to this user.

  A server may set the owner of every file, even of one that is made here.
  """
  if status.st_uid == os.geteuid():
    return True
  try:
    with tempfile.TemporaryFile(dir=folder or os.curdir) as made:
      return os.fstat(made.fileno()).st_uid == status.st_uid
  except OSError:
    return False


def open_regular(path):
  """Opens a binary file to read; UserError for a pipe or a device."""
  number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
  if not stat.S_ISREG(os.fstat(number).st_mode):
    os.close(number)
    raise UserError(f'{path}: is not a regular file; expected one')
  return os.fdopen(number, 'rb')


@contextlib.contextmanager
def folders_around(path):
  """Makes the folders around `path`; after an error, removes new empty ones."""
  made = []
  parent = folder = os.path.dirname(path.rstrip(os.sep))
  while folder and not os.path.isdir(folder):
    made.append(folder)
    folder = os.path.dirname(folder)
  try:
    if parent:
      os.makedirs(parent, exist_ok=True)
    yield
  except BaseException:
    for folder in made:
      with contextlib.suppress(OSError):
        os.rmdir(folder)
    raise


@contextlib.contextmanager
def new_folder(path, temporary=None):
  """Makes a folder that appears as `path` when it is complete.

  Yields `temporary`, by default beside `path`, to fill; deletes it if the body
  raises. Raises OSError if `path` exists and is not empty.
  """
  # Without a trailing slash, which would put it inside `path`.
  temporary = temporary or f'{path.rstrip(os.sep)}.tmp{os.getpid()}'
  if os.path.isdir(temporary):  # Of a killed process.
    shutil.rmtree(temporary, ignore_errors=True)
  with folders_around(path):
    os.mkdir(temporary)
    try:
      yield temporary
      with naming(path, temporary):
        os.rename(temporary, path)
    finally:
      shutil.rmtree(temporary, ignore_errors=True)


def matching(folder, *patterns):
  """The paths in a folder, or below it, that match one of the patterns."""
  return [
      path for pattern in patterns
      for path in glob.glob(os.path.join(glob.escape(folder), pattern))
  ]


def sha256(path):
  """The SHA-256 of the file `path`, in hexadecimal."""
  digest = hashlib.sha256()
  with open_regular(path) as source:
    for chunk in iter(lambda: source.read(1 << 18), b''):
      digest.update(chunk)
  return digest.hexdigest()


def write_json(path, value):
  """Writes a dict to `path` atomically, as indented JSON in its own order."""
  write_atomically(path, json.dumps(value, indent=2).encode('utf-8') + b'\n')


def open_to_append(path):
  """Opens a file, made if missing, to append; OSError for an unread pipe."""
  flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
  number = os.open(path, flags | os.O_NONBLOCK, 0o666)
  os.set_blocking(number, True)
  return os.fdopen(number, 'ab', buffering=0)


def append_json_line(path, value):
  """Appends a dict as a line of JSON to a file, whole or not at all."""
  line = (json.dumps(value) + '\n').encode('utf-8')
  with naming(path), open_to_append(path) as output:
    written = output.write(line)
    if written < len(line):
      output.truncate(output.tell() - written)
      raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def read_json(path):
  """Reads a dict from a file of JSON; None if there is no such file.

  Raises UserError for other content, or a string that cannot name a file.
  """
  try:
    with open_regular(path) as source:
      value = json.loads(source.read().decode('utf-8'))
    text = json.dumps(value, ensure_ascii=False)
    text.encode('utf-8')  # Without lone surrogates.
    # Not after an escaped backslash.
    if '\\u0000' in text.replace('\\\\', ''):
      raise ValueError('a string holds a NUL')
  except FileNotFoundError:
    return None
  except ValueError as error:
    raise UserError(f'{path}: not JSON: {error}') from error
  except RecursionError as error:
    raise UserError(f'{path}: too many levels of brackets') from error
  if not isinstance(value, dict):
    raise UserError(f'{path}: expected a JSON object')
  return value


def need_json(path):
  """As `read_json`; raises UserError, too, if there is no such file."""
  value = read_json(path)
  if value is None:
    raise UserError(f'{path}: no such file')
  return value
