"""A watchdog: ends the process when what it waits for will not come.

TensorFlow's runtime waits without end, in a call that Python cannot interrupt.
Threads beside the main one look for trouble, and end the process in its place.
"""

import os
import sys
import threading

_POLL_SECS = 1


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
        if message is not None:
          _end_process(message)

    threading.Thread(target=watch, name='watchdog', daemon=True).start()

  def end(self):
    """Stops watching; to be called before other tasks may leave."""
    self._ended.set()


def _end_process(message):
  """Prints an error and ends the process, whatever its main thread does."""
  program = os.path.splitext(os.path.basename(sys.argv[0]))[0]
  sys.stdout.flush()
  sys.stderr.write('%s: error: %s\n' % (program, message))
  sys.stderr.flush()
  os._exit(1)
