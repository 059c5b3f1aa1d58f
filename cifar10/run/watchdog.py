"""A watchdog: ends the process when what it waits for will not come.

TensorFlow's runtime waits without end, in a call that Python cannot interrupt.
Threads beside the main one look for trouble, and end the process in its place.
"""

import concurrent.futures
import contextlib
import os
import sys
import threading
import time
from typing import Any, Callable, NamedTuple

from cifar10.util import console

_POLL_SECS = 1
_MOST_SECS = 5  # A longer time between two looks: this process was stopped.

# Limit of a step once a signal has come to end the run, in seconds; or as a
# multiple of the slowest step so far, if that is more.
_SIGNALED_SECS = 5
_OF_SLOWEST = 3

_FIRST_SECS = 20  # More for the first step: TensorFlow prepares itself.

LOOK_SECS = 5  # Limit of a look for the cause.
_SAVE_SECS = 20  # Limit of the last save.
_SAY_SECS = 1  # Limit of showing the last line on a terminal.


class Watchdog(contextlib.AbstractContextManager):
  """Calls checks once a second, each in its own thread, until its body ends."""

  def __init__(self):
    self._ended = threading.Event()

  def __exit__(self, *error):
    self.end()

  def watch(self, check):
    """Starts to call a check; one that hangs does not delay the others.

    `check()` returns None as long as all is well, else a message; then the
    process ends with that message and status 1.
    """

    def watch():
      while not self._ended.wait(_POLL_SECS):
        try:
          message = check()
        except Exception as error:  # Else the process would hang unwatched.
          message = f'the watchdog has failed: {error}'
        if message is not None and not self._ended.is_set():
          end_process(message)

    threading.Thread(target=watch, name='watchdog', daemon=True).start()

  def end(self):
    """Stops watching."""
    self._ended.set()


class Probes(NamedTuple):
  """Functions that report on the steps of a process."""

  progress: Callable[[], Any]  # At once; changes as long as all is well.
  taken: Callable[[], int]  # Steps that this process has taken.
  filled: Callable[[], int]  # Images read ahead; while it grows, a step waits.
  missing: Callable[[], str]  # Names what the step waits for.


class StallCheck:
  """A check that notices when no step ends for too long; saves if it can."""

  def __init__(self, probes, save, signals, stall_secs):
    """Takes Probes, `save` as for `and_saved`, and the list of signals."""
    self._probes, self.save, self._signals = probes, save, signals
    self._stall_secs = stall_secs  # The limit without a signal.
    self._is_ending, self._last, self._filled_before = False, None, None
    self._waited, self._slowest, self._looked = 0, 0, time.monotonic()

  def expect_end(self):
    """Notes that the last step is taken: now it is saved."""
    self._is_ending, self._waited = True, 0

  def __call__(self):
    now = time.monotonic()
    # Not the time when this process was stopped, by Ctrl-Z for instance.
    self._waited += min(now - self._looked, _MOST_SECS)
    self._looked = now
    if self._is_ending:
      message = 'saving the last step takes longer than %d s (--stall_secs)'
      is_late = self._waited > self._stall_secs
      return message % self._stall_secs if is_late else None
    found = self._probes.progress()
    if found != self._last:
      if self._last is not None:
        self._slowest = max(self._slowest, self._waited)
      self._last, self._waited, self._filled_before = found, 0, None
      return None
    return self._problem()

  def _problem(self):
    """The message about a step that does not end; None while it may go on."""
    limit, flag = self._stall_secs, ' (--stall_secs)'
    if self._signals:
      limit = max(_SIGNALED_SECS, _OF_SLOWEST * self._slowest)
      limit, flag = min((limit, ''), (self._stall_secs, flag))
    elif 2 * self._waited > limit and self._is_filling():
      self._waited = 0
    # The first look may come after many steps: none of them is the slowest.
    if not self._probes.taken():
      limit += _FIRST_SECS
    if self._waited <= limit:
      return None
    message = 'no step for %d s%s, waiting for %s'
    missing = self._probes.missing()
    return and_saved(message % (limit, flag, missing), self.save)

  def _is_filling(self):
    """True if the input has read more since the last look."""
    before, self._filled_before = self._filled_before, self._probes.filled()
    return before is not None and self._filled_before > before


def and_saved(message, save):
  """Saves the last whole step when an error ends a run, whatever happens.

  `save` is a function that saves, and returns a sentence that says where; None
  if this task does not save. Returns the message of the error, and a sentence
  on the last step saved, or on why it is not saved; None if there is no error.
  """
  if message is None or save is None:
    return message
  unsaved = 'The last steps are not saved: %s'
  late = unsaved % ('saving takes longer than %d s' % _SAVE_SECS)
  try:
    return f'{message}. {within(_SAVE_SECS, save, late)}'
  except Exception as error:  # Whatever it is, the process has to end.
    return f'{message}. {unsaved % error}'


def within(seconds, work, otherwise):
  """Returns or raises as `work()` does; `otherwise` if it takes too long.

  The call continues in a thread, which does not keep the process from ending.
  """
  future = concurrent.futures.Future()

  def run():
    try:
      future.set_result(work())
    except BaseException as error:
      future.set_exception(error)

  threading.Thread(target=run, name='within', daemon=True).start()
  done, _ = concurrent.futures.wait([future], seconds)
  return future.result() if done else otherwise


def end_process(message, status=1):
  """Prints an error and ends the process, whatever its main thread does."""

  def say():
    console.fail(message)
    sys.stdout.flush()  # Last: the main thread may hang in printing.

  within(_SAY_SECS, say, None)
  os._exit(status)
