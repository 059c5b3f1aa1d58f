"""Signals that end a run: noted at once, acted on after the current step.

SIGINT (Ctrl-C), SIGTERM, and SIGHUP, which comes when a connection is lost. A
second one ends the process at once.
"""

import atexit
import contextlib
import functools
import os
import signal
import threading
import time

from cifar10.errors import Stopped
from cifar10.util import time_limits

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Within this time after the first signal, others are the same one: a launcher
# may send it twice, to the process and to its group.
_SAME_SECS = 1


@contextlib.contextmanager
def noted(afterwards=None):
  """Yields a list; the number of the first signal is added to it.

  Python runs signal handlers only once a call of native code returns; a step
  that hangs never does. So the handlers here do nothing: a thread reads the
  numbers from the pipe of `signal.set_wakeup_fd`. After the body the signals
  have the handler `afterwards`; None: that from before.
  """
  signals, times = [], []
  # Python lets only the main thread set handlers.
  if threading.current_thread() is not threading.main_thread():
    yield signals
    return
  reader, writer = os.pipe()
  os.set_blocking(writer, False)
  thread = threading.Thread(target=_note, args=(reader, signals, times),
                            name='signals', daemon=True)
  thread.start()
  wakeup = signal.set_wakeup_fd(writer)
  handlers = {
      number: signal.signal(number, _do_nothing)
      for number in _ENDING
      # nohup has SIGHUP ignored, and a script SIGINT in what `&` starts.
      if signal.getsignal(number) != signal.SIG_IGN
  }
  try:
    yield signals
  finally:
    if times:  # Others that are the same signal must not kill the process.
      time.sleep(max(0, times[0] + _SAME_SECS - time.monotonic()))
    for number, handler in handlers.items():
      signal.signal(number, handler if afterwards is None else afterwards)
    signal.set_wakeup_fd(wakeup)
    os.close(writer)  # Ends the thread.
    thread.join()
    os.close(reader)


@functools.lru_cache(maxsize=None)
def noted_until_exit():
  """The list of `noted`, until the end of a task that others wait for."""
  context = noted(afterwards=signal.SIG_IGN)
  atexit.register(context.__exit__, None, None, None)
  return context.__enter__()


@contextlib.contextmanager
def raised(signals):
  """Has the first signal raise Stopped in the body; `signals` is of `noted`."""
  replaced = [n for n in _ENDING if signal.getsignal(n) is _do_nothing]

  def restore():
    for number in replaced:
      signal.signal(number, _do_nothing)

  def stop(number, frame):
    restore()  # Others, the same signal, must not disturb what cleans up.
    raise Stopped(stopped_by([number]))

  for number in replaced:
    signal.signal(number, stop)
  try:
    if signals:
      raise Stopped(stopped_by(signals))
    yield
  finally:
    restore()


def _do_nothing(number, frame):
  """A handler; `noted` has another thread see the signal."""


def _note(reader, signals, times):
  """Notes the first signal from a pipe, and its time; ends at the second."""
  for (number,) in iter(lambda: os.read(reader, 1), b''):
    if number not in _ENDING:
      continue
    if not times:
      times.append(time.monotonic())
      signals.append(number)
    elif time.monotonic() - times[0] > _SAME_SECS:
      time_limits.end_process(
          f'ended by a second signal, {signal.Signals(number).name}; what came '
          'after the newest checkpoint is not saved', 128 + number)


def print_first(signals):
  """Prints the name of the signal that has ended the run, if one has."""
  if signals:
    print(stopped_by(signals))


def stopped_by(signals):
  """The line that names the first of `signals`."""
  return f'Stopped by {signal.Signals(signals[0]).name}.'
