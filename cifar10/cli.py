"""What the programs share: flags to Config, errors to one line."""

import contextlib
import os
import shlex
import sys
from typing import Optional

from absl import app
from absl import flags
import tensorflow.compat.v1 as tf

from cifar10 import config as config_lib
from cifar10.errors import UserError
from cifar10.training import run_state
from cifar10.util import commands
from cifar10.util import session_settings

# The groups of settings that every trainer takes.
TRAINER_GROUPS = (
  'data',
  'download',
  'input',
  'model',
  'optimization',
  'run',
  'session',
)

# Which data set it is.
_DATA_FLAGS = ('dataset', 'cifar100_labels', 'data_dir')

# What a program with --checkpoint_dir takes from the run there.
_SETTINGS_OF_RUN = _DATA_FLAGS + ('top_layers',)

# What can go wrong outside the program: TensorFlow's message, no traceback.
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


def run(work, groups, description, takes_arguments=False):
  """Runs a program: reads the flags, calls `work(config)`, and exits.

  The status is 0 when `work` returns, and 1 after an error. A mistake of the
  user or a fault of the machine is reported in one line, without a traceback.

  A program with `--checkpoint_dir` takes the data set and `top_layers` from the
  run there, if it has saved its settings, except those given as flags.

  Args:
    work: function of a config.Config.
    groups: names of the groups of Config whose fields are the flags.
    description: what `--help` prints first.
    takes_arguments: whether arguments that are not flags are allowed; `work`
      gets the list of them after the Config.
  """
  # Each line is written when it is printed, into a file or pipe too. Names of
  # files may hold bytes that are not text.
  sys.stdout.reconfigure(line_buffering=True, errors='backslashreplace')
  sys.modules['__main__'].__doc__ = description
  names = flag_names(groups)
  _define_flags(names)
  app.run(lambda argv: _run_guarded(work, names, argv, takes_arguments))


def flag_names(groups):
  """The flags of some groups of settings, a list of names."""
  return [
    name
    for name, field in config_lib.FIELDS.items()
    if config_lib.GROUP_OF[name] in groups and 'help' in field.metadata
  ]


def print_next_commands(config):
  """Prints what a person does next with the checkpoints of a run."""
  defaults = config_lib.Config().flat(['data'])
  settings = config.flat(['data'])
  train_dir = shlex.quote(config.run.train_dir)
  data_flags = ''.join(
    ' --%s=%s' % (name, shlex.quote(settings[name]))
    for name in _DATA_FLAGS
    if settings[name] != defaults[name]
  )
  print(
    'To evaluate: %s --checkpoint_dir=%s%s'
    % (commands.command('cifar10_eval'), train_dir, data_flags)
  )
  print('To look at it: tensorboard --logdir=%s' % train_dir)


def _define_flags(names):
  for name in names:
    field = config_lib.FIELDS[name]
    limits = dict(field.metadata)
    text = limits.pop('help')
    define = _DEFINE_BY_TYPE[field.type]
    if 'choices' in limits:
      define = flags.DEFINE_enum
      limits = {'enum_values': limits['choices']}
    # --help lists them as the program's own, wherever they are defined.
    define(
      name,
      default=field.default,
      help=text,
      module_name=sys.argv[0],
      **limits,
    )


def _summary(error):
  """The message of a tf.errors.OpError in one line.

  TensorFlow 2 begins with the fact of an error and the name of the node.
  """
  lines = error.message.splitlines()
  nodes = [i for i, line in enumerate(lines) if line.startswith('Node:')]
  return lines[nodes[-1] + 1] if nodes else lines[0]


def _config(names):
  """The Config from the flags and from the run in --checkpoint_dir."""
  config = config_lib.Config.of(
    **{name: flags.FLAGS[name].value for name in names}
  )
  if 'checkpoint_dir' not in names:
    return config
  saved = config_lib.load(config.run_dir)
  if saved is None:
    return config
  of_run = saved.flat(['data', 'model'])
  given = [name for name in names if flags.FLAGS[name].present]
  state = run_state.load(config.run_dir)
  return config.replace(
    classes=state.classes if state else (),
    **{n: of_run[n] for n in _SETTINGS_OF_RUN if n not in given},
  )


def _run_guarded(work, names, argv, takes_arguments=False):
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
    config = _config(names)
    session_settings.start_threads(config.session)
    # What a program answers to its arguments is alone on standard output.
    notices = sys.stderr if takes_arguments else sys.stdout
    with contextlib.redirect_stdout(notices):
      session_settings.warn_of_slow_precision(
        config.session.precision, config.inference.eval_device == 'gpu'
      )
    if takes_arguments:
      work(config, argv[1:])
    else:
      work(config)
  except (UserError, OSError) as error:
    return fail(error)
  except _ENVIRONMENT_ERRORS as error:
    return fail(_summary(error))
  except KeyboardInterrupt:
    fail('interrupted')
    return 130  # As a shell reports death by SIGINT.
  return 0
