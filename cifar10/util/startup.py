"""Imports TensorFlow in graph mode, with oneDNN and without its messages."""

import contextlib
import os
import signal
import sys
import threading

from cifar10.util import log_suppression
from cifar10.util import processor


def begin():
  """Prepares signals and standard streams; imports TensorFlow."""
  # Linux ignores signals without a handler for process 1, as of a container.
  for number in (signal.SIGTERM, signal.SIGHUP) if os.getpid() == 1 else ():
    if _is_main() and signal.getsignal(number) == signal.SIG_DFL:
      signal.signal(number, _exit)
  log_suppression.open_missing_streams()
  processor.use_onednn()
  with _interrupted_silently(), log_suppression.stderr_held_back():
    import tensorflow.compat.v1 as tf

    tf.get_logger().addFilter(log_suppression.is_no_deprecation)
    if hasattr(sys, 'ps1'):  # In a notebook, TensorFlow's INFO lines are on.
      tf.logging.set_verbosity(tf.logging.WARN)
    # Not disable_eager_execution(): alone it leaves resource variables on in
    # TensorFlow 2 and off in TensorFlow 1.
    tf.disable_v2_behavior()
    # The first search for GPUs logs an error if there is no driver. If there
    # is one, a program may still choose GPUs by CUDA_VISIBLE_DEVICES.
    if not any(map(os.path.exists, ('/dev/nvidiactl', '/dev/dxg'))):
      tf.config.experimental.list_physical_devices('GPU')


def _exit(number, frame):
  sys.exit(128 + number)


def _is_main():
  """True in the main thread, which alone may set handlers of signals."""
  return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def _interrupted_silently():
  """Lets Ctrl-C end the process at once; else it would show a traceback."""
  handler = signal.getsignal(signal.SIGINT)
  if handler is not signal.default_int_handler or not _is_main():
    yield
    return
  signal.signal(signal.SIGINT, _exit if os.getpid() == 1 else signal.SIG_DFL)
  try:
    yield
  finally:
    signal.signal(signal.SIGINT, handler)
