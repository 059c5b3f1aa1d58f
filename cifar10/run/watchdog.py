"""A watchdog: ends the process when what it waits for will not come.

TensorFlow's runtime waits without end, in a call that Python cannot interrupt.
Threads beside the main one look for trouble, and end the process in its place.
"""

import os
import queue
import sys
import threading
import time

from cifar10.util import console

_POLL_SECS = 1
_MOST_SECS = 5  # A longer time between two looks: this process was stopped.

# How long a step may take once a signal has come to end the run; longer if
# earlier steps took longer.
_SIGNALED_SECS = 5
_OF_SLOWEST = 3

# How much longer the first step may take, in which TensorFlow prepares itself.
_FIRST_SECS = 20

LOOK_SECS = 5  # How long looking for the cause may take.
_SAVE_SECS = 20  # How long the last save may take.
_SAY_SECS = 1  # How long a terminal may take to show the last line.


class Watchdog:
  """Calls checks once a second, each in its own thread.

  A context manager, which ends the watch.
  """

  def __init__(self):
    self._ended = threading.Event()

  def __enter__(self):
    return self

  def __exit__(self, *error):
    self.end()

  def watch(self, check):
    """Starts to call a check.

    A check that hangs does not delay the others.

    Args:
      check: function without arguments. Returns None as long as all is well,
        else a message; then the process ends with that message and status 1.
    """

    def watch():
      while not self._ended.wait(_POLL_SECS):
        try:
          message = check()
        except Exception as error:  # Else the process would hang unwatched.
          message = 'the watchdog has failed: %s' % error
        if message is not None and not self._ended.is_set():
          end_process(message)

    threading.Thread(target=watch, name='watchdog', daemon=True).start()

  def end(self):
    """Stops watching."""
    self._ended.set()


class StallCheck:
  """A check that notices when no step ends for too long; saves if it can."""

  def __init__(
    self, progress, taken, filled, missing, save, signals, stall_secs
  ):
    """Makes the check.

    Args:
      progress: function that returns at once: how far training is, a value that
        changes as long as all is well.
      taken: function that says how many steps this process has taken.
      filled: function that says how many images the input has read ahead, a
        number; while it grows, a step may wait.
      missing: function that says what the step waits for, a str.
      save: function that saves the last whole step, and returns a sentence that
        says where; None if this task does not save.
      signals: list to which signal numbers are appended.
      stall_secs: the limit without a signal, in seconds.
    """
    self._progress = progress
    self._taken = taken
    self._filled = filled
    self._missing = missing
    self._save = save
    self._signals = signals
    self._stall_secs = stall_secs
    self._is_ending = False
    self._last = self._filled_before = None
    self._waited, self._looked = 0, time.monotonic()
    self._slowest = 0

  def expect_end(self):
    """Says that the last step is taken: now it is saved."""
    self._is_ending, self._waited = True, 0

  def __call__(self):
    now = time.monotonic()
    # Not the time when this process was stopped, by Ctrl-Z for instance.
    self._waited += min(now - self._looked, _MOST_SECS)
    self._looked = now
    if self._is_ending:
      if self._waited <= self._stall_secs:
        return None
      message = 'saving the last step takes longer than %d s (--stall_secs)'
      return message % self._stall_secs
    found = self._progress()
    if found != self._last:
      if self._last is not None:
        self._slowest = max(self._slowest, self._waited)
      self._last, self._waited, self._filled_before = found, 0, None
      return None
    return self._problem()

  def _problem(self):
    """What to say of a step that does not end; None as long as it may last."""
    limit, flag = self._stall_secs, ' (--stall_secs)'
    if self._signals:
      limit = max(_SIGNALED_SECS, _OF_SLOWEST * self._slowest)
      limit, flag = min((limit, ''), (self._stall_secs, flag))
    elif 2 * self._waited > limit and self._is_filling():
      self._waited = 0
    # The first look may come after many steps: none of them is the slowest.
    if not self._taken():
      limit += _FIRST_SECS
    if self._waited <= limit:
      return None
    message = 'no step for %d s%s, waiting for %s'
    return and_saved(message % (limit, flag, self._missing()), self._save)

  def _is_filling(self):
    """Whether the input has read more since the last look."""
    before, self._filled_before = self._filled_before, self._filled()
    return before is not None and self._filled_before > before


def and_saved(message, save):
  """Saves the last whole step when an error ends a run, whatever happens.

  Args:
    message: the error; None if there is none.
    save: function that saves, and returns a sentence that says where; None if
      this task does not save.

  Returns:
    The message, and what is saved or why not; None if there is no error.
  """
  if message is None or save is None:
    return message
  unsaved = 'The last steps are not saved: %s'
  try:
    late = unsaved % ('saving takes longer than %d s' % _SAVE_SECS)
    sentence = within(_SAVE_SECS, save, late)
  except Exception as error:  # Whatever it is, the process has to end.
    sentence = unsaved % error
  return '%s. %s' % (message, sentence)


def within(seconds, work, otherwise):
  """The result of `work()`, or `otherwise` if it takes too long.

  The call goes on in a thread, which does not keep the process from ending.

  Raises:
    What `work` raises.
  """
  results = queue.Queue()

  def run():
    try:
      results.put((work(), None))
    except BaseException as error:
      results.put((None, error))

  threading.Thread(target=run, name='within', daemon=True).start()
  try:
    result, error = results.get(timeout=seconds)
  except queue.Empty:
    return otherwise
  if error is not None:
    raise error
  return result


def end_process(message, status=1):
  """Prints an error and ends the process, whatever its main thread does."""

  def say():
    console.fail(message)
    sys.stdout.flush()  # Last: the main thread may hang in printing.

  within(_SAY_SECS, say, None)
  os._exit(status)
