"""What the entry scripts share: flags to Config, errors to one line."""

import dataclasses
import os
import sys
from typing import Optional

from absl import app
from absl import flags
import tensorflow.compat.v1 as tf

from cifar10 import config as config_lib
from cifar10.util import session_settings
from cifar10.errors import UserError

# The flags of every program: which data, and how it uses the machine.
COMMON_FLAGS = (
  'dataset',
  'cifar100_labels',
  'data_dir',
  'data_url',
  'data_sha256',
  'batch_size',
  'precision',
  'top_layers',
  'intra_op_threads',
  'inter_op_threads',
  'gpu_memory_fraction',
  'log_device_placement',
)

# The flags of every trainer.
TRAINER_FLAGS = COMMON_FLAGS + (
  'max_steps',
  'learning_rate',
  'clip_norm',
  'seed',
  'train_dir',
  'overwrite',
  'save_secs',
  'save_steps',
  'max_to_keep',
  'log_frequency',
  'progress',
)

# Which data set it is.
DATA_FLAGS = ('dataset', 'cifar100_labels', 'data_dir')

# What a program with --checkpoint_dir takes from the run there.
_OF_RUN = DATA_FLAGS + ('top_layers',)

# The flags of every program that uses a model as it is.
MODEL_FLAGS = _OF_RUN + ('checkpoint_dir', 'use_moving_averages')

# What can go wrong outside the program: TensorFlow's words, with no traceback.
_ENVIRONMENT_ERRORS = (
  tf.errors.DataLossError,
  tf.errors.NotFoundError,
  tf.errors.PermissionDeniedError,
  tf.errors.ResourceExhaustedError,
)

_DEFINE_BY_TYPE = {
  bool: flags.DEFINE_boolean,
  int: flags.DEFINE_integer,
  Optional[int]: flags.DEFINE_integer,
  float: flags.DEFINE_float,
  str: flags.DEFINE_string,
}


def run(work, flag_names, description, takes_arguments=False):
  """Runs a program: reads the flags, calls `work(config)`, and exits.

  The status is 0 when `work` returns, and 1 after an error. A mistake of the
  user or the machine is told in one line, without a traceback.

  A program with `--checkpoint_dir` takes the data set and `top_layers` from the
  run there, if it has saved its Config; except what is given as a flag.

  Args:
    work: function of a Config.
    flag_names: the fields of Config that this program has as flags.
    description: what `--help` says first.
    takes_arguments: whether arguments that are no flags are allowed; `work`
      gets the list of them after the Config.
  """
  # Into a file or pipe too, each line goes out when it is printed. Names of
  # files may hold bytes that are no text.
  sys.stdout.reconfigure(line_buffering=True, errors='backslashreplace')
  sys.modules['__main__'].__doc__ = description
  _define_flags(flag_names)
  app.run(lambda argv: _run_guarded(work, flag_names, argv, takes_arguments))


def sibling_command(name):
  """How to call the program `name`, in the way that this one was called."""
  directory, script = os.path.split(sys.argv[0])
  extension = os.path.splitext(script)[1]
  command = os.path.join(directory, name + extension)
  return 'python ' + command if extension else command


def _define_flags(names):
  fields = {
    field.name: field for field in dataclasses.fields(config_lib.Config)
  }
  for name in names:
    limits = dict(fields[name].metadata)
    text = limits.pop('help')
    define = _DEFINE_BY_TYPE[fields[name].type]
    if 'choices' in limits:
      define = flags.DEFINE_enum
      limits = {'enum_values': limits['choices']}
    # Listed by --help as the program's own, wherever they are defined.
    define(
      name,
      default=fields[name].default,
      help=text,
      module_name=sys.argv[0],
      **limits,
    )


def _summary(error):
  """What a tf.errors.OpError says in one line.

  TensorFlow 2 says first that there was an error and in which node.
  """
  lines = error.message.splitlines()
  nodes = [i for i, line in enumerate(lines) if line.startswith('Node:')]
  return lines[nodes[-1] + 1] if nodes else lines[0]


def _config(flag_names):
  """The Config that the flags and the saved run say."""
  config = config_lib.Config(
    **{name: flags.FLAGS[name].value for name in flag_names}
  )
  if 'checkpoint_dir' in flag_names:
    saved = config_lib.load(config.run_dir)
    if saved is not None:
      names = [name for name in _OF_RUN if not flags.FLAGS[name].present]
      config = dataclasses.replace(
        config,
        classes=saved.classes,
        **{name: getattr(saved, name) for name in names},
      )
  return config


def _run_guarded(work, flag_names, argv, takes_arguments=False):
  """Calls `work`; returns the exit status."""
  program = os.path.splitext(os.path.basename(argv[0]))[0]

  def fail(message):
    print('%s: error: %s' % (program, message), file=sys.stderr)
    return 1

  if argv[1:] and not takes_arguments:
    return fail(
      'unexpected argument %r; a flag is written --name=value, '
      'a switch --name or --noname' % argv[1]
    )
  # absl turns TensorFlow's INFO lines on, and prints them a second time.
  tf.logging.set_verbosity(tf.logging.WARN)
  tf.get_logger().propagate = False
  try:
    config = _config(flag_names)
    session_settings.start(config)
    session_settings.warn_of_slow_precision(config, config.eval_device == 'gpu')
    work(config, *([argv[1:]] if takes_arguments else []))
  except (UserError, OSError) as error:
    return fail(error)
  except _ENVIRONMENT_ERRORS as error:
    return fail(_summary(error))
  except KeyboardInterrupt:
    fail('interrupted')
    return 130  # As a shell reports death by SIGINT.
  return 0
