"""Suppresses TensorFlow's log lines on the terminal, and nothing else.

In use before TensorFlow is imported, so it must not import it.
"""

import contextlib
import logging
import os
import tempfile

from cifar10.util import processor

# 3: only lines that end the process; other faults are raised as exceptions too.
# A user who sets a lower level sees all lines.
_LEVEL = os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')


def is_shown(record):
  """True if a logging.LogRecord of TensorFlow reaches the level _LEVEL."""
  level = int(_LEVEL) if _LEVEL.isdecimal() else 0
  return record.levelno >= logging.INFO + 10 * level


def is_no_deprecation(record):
  """False for lines about deprecated functions, unless _LEVEL shows them."""
  return is_shown(record) or 'deprecated' not in str(record.msg)


def open_missing_streams():
  """Opens /dev/null for standard streams that are closed.

  Otherwise the next file, such as a checkpoint, would get the output of one.
  """
  for number in range(3):
    try:
      os.fstat(number)
    except OSError:
      os.open(os.devnull, os.O_RDWR)  # Takes the lowest free number.


@contextlib.contextmanager
def stderr_held_back():
  """Discards what native code writes to stderr; prints it if the body raises.

  For lines of TensorFlow 2 that ignore the log level; for all threads.
  """
  held, features = None, processor.features()
  # Without AVX, TensorFlow ends the process with a line that says so.
  is_unfit = 'sse2' in features and 'avx' not in features
  if _LEVEL >= '2' and not is_unfit:
    with contextlib.suppress(OSError):  # Every disk is full.
      held = tempfile.TemporaryFile()
  if held is None:
    yield
    return
  with held:
    stderr = os.dup(2)
    os.dup2(held.fileno(), 2)
    try:
      yield
    except BaseException:
      held.seek(0)
      os.write(stderr, held.read())
      raise
    finally:
      os.dup2(stderr, 2)
      os.close(stderr)
