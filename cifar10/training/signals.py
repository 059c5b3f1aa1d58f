"""SIGINT and SIGTERM, noted at once and acted on after the current step."""

import contextlib
import os
import signal
import threading


@contextlib.contextmanager
def noted():
  """Yields a list that the numbers of SIGINT and SIGTERM are added to.

  Python runs signal handlers in the main thread, and only once a call of native
  code returns; a step that hangs never does. So the handlers here do nothing.
  `signal.set_wakeup_fd` has the number written to a pipe as soon as the signal
  comes, and a thread reads it there, for a watchdog to see.
  """
  signals = []
  # Python lets only the main thread set handlers.
  if threading.current_thread() is not threading.main_thread():
    yield signals
    return
  reader, writer = os.pipe()
  os.set_blocking(writer, False)

  def note():
    for number in iter(lambda: os.read(reader, 1), b''):
      signals.append(number[0])

  thread = threading.Thread(target=note, name='signals', daemon=True)
  thread.start()
  wakeup = signal.set_wakeup_fd(writer)
  handlers = {
    number: signal.signal(number, lambda n, frame: None)
    for number in (signal.SIGINT, signal.SIGTERM)
  }
  try:
    yield signals
  finally:
    for number, handler in handlers.items():
      signal.signal(number, handler)
    signal.set_wakeup_fd(wakeup)
    os.close(writer)  # Ends the thread.
    thread.join()
    os.close(reader)


def print_first(signals):
  """Prints which signal, the first of `signals`, has ended the run."""
  for number in signals[:1]:
    print('Stopped by %s.' % signal.Signals(number).name)
