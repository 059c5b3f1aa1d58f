"""Time limits of calls that may hang, and the end of a process that hangs."""

import concurrent.futures
import os
import sys
import threading

from cifar10.util import console

_SAY_SECS = 1  # Limit of showing the last line on a terminal.


def within(seconds, work, otherwise):
  """Returns or raises as `work()` does; `otherwise` if it takes too long."""
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
