"""A lock in a folder, for work there that only one process may do."""

import contextlib
import fcntl
import os

from cifar10.errors import UserError
from cifar10.util import files

NAME = '.lock'  # In a folder that one process writes to.
_FETCH_NAME = '.fetch.lock'
_ATTEMPTS = 100


@contextlib.contextmanager
def only_process(folder):
  """Makes a folder and holds the lock in it; waits while another process does.

  If the body raises, the folders that were made here and are empty are removed.
  Raises UserError if `folder` is something else.
  """

  def wait(lock):
    print('Another process is fetching the data; waiting for it.')
    fcntl.flock(lock, fcntl.LOCK_EX)

  def make_folder():
    try:
      folders.enter_context(files.folders_around(path))
    except (FileExistsError, NotADirectoryError) as error:
      raise UserError(
          f'{error.filename}: is not a folder; expected a folder for the data'
      ) from error

  path = os.path.join(folder, _FETCH_NAME)
  with contextlib.ExitStack() as folders, held(path, wait, make_folder):
    yield


@contextlib.contextmanager
def held(path, when_busy, make_folder=None):
  """Holds a lock: the file `path`, which exists while a process holds it.

  The system releases the lock if the process is killed; then the file stays,
  and does no harm. Yields the open binary file, for notes about this process.
  Raises UserError if `path` is not such a file.

  Args:
    path: path of the file.
    when_busy: function of the open file, called while another process holds the
      lock; waits for the lock, or raises an error.
    make_folder: function without arguments that makes the folder of the file if
      it is missing; by default as os.makedirs does.
  """
  with _locked(path, when_busy, make_folder) as lock:
    try:
      yield lock
    finally:
      # While it is held: a process that waits for it checks afterwards whether
      # it is still there.
      with contextlib.suppress(OSError):
        if _is_at(lock, path):
          os.remove(path)


def identities(folder):
  """The identities of a folder and of the lock in it: a pair.

  Each is None if it is not there. That of a lock which is held cannot become
  that of another one, as that of a deleted folder can.
  """
  # With the dot it is not there, either, if a file has its name.
  names = os.curdir, NAME
  return tuple(_identity(os.path.join(folder, name)) for name in names)


def _identity(path):
  try:
    found = os.stat(path)
  except OSError:
    return None
  return found.st_dev, found.st_ino


def _locked(path, when_busy, make_folder):
  attempts = 0
  while True:
    if make_folder:
      make_folder()
    else:
      os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
      lock = files.open_own(path, may_be_linked=True)
    except FileNotFoundError:
      # Another process has failed and removed the folder; or, again and again,
      # nothing can be made in it.
      attempts += 1
      if attempts == _ATTEMPTS:
        raise
      continue
    try:
      with files.naming(path):
        try:
          fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
          when_busy(lock)
        if _is_at(lock, path):
          if os.fstat(lock.fileno()).st_nlink < 2:
            return lock
          # A folder copied by hard links. Only the name goes: what a holder
          # writes into it would be in the other folder too.
          os.remove(path)
    except BaseException:
      lock.close()
      raise
    lock.close()  # The process that held it has removed it.


def _is_at(file, path):
  """True if an open file is the one at `path`."""
  try:
    return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
  except FileNotFoundError:
    return False
