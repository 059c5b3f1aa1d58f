"""Suppresses TensorFlow's log lines on the terminal, and nothing else."""

import contextlib
import os
import tempfile

# 2: errors only. A user who sets a lower level sees all lines.
_LEVEL = os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')


@contextlib.contextmanager
def stderr_held_back():
  """Discards what native code writes to stderr, unless the body raises.

  Some lines of TensorFlow 2 ignore the log level. After an exception the lines
  are printed. The file descriptor is redirected, for all threads.
  """
  if _LEVEL < '2':
    yield
    return
  with tempfile.TemporaryFile() as held:
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
