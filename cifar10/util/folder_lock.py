"""A lock in a folder, for work there that one process does for all."""

import contextlib
import fcntl
import os

from cifar10.errors import UserError
from cifar10.util import files

_NAME = '.fetch.lock'
_ATTEMPTS = 100


@contextlib.contextmanager
def only_process(folder):
  """Makes a folder and holds the lock in it; waits while another process does.

  If the body raises, the folders that were made here and are empty are removed.

  Args:
    folder: path of the folder.

  Raises:
    OSError: the folder or the file cannot be made.
    UserError: `folder` is something else, or somebody has put something else
      where the lock should be.
  """

  def wait(lock):
    print('Another process is fetching the data; waiting for it.')
    fcntl.flock(lock, fcntl.LOCK_EX)

  with files.removed_after_failure() as made:
    with held(
      os.path.join(folder, _NAME), wait, lambda: _make_folder(folder, made)
    ):
      yield


@contextlib.contextmanager
def held(path, when_busy, make_folder):
  """Holds a lock: a file that is there as long as a process holds it.

  The system releases the lock if the process is killed; then the file stays,
  and does no harm.

  Args:
    path: path of the file.
    when_busy: function of the open file, called while another process holds the
      lock; waits for the lock, or raises an error.
    make_folder: function without arguments that makes the folder of the file if
      it is missing.

  Yields:
    The open file, binary, for what others may read about this process.

  Raises:
    OSError: the file cannot be made.
    UserError: somebody has put something else there.
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


def _locked(path, when_busy, make_folder):
  """The open and locked file of `held`."""
  attempts = 0
  while True:
    make_folder()
    try:
      lock = files.open_own(path, may_be_linked=True)
    except FileNotFoundError:
      # Another process has failed, and removed its folder; or, again and again,
      # the folder is one where nothing can be made.
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
          if not _has_other_name(lock):
            return lock
          # A folder copied by hard links. Only the name goes: what a holder
          # writes into it would be in the other folder too.
          os.remove(path)
    except BaseException:
      lock.close()
      raise
    lock.close()  # The process that held it has removed it.


def _make_folder(folder, made):
  """Makes the folder of the data, as `files.make_folders` does."""
  try:
    files.make_folders(folder, made)
  except (FileExistsError, NotADirectoryError) as error:
    raise UserError(
      '%s: is not a folder; expected a folder for the data' % error.filename
    ) from error


def _has_other_name(file):
  """Whether an open file has more names than one."""
  return os.fstat(file.fileno()).st_nlink > 1


def _is_at(file, path):
  """Whether an open file is the one at `path`."""
  try:
    return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
  except FileNotFoundError:
    return False
