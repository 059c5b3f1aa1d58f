"""The CIFAR-10 tutorial's training system, in TensorFlow 1 graph style.

Importing the package imports TensorFlow once, in graph mode, and keeps its
start-up messages off the terminal; TF_CPP_MIN_LOG_LEVEL=0 shows them.
"""

import contextlib
import signal
import threading

from cifar10.util import log_suppression

__version__ = '1.2.0.dev0'


def _import_tensorflow():
  import tensorflow.compat.v1 as tf

  tf.get_logger().addFilter(log_suppression.is_shown)
  # Not disable_eager_execution(): alone it leaves resource variables on in
  # TensorFlow 2 and off in TensorFlow 1.
  tf.disable_v2_behavior()
  # The first search for GPUs logs an error if there is no driver. It claims no
  # memory on the GPUs that it finds.
  tf.config.experimental.list_physical_devices('GPU')


@contextlib.contextmanager
def _interrupted_silently():
  """Lets Ctrl-C end the process at once; else it would show a traceback."""
  handler = signal.getsignal(signal.SIGINT)
  is_main = threading.current_thread() is threading.main_thread()
  if handler is not signal.default_int_handler or not is_main:
    yield
    return
  signal.signal(signal.SIGINT, signal.SIG_DFL)
  try:
    yield
  finally:
    signal.signal(signal.SIGINT, handler)


log_suppression.open_missing_streams()
with _interrupted_silently(), log_suppression.stderr_held_back():
  _import_tensorflow()
