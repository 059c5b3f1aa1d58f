"""The CIFAR-10 tutorial's training system, in TensorFlow 1 graph style.

Importing the package imports TensorFlow once, in graph mode, and keeps its
start-up messages off the terminal; TF_CPP_MIN_LOG_LEVEL=0 shows them. It also
turns oneDNN on, see util/processor.py.

Programs of the tutorial's time that say `import cifar10` find the names of its
cifar10.py here, and the flags of its programs.
"""

import importlib
import sys
import types

from cifar10.util import startup
from cifar10.util import tutorial_flags

_TUTORIAL_NAMES = frozenset(
    'DATA_URL FLAGS IMAGE_SIZE INITIAL_LEARNING_RATE '
    'LEARNING_RATE_DECAY_FACTOR MOVING_AVERAGE_DECAY NUM_CLASSES '
    'NUM_EPOCHS_PER_DECAY TOWER_NAME NUM_EXAMPLES_PER_EPOCH_FOR_EVAL '
    'NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN distorted_inputs inference inputs loss '
    'maybe_download_and_extract train _activation_summary _add_loss_summaries '
    '_variable_on_cpu _variable_with_weight_decay'.split())

# The constants that are in cifar10.py and in cifar10_input.py.
_SHARED = ('IMAGE_SIZE', 'NUM_CLASSES', 'NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN',
           'NUM_EXAMPLES_PER_EPOCH_FOR_EVAL')

# For `from cifar10 import *`.
__all__ = [name for name in sorted(_TUTORIAL_NAMES) if name[0] != '_']

__version__ = '1.2.0'


def __getattr__(name):
  """Finds the tutorial's names in cifar10.py, imported on first use."""
  if name == 'cifar10_input':  # The tutorial's cifar10.py has this name, too.
    return importlib.import_module('cifar10.cifar10_input')
  if name not in _TUTORIAL_NAMES:
    raise AttributeError(f"module 'cifar10' has no attribute {name!r}")
  return getattr(importlib.import_module('cifar10.cifar10'), name)


def __dir__():
  return sorted({*globals(), *_TUTORIAL_NAMES})


class _TutorialModule(types.ModuleType):
  """cifar10.py or cifar10_input.py; sets a shared constant in both."""

  def __setattr__(self, name, value):
    super().__setattr__(name, value)
    if name in _SHARED:
      for module in ('cifar10.cifar10', 'cifar10.cifar10_input'):
        vars(sys.modules[module])[name] = value


class _Package(types.ModuleType):
  """This module; passes the assignment of a tutorial's name on to cifar10.py.

  It is a class because Python ignores a module's function `__setattr__`.
  """

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
startup.begin()
tutorial_flags.define()
