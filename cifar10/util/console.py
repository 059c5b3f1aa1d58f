"""The terminal: output that may go away, and errors in one line."""

import atexit
import contextlib
import io
import os
import select
import signal
import sys

import tensorflow.compat.v1 as tf

from cifar10.errors import Stopped
from cifar10.errors import UserError
from cifar10.errors import printable

# What can go wrong outside the program: TensorFlow's message, no traceback.
_ENVIRONMENT_ERRORS = (
  tf.errors.DataLossError,
  tf.errors.NotFoundError,
  tf.errors.PermissionDeniedError,
  tf.errors.ResourceExhaustedError,
)

_STDOUT = 'standard output'
_READER_SECS = 5  # How long a reader may pause without losing a line.
_SIGPIPE_STATUS = 141  # As a shell reports death by SIGPIPE.
_SIGINT_STATUS = 130


class _Lossy(io.FileIO):
  """Drops what cannot be written.

  The reader has gone or reads no more, as a terminal after Ctrl-S, or the disk
  is full.
  """

  _wait_secs = _READER_SECS

  def write(self, data):
    try:
      _, is_ready, _ = select.select([], [self], [], self._wait_secs)
      # Once a reader is known to pause, nothing waits for it.
      self._wait_secs = _READER_SECS if is_ready else 0
      if is_ready:
        # More at a time than a pipe has room for would wait after all.
        written = super().write(data[: select.PIPE_BUF])
        if written is not None:
          return written
    except (OSError, ValueError):
      pass
    return len(data)


class _Strict(io.FileIO):
  """Raises errors that say where the output was to go."""

  def write(self, data):
    try:
      return super().write(data)
    except OSError as error:
      raise OSError(error.errno, error.strerror, _STDOUT) from error


def open_streams(answers=False):
  """Opens standard output and error anew, so that a run outlives them.

  A line is written when it is printed, into a file or pipe too. Names of files
  may hold bytes that are not text; they are escaped.

  Args:
    answers: whether standard output holds the answers of this program. Then an
      error ends the program; otherwise lines that cannot be written are lost.
  """
  sys.stdout = _opened(sys.stdout, 1, _Strict if answers else _Lossy)
  sys.stderr = _opened(sys.stderr, 2, _Lossy)


def _opened(stream, number, kind):
  if stream is None:  # It was closed when the program started.
    return open(os.devnull, 'w', encoding='utf-8')
  return io.TextIOWrapper(
    io.BufferedWriter(kind(number, 'wb', closefd=False)),
    encoding=stream.encoding,
    errors='backslashreplace',
    line_buffering=True,
  )


def exit_on_signals():
  """Makes SIGTERM and SIGHUP end the program as an error does.

  So it deletes its temporary files. What was ignored, as by nohup, stays so.
  """
  for number in (signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) != signal.SIG_IGN:
      signal.signal(number, lambda number, frame: sys.exit(128 + number))


def program_name():
  """The name of this program, as errors begin."""
  return os.path.splitext(os.path.basename(sys.argv[0]))[0]


def fail(message):
  """Prints an error in one line; returns the exit status, 1."""
  print('%s: error: %s' % (program_name(), printable(message)), file=sys.stderr)
  return 1


def leave(status):
  """Ends the process, with all output written.

  Not by `sys.exit`: Python ends a daemon thread that returns from TensorFlow
  while the interpreter is taken down, and C++ aborts the process for it.
  """
  atexit._run_exitfuncs()  # There is no public name for it.
  for stream in (sys.stdout, sys.stderr):
    with contextlib.suppress(OSError):
      stream.flush()
  os._exit(status)


def guarded(work):
  """Calls `work`; reports what is not the program's fault in one line.

  Args:
    work: function without arguments.

  Returns:
    The exit status: 0 when `work` returns or raises Stopped, 1 after an error,
    130 after Ctrl-C, 141 when the reader of the answers has gone.
  """
  try:
    work()
  except BrokenPipeError:
    _discard_output()
    return _SIGPIPE_STATUS
  except (UserError, OSError) as error:
    if getattr(error, 'filename', None) == _STDOUT:
      _discard_output()
    return fail(str(error) or type(error).__name__)
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


def _discard_output():
  """Discards what Python would still write to standard output at its exit."""
  with contextlib.suppress(OSError):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def summary(error):
  """The message of a tf.errors.OpError in one line.

  TensorFlow 2 begins with the fact of an error and the name of the node.
  """
  lines = error.message.splitlines() or [type(error).__name__]
  nodes = [i for i, line in enumerate(lines) if line.startswith('Node:')]
  return lines[nodes[-1] + 1] if nodes and lines[nodes[-1] + 1 :] else lines[0]
