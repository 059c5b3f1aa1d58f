"""The CIFAR-10 tutorial's training system, in TensorFlow 1 graph style.

Importing the package imports TensorFlow once, in graph mode, and keeps its
start-up messages off the terminal; TF_CPP_MIN_LOG_LEVEL=0 shows them.
"""

from cifar10.util import log_suppression


def _not_a_deprecation(record):
  return 'deprecated and will be removed' not in record.getMessage()


def _import_tensorflow():
  import tensorflow.compat.v1 as tf

  tf.get_logger().addFilter(_not_a_deprecation)
  # Not disable_eager_execution(): alone it leaves resource variables on in
  # TensorFlow 2 and off in TensorFlow 1.
  tf.disable_v2_behavior()
  # The first search for GPUs logs an error if there is no driver. It claims no
  # memory on the GPUs that it finds.
  tf.config.experimental.list_physical_devices('GPU')


with log_suppression.stderr_held_back():
  _import_tensorflow()
