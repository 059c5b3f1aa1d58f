"""The last save of a run that ends with an error, in its own folder only."""

import contextlib
import threading

import tensorflow.compat.v1 as tf

from cifar10.errors import SaveError
from cifar10.store import checkpoints
from cifar10.util import folder_lock
from cifar10.util import time_limits

_SAVE_SECS = 20  # Limit of the last save.


class LastSave(tf.train.SessionRunHook):
  """Saves the last whole step, also while the session runs another one.

  Serializes all saves of a run, from the main thread and from a watchdog, and
  refuses them once the folder is no longer this trainer's. `is_saving` tells
  whether one is under way, `count` how many have ended.
  """

  def __init__(self, hook, folder):
    """Takes the saving.CheckpointHook of the run in `folder`."""
    self.folder, self._hook, self._session = folder, hook, None
    self.is_saving, self.count = False, 0
    self._place, self._lock = folder_lock.identities(folder), threading.RLock()
    hook.surrounding = self._checked_one_by_one

  def after_create_session(self, session, coord):
    self._session = session

  def __call__(self):
    """Saves; returns a sentence that says which step is saved where.

    Raises SaveError if it cannot, DivergedError if a variable is not finite.
    """
    self._hook.end(self._session)
    return checkpoints.saved_in(self.folder)

  @contextlib.contextmanager
  def _checked_one_by_one(self):
    with self._lock:
      self._check_place()
      self.is_saving = True
      try:
        yield
      finally:
        self.is_saving, self.count = False, self.count + 1

  def _check_place(self):
    """Raises SaveError if the folder is no longer that of this trainer.

    It was moved or deleted, and may hold the run of another trainer now. It
    does no harm if only the lock was deleted by hand.
    """
    (folder, lock), mine = folder_lock.identities(self.folder), self._place
    is_mine = lock == mine[1] if lock else folder in (None, mine[0])
    if not is_mine:
      raise SaveError(
          f'{self.folder}: is no longer the folder in which this trainer '
          'began, or another trainer uses it now; nothing more is saved there')


def with_last_save(message, save, limit_secs=_SAVE_SECS):
  """Saves the last whole step when an error ends a run, whatever happens.

  `save` is a LastSave, or None if this task does not save. Returns the message,
  or None, with a sentence on the last step saved, or on why it is not saved.
  """
  if message is None or save is None:
    return message
  late = f'saving takes longer than {limit_secs:.0f} s'
  try:
    saved = time_limits.within(limit_secs, save, None)
  except Exception as error:  # Whatever it is, the process has to end.
    saved, late = None, error
  return f'{message}. {saved or f"The last steps are not saved: {late}"}'
