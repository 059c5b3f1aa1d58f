"""The CIFAR-10 tutorial's training system, in TensorFlow 1 graph style.

Importing the package imports TensorFlow once, in graph mode, and keeps its
start-up messages off the terminal; TF_CPP_MIN_LOG_LEVEL=0 shows them. It also
turns oneDNN on, see processor.py.

Programs of the tutorial's time that say `import cifar10` find the names of its
cifar10.py here, and the flags of its programs.
"""

import contextlib
import importlib
import os
import signal
import sys
import threading
import types

from absl import flags as absl_flags

from cifar10.settings import FIELDS
from cifar10.util import log_suppression
from cifar10.util import processor

# The flags of the tutorial's five programs, and their defaults.
TUTORIAL_FLAGS = {
    name: FIELDS[name].default for name in (
        'batch_size data_dir train_dir max_steps log_device_placement '
        'log_frequency eval_dir eval_data checkpoint_dir eval_interval_secs '
        'run_once num_gpus').split()
}
TUTORIAL_FLAGS.update(use_fp16=False, num_examples=10000)

_TUTORIAL_NAMES = frozenset(
    'DATA_URL FLAGS IMAGE_SIZE INITIAL_LEARNING_RATE '
    'LEARNING_RATE_DECAY_FACTOR MOVING_AVERAGE_DECAY NUM_CLASSES '
    'NUM_EPOCHS_PER_DECAY TOWER_NAME NUM_EXAMPLES_PER_EPOCH_FOR_EVAL '
    'NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN distorted_inputs inference inputs loss '
    'maybe_download_and_extract train _activation_summary _variable_on_cpu '
    '_variable_with_weight_decay'.split())

# The constants that are in cifar10.py and in cifar10_input.py.
_SHARED = ('IMAGE_SIZE', 'NUM_CLASSES', 'NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN',
           'NUM_EXAMPLES_PER_EPOCH_FOR_EVAL')

# For `from cifar10 import *`.
__all__ = [name for name in sorted(_TUTORIAL_NAMES) if name[0] != '_']

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


def _default_handler():
  """A handler of signals that ends the process.

  Linux ignores signals without one for process 1, as of a container.
  """
  if os.getpid() != 1:
    return signal.SIG_DFL
  return lambda number, frame: sys.exit(128 + number)


def _is_main():
  """True in the main thread, which alone may set handlers of signals."""
  return threading.current_thread() is threading.main_thread()


def _end_by_signals():
  """Lets SIGTERM and SIGHUP end process 1, too, at any time."""
  if os.getpid() == 1 and _is_main():
    for number in (signal.SIGTERM, signal.SIGHUP):
      if signal.getsignal(number) == signal.SIG_DFL:
        signal.signal(number, _default_handler())


@contextlib.contextmanager
def _interrupted_silently():
  """Lets Ctrl-C end the process at once; else it would show a traceback."""
  handler = signal.getsignal(signal.SIGINT)
  if handler is not signal.default_int_handler or not _is_main():
    yield
    return
  signal.signal(signal.SIGINT, _default_handler())
  try:
    yield
  finally:
    signal.signal(signal.SIGINT, handler)


def _define_tutorial_flags():
  """Defines the tutorial's flags, unless the program has; it may do so later.

  In a notebook there are no flags to parse: the arguments are the kernel's.
  """
  define_by_type = {
      bool: absl_flags.DEFINE_boolean,
      int: absl_flags.DEFINE_integer,
      str: absl_flags.DEFINE_string
  }
  for name, default in TUTORIAL_FLAGS.items():
    if name not in absl_flags.FLAGS:
      define_by_type[type(default)](name, default, "The tutorial's.",
                                    module_name='cifar10', allow_override=True)
  program = sys.argv[0] if sys.argv else ''  # None if embedded in another one.
  if any(name in program for name in ('ipykernel', 'colab_kernel')):
    absl_flags.FLAGS.mark_as_parsed()


def flag_values(*names):
  """The values of some of the tutorial's flags, a dict by their names.

  With `given`, the names of those that are not the defaults. Empty in a program
  of this project, which has settings in their place.
  """
  defined = absl_flags.FLAGS
  if 'use_fp16' not in defined:
    return {}
  if not defined.is_parsed():  # The program has no tf.app.run.
    # These flags alone: to the others, the program may give another meaning.
    own = absl_flags.FlagValues()
    for name in names:
      own[name] = defined[name]
    own(sys.argv, known_only=True)
  given = [name for name in names if not defined[name].using_default_value]
  values = {name: defined[name].value for name in names}
  return dict(values, given=frozenset(given))


class _TutorialModule(types.ModuleType):
  """cifar10.py or cifar10_input.py: a constant of both that is set on one."""

  def __setattr__(self, name, value):
    super().__setattr__(name, value)
    if name in _SHARED:
      for module in ('cifar10.cifar10', 'cifar10.cifar10_input'):
        vars(sys.modules[module])[name] = value


class _Package(types.ModuleType):
  """This module: the tutorial's names are those of cifar10.py, also when set.

  That module is imported once one of them is asked for.
  """

  def __getattr__(self, name):
    if name == 'cifar10_input':  # The tutorial's cifar10.py imports it.
      return importlib.import_module('cifar10.cifar10_input')
    if name not in _TUTORIAL_NAMES:
      raise AttributeError(f"module 'cifar10' has no attribute {name!r}")
    return getattr(importlib.import_module('cifar10.cifar10'), name)

  def __setattr__(self, name, value):
    if name in _TUTORIAL_NAMES:
      setattr(importlib.import_module('cifar10.cifar10'), name, value)
      return
    super().__setattr__(name, value)
    if name == 'cifar10':  # Python has just imported it.
      for module in (value, value.cifar10_input):
        module.__class__ = _TutorialModule
      for constant in _SHARED:  # An edit of either file counts in both.
        setattr(value, constant, getattr(value, constant))


sys.modules[__name__].__class__ = _Package
_end_by_signals()
log_suppression.open_missing_streams()
processor.use_onednn()
with _interrupted_silently(), log_suppression.stderr_held_back():
  _import_tensorflow()
_define_tutorial_flags()
