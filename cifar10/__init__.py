"""The CIFAR-10 tutorial's training system, in TensorFlow 1 graph style.

Importing the package imports TensorFlow once, in graph mode, and keeps its
start-up chatter off the terminal; TF_CPP_MIN_LOG_LEVEL=0 shows it.
"""

import contextlib
import os
import tempfile


@contextlib.contextmanager
def _stderr_held_back():
  """Holds back what native code writes to stderr, unless the body fails."""
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


def _not_a_deprecation(record):
  return 'deprecated and will be removed' not in record.getMessage()


def _import_tensorflow():
  import tensorflow.compat.v1 as tf

  tf.get_logger().addFilter(_not_a_deprecation)
  # Not disable_eager_execution(): alone it leaves resource variables on in
  # TensorFlow 2 and off in TensorFlow 1.
  tf.disable_v2_behavior()
  # The first look for GPUs writes an error line where there is no driver.
  # It claims no memory on the GPUs that it finds.
  tf.config.experimental.list_physical_devices('GPU')
  # TensorFlow 2.20 writes at its first session, whatever the log level. This
  # one leaves the GPUs and the default graph alone.
  no_gpus = tf.ConfigProto(device_count={'GPU': 0})
  with tf.Graph().as_default(), tf.Session(config=no_gpus) as session:
    session.run(tf.constant(0))


# 2 is errors only. Who asks for more, sees all of it.
if os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2') < '2':
  _import_tensorflow()
else:
  # TensorFlow 2 writes lines at import that heed no log level.
  with _stderr_held_back():
    _import_tensorflow()
