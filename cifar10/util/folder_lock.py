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
  """Makes a folder and locks it; waits while another process holds the lock.

  Removes new folders after an error. Raises UserError if it is a file.
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

  The file of a killed process does no harm. Makes the folder if it is missing,
  and yields the open binary file, for notes about this process. `when_busy` is
  a function of that file, called while another process holds the lock; it waits
  for the lock, or raises an error. Raises UserError for any other `path`.
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
  found = []
  for name in os.curdir, NAME:  # With the dot, a file is not a folder.
    try:
      status = os.stat(os.path.join(folder, name))
      found.append((status.st_dev, status.st_ino))
    except OSError:
      found.append(None)
  return tuple(found)


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
