"""A lock in a folder, for work there that only one process may do."""

import contextlib
import fcntl
import itertools
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

  if os.path.exists(folder) and not os.path.isdir(folder):
    raise UserError(
        f'{folder}: is not a folder; expected a folder for the data')
  path = os.path.join(folder, _FETCH_NAME)
  with files.folders_around(path), held(path, wait):
    yield


@contextlib.contextmanager
def held(path, when_busy):
  """Holds a lock: the file `path`, which exists while a process holds it.

  The system releases the lock if the process is killed; then the file stays,
  and does no harm. Yields the open binary file, for notes about this process.
  Raises UserError if `path` is not such a file.

  Args:
    path: path of the file; its folder is made if it is missing.
    when_busy: function of the open file, called while another process holds the
      lock; waits for the lock, or raises an error.
  """
  with _locked(path, when_busy) as lock:
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


def _locked(path, when_busy):
  for attempt in itertools.count(1):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
      lock = files.open_own(path, may_be_linked=True)
    except FileNotFoundError:
      # Another process has failed and removed the folder; or, again and again,
      # nothing can be made in it.
      if attempt < _ATTEMPTS:
        continue
      raise
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
