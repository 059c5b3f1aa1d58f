"""Keeps TensorFlow's chatter off the terminal, and nothing else."""

import contextlib
import os
import tempfile

# 2 is errors only. Who asks for more, sees all of it.
_LEVEL = os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')


@contextlib.contextmanager
def stderr_held_back():
  """Holds back what native code writes to stderr, unless the body fails.

  Some lines of TensorFlow 2 heed no log level.
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
