"""A watchdog: ends the process when what it waits for will not come.

TensorFlow's runtime waits without end, in a call that Python cannot interrupt.
Threads beside the main one look for trouble, and end the process in its place.
"""

import contextlib
import threading

from cifar10.util import time_limits

_POLL_SECS = 1


class Watchdog(contextlib.AbstractContextManager):
  """Calls checks once a second, each in its own thread, until its body ends."""

  def __init__(self, poll_secs=_POLL_SECS):
    self._ended, self._poll_secs = threading.Event(), poll_secs

  def __exit__(self, *error):
    self.end()

  def watch(self, check):
    """Starts to call a check; one that hangs does not delay the others.

    Once `check()` returns a message instead of None, the process ends with it.
    """

    def watch():
      while not self._ended.wait(self._poll_secs):
        try:
          message = check()
        except Exception as error:  # Else the process would hang unwatched.
          message = f'the watchdog has failed: {error}'
        if message is not None and not self._ended.is_set():
          time_limits.end_process(message)

    threading.Thread(target=watch, name='watchdog', daemon=True).start()

  def end(self):
    """Stops watching."""
    self._ended.set()
