"""A lock in a folder, for work there that one process does for all."""

import contextlib
import fcntl
import os

from cifar10.errors import UserError
from cifar10.util import files

_NAME = '.fetch.lock'


@contextlib.contextmanager
def only_process(folder):
  """Makes a folder and holds the lock in it; waits while another process does.

  The system releases the lock if the process is killed. After the body, the
  file of the lock is removed; if the body raises, so are the folders that were
  made here and are empty.

  Args:
    folder: path of the folder.

  Yields:
    Nothing.

  Raises:
    OSError: the folder or the file cannot be made.
    UserError: `folder` is something else, or somebody has put something else
      where the lock should be.
  """
  path = os.path.join(folder, _NAME)
  made = []
  try:
    lock = _locked(path, made)
    try:
      yield
    finally:
      # While it is held: a process that waits for it checks afterwards whether
      # it is still there.
      with contextlib.suppress(OSError):
        if _is_at(lock, path):
          os.remove(path)
      lock.close()
  except BaseException:
    for new in made:
      with contextlib.suppress(OSError):
        os.rmdir(new)
    raise


def _locked(path, made):
  """Opens and locks a file; makes it and its folder if they are missing.

  Args:
    path: path of the file.
    made: list that gets the paths of the folders to make, deepest first.

  Returns:
    The open file.
  """
  while True:
    _make_folder(os.path.dirname(path), made)
    try:
      lock = files.open_own(path)
    except FileNotFoundError:
      continue  # Another process has failed, and removed its folder.
    with files.naming(path):
      try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
      except BlockingIOError:
        print('Another process is fetching the data; waiting for it.')
        fcntl.flock(lock, fcntl.LOCK_EX)
    if _is_at(lock, path):
      return lock
    lock.close()  # The process that held it has removed it.


def _make_folder(folder, made):
  """Makes a folder and those above it; adds the new ones to `made`."""
  path = folder
  while path and not os.path.isdir(path):
    made.append(path)
    path = os.path.dirname(path)
  try:
    os.makedirs(folder, exist_ok=True)
  except (FileExistsError, NotADirectoryError) as error:
    raise UserError(
      '%s: is not a folder; expected a folder for the data' % error.filename
    ) from error


def _is_at(file, path):
  """Whether an open file is the one at `path`."""
  try:
    return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
  except FileNotFoundError:
    return False
