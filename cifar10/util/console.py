"""The terminal: one that may go away, errors in one line, progress bars."""

import atexit
import contextlib
import datetime
import io
import os
import re
import select
import signal
import sys

import tensorflow.compat.v1 as tf

from cifar10.errors import Stopped
from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.util import files
from cifar10.util import log_suppression

# Faults outside the program: TensorFlow's message, no traceback.
_ENVIRONMENT_ERRORS = (tf.errors.DataLossError, tf.errors.NotFoundError,
                       tf.errors.PermissionDeniedError,
                       tf.errors.ResourceExhaustedError)

_STDOUT = 'standard output'
_READER_SECS = 5  # How long a reader may pause without losing a line.
_SIGPIPE_STATUS = 141  # As a shell reports death by SIGPIPE.
_SIGINT_STATUS = 130


class _Lossy(io.FileIO):
  """Drops output if its reader is gone or pauses, or the disk is full."""

  _wait_secs = _READER_SECS

  def write(self, data):
    try:
      _, is_ready, _ = select.select([], [self], [], self._wait_secs)
      # Once a reader is known to pause, as after Ctrl-S, nothing waits for it.
      self._wait_secs = _READER_SECS if is_ready else 0
      if is_ready:
        # More at a time than a pipe has room for would wait after all.
        written = super().write(data[:select.PIPE_BUF])
        if written is not None:
          return written
    except (OSError, ValueError):
      pass
    return len(data)


class _Strict(io.FileIO):
  """Names standard output in errors."""

  def write(self, data):
    with files.naming(_STDOUT):
      return super().write(data)


_UNUSUAL = re.compile(r'[^ -~\n\r\t]+')  # Perhaps not printable.


class _Printable(io.TextIOWrapper):
  """Escapes what is not printable: much that is printed comes from files."""

  def write(self, text):
    super().write(_UNUSUAL.sub(lambda found: printable(found.group()), text))
    return len(text)


def open_streams(answers=False):
  """Opens standard output and error anew, so that a run outlives them.

  Lines are written at once. Those that cannot be are lost; with `answers` on
  standard output, that is an error.
  """
  sys.stdout = _opened(sys.stdout, 1, _Strict if answers else _Lossy)
  sys.stderr = _opened(sys.stderr, 2, _Lossy)


def _opened(stream, number, kind):
  """A text stream like `stream` over a raw one of class `kind`."""
  if stream is None:  # It was closed when the program started.
    return open(os.devnull, 'w', encoding='utf-8')
  return _Printable(io.BufferedWriter(kind(number, 'wb', closefd=False)),
                    encoding=stream.encoding, errors='backslashreplace',
                    line_buffering=True)


def exit_on_signals():
  """Makes SIGTERM and SIGHUP, unless ignored, end the program like an error."""
  for number in (signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) != signal.SIG_IGN:
      signal.signal(number, lambda number, frame: sys.exit(128 + number))


def timestamp():
  """The time as the tutorial's lines begin: 2015-11-04 11:45:45.927302."""
  return datetime.datetime.now().isoformat(sep=' ', timespec='microseconds')


def fail(message):
  """Prints an error in one line; returns the exit status, 1."""
  program = os.path.splitext(os.path.basename(sys.argv[0]))[0]
  print(f'{program}: error: {printable(message)}', file=sys.stderr)
  return 1


def leave(status):
  """Ends the process, with all output written.

  With `sys.exit`, a daemon thread that returns from TensorFlow would abort it.
  """
  atexit._run_exitfuncs()  # There is no public name for it.
  for stream in (sys.stdout, sys.stderr):
    with contextlib.suppress(OSError):
      stream.flush()
  os._exit(status)


def guarded(work):
  """Calls `work()`; reports what is not the program's fault in one line.

  TensorFlow's log is hidden, as `log_suppression` says.

  Returns the exit status: 0 also for Stopped, 1 for an error, 130 for Ctrl-C,
  141 if the reader of the answers has gone, or that of `sys.exit`.
  """
  tf.get_logger().addFilter(log_suppression.is_shown)
  try:
    work()
  except (UserError, OSError) as error:
    is_gone = isinstance(error, BrokenPipeError)
    if is_gone or getattr(error, 'filename', None) == _STDOUT:
      with contextlib.suppress(OSError):
        # Python would still write at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if is_gone:
      return _SIGPIPE_STATUS
    return fail(str(error) or type(error).__name__)
  except SystemExit as end:
    return end.code
  except Stopped as stopped:
    print(stopped)
  except MemoryError:
    return fail('out of memory')
  except _ENVIRONMENT_ERRORS as error:
    return fail(summary(error))
  except KeyboardInterrupt:
    fail('interrupted')
    return _SIGINT_STATUS
  return 0


# Lines in which TensorFlow says nothing of the cause; a server begins with one.
_EMPTY = re.compile(r'|=+|Graph execution error:|([\w ]+: )?From /job:.*:|'
                    r'\d+ root error\(s\) found\.')


def summary(error):
  """A tf.errors.OpError in one line, without the name of the node."""
  lines = error.message.splitlines()
  nodes = [i for i, line in enumerate(lines) if line.startswith('Node:')]
  after = lines[nodes[-1] + 1:] if nodes else lines
  causes = [line for line in after if not _EMPTY.fullmatch(line)]
  return (causes or lines or [type(error).__name__])[0]


@contextlib.contextmanager
def naming(beginning):
  """Turns a tf.errors.OpError of the body into a UserError of one line."""
  try:
    yield
  except tf.errors.OpError as error:
    raise UserError(f'{beginning}: {summary(error)}') from error


def columns():
  """The number of characters of a live line that fit the terminal."""
  found = 80
  with contextlib.suppress(OSError):  # The terminal is gone.
    # Some terminals do not know their size, and report 0.
    found = os.get_terminal_size(sys.stdout.fileno()).columns or found
  # A character in the last column would move the cursor to the next line.
  return found - 1


class ProgressBar:
  """A live bar on a terminal; in a file or pipe, a line for every 10 %."""

  def __init__(self, task, total, unit=1, amount='%d'):
    """Begins lines with `task`; they end with the units done, by `amount`.

    `total` is the amount of work, without which nothing is shown.
    """
    self._task, self._total, self._unit = task, total, unit
    self._amount, self._shown, self._line = amount, None, ''
    self._live = sys.stdout.isatty()

  def show(self, done):
    """Updates the display if it changes; `done` is the work done so far."""
    if not self._total:
      return
    percent = 100 * done // self._total
    percent -= 0 if self._live else percent % 10
    if percent == self._shown:
      return
    self._shown = percent
    amount = self._amount % (done / self._unit)
    bar = '#' * (percent // 4)
    self._line = f'{self._task} {percent:3d} % [{bar:25s}] {amount}'
    if self._live:
      self._line = self._line[:columns()]
    start, end = ('\r', '') if self._live else ('', '\n')
    print(start + self._line, end=end, flush=True)

  def clear(self):
    """Removes the bar from a terminal until the next `show`."""
    if self._live:
      print('\r' + ' ' * len(self._line), end='\r', flush=True)
      self._shown = None

  def end(self):
    """Ends the line of the bar on a terminal, if it is shown."""
    if self._live and self._shown is not None:
      print()
      self._shown = None
