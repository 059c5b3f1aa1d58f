"""What the programs share: flags to Config, errors to one line."""

import contextlib
import dataclasses
import os
import platform
import shlex
import sys
from typing import Optional

from absl import app
from absl import flags
import tensorflow.compat.v1 as tf

import cifar10
from cifar10 import config as config_lib
from cifar10 import recipes
from cifar10.errors import UserError
from cifar10.serving import predictions
from cifar10.training import checkpoints
from cifar10.training import combinations
from cifar10.training import pretrained
from cifar10.training import run_state
from cifar10.util import commands
from cifar10.util import console
from cifar10.util import paths
from cifar10.util import session_settings

# The groups of settings that every trainer takes.
TRAINER_GROUPS = (
  'data',
  'download',
  'recipe',
  'input',
  'pipeline',
  'augmentation',
  'model',
  'initialization',
  'regularization',
  'optimization',
  'optimizer',
  'schedule',
  'transfer',
  'validation',
  'run',
  'metrics',
  'session',
)

# Those of pretraining, on one device and without labels.
PRETRAINER_GROUPS = tuple(
  group
  for group in TRAINER_GROUPS
  if group not in ('recipe', 'transfer', 'validation')
) + ('pretraining',)

# A program that takes a group of settings, for those who give its flags to
# another one.
_PROGRAM_WITH = {
  'recipe': 'cifar10_train',
  'pipeline': 'cifar10_train',
  'augmentation': 'cifar10_train',
  'initialization': 'cifar10_train',
  'regularization': 'cifar10_train',
  'optimization': 'cifar10_train',
  'optimizer': 'cifar10_train',
  'schedule': 'cifar10_train',
  'pretraining': 'cifar10_pretrain',
  'transfer': 'cifar10_train',
  'validation': 'cifar10_train',
  'run': 'cifar10_train',
  'towers': 'cifar10_multi_gpu_train',
  'cluster': 'cifar10_distributed_train',
  'session': 'cifar10_train',
  'input': 'cifar10_train',
  'metrics': 'cifar10_train',
  'download': 'cifar10_train',
  'inference': 'cifar10_eval',
  'checkpoint': 'cifar10_eval',
  'evaluation': 'cifar10_eval',
  'ensemble': 'cifar10_eval',
  'answers': 'cifar10_predict',
  'prediction': 'cifar10_predict',
  'export': 'cifar10_export',
}

_DEFINE_BY_TYPE = {
  bool: flags.DEFINE_boolean,
  int: flags.DEFINE_integer,
  Optional[int]: flags.DEFINE_integer,
  float: flags.DEFINE_float,
  Optional[float]: flags.DEFINE_float,
  str: flags.DEFINE_string,
}


def run(
  work,
  groups,
  description,
  takes_arguments=False,
  has_model=False,
  **defaults,
):
  """Runs a program: reads the flags, calls `work(config)`, and exits.

  The status is that of `console.guarded`: a mistake of the user or a fault of
  the machine is reported in one line, without a traceback.

  A program with `--checkpoint_dir` takes the data set and the model from the
  run there, if it has saved its settings, except what is given as flags.

  Args:
    work: function of a config.Config.
    groups: names of the groups of Config whose fields are the flags.
    description: what `--help` prints first.
    takes_arguments: whether arguments that are not flags are allowed; `work`
      gets the list of them after the Config.
    has_model: whether, without --checkpoint_dir and without a run at its
      default, the model that comes with the package is used.
    **defaults: defaults of this program for some flags, by name.
  """
  console.open_streams(answers=takes_arguments)
  if '--version' in sys.argv[1:]:
    print(_version())
    return
  sys.modules['__main__'].__doc__ = description
  names = flag_names(groups)
  _define_flags(names, defaults)
  app.run(
    lambda argv: console.leave(
      _run_guarded(work, names, argv, takes_arguments, has_model)
    ),
    argv=['--help' if a == '-h' else a for a in sys.argv],
    flags_parser=_parse,
  )


def _version():
  return 'cifar10-tutorial %s, TensorFlow %s, Python %s' % (
    cifar10.__version__,
    tf.__version__,
    platform.python_version(),
  )


def _parse(argv):
  """The arguments that are not flags; ends the program if a flag is wrong."""
  try:
    return flags.FLAGS(argv)
  except flags.UnrecognizedFlagError as error:
    name = error.flagname
    group = config_lib.GROUP_OF.get(name)
    hint = 'see --help'
    # Some settings are not flags.
    if group in _PROGRAM_WITH and name in flag_names([group]):
      hint = '%s has it' % _PROGRAM_WITH[group]
    sys.exit(console.fail('there is no flag --%s; %s' % (name, hint)))
  except flags.Error as error:
    sys.exit(console.fail(str(error).replace('flag --', '--', 1)))


def flag_names(groups):
  """The flags of some groups of settings, a list of names."""
  return [
    name
    for name, field in config_lib.FIELDS.items()
    if config_lib.GROUP_OF[name] in groups and 'help' in field.metadata
  ]


def print_next_commands(config):
  """Prints what a person does next with the checkpoints of a run."""
  train_dir = shlex.quote(config.run.train_dir)
  print(
    'To evaluate: %s --checkpoint_dir=%s%s'
    % (
      commands.command('cifar10_eval'),
      train_dir,
      changed_flags(config, ['data']),
    )
  )
  print(
    'TensorBoard: tensorboard --logdir_spec=train:%s,eval:%s   (%s)'
    % (train_dir, config.evaluation.eval_dir, commands.install('tensorboard'))
  )


def changed_flags(config, groups):
  """The settings of some groups that are not the defaults, for a shell.

  Args:
    config: config.Config.
    groups: names of its groups.

  Returns:
    str that begins with a space, or is empty.
  """
  defaults, settings = (c.flat(groups) for c in (config_lib.Config(), config))
  return ''.join(
    ' --%s=%s' % (name, shlex.quote(str(settings[name])))
    for name in flag_names(groups)
    if settings[name] != defaults[name]
  )


def _define_flags(names, defaults):
  for name in names:
    field = config_lib.FIELDS[name]
    about = field.metadata
    limits = {n: about[n] for n in about if n.endswith('_bound')}
    define = _DEFINE_BY_TYPE[field.type]
    if 'choices' in about:
      define = flags.DEFINE_enum
      limits = {'enum_values': about['choices']}
    if name == 'checkpoint_dir' and 'ensemble' in names:
      define = flags.DEFINE_multi_string
    define(
      name,
      default=defaults.get(name, field.default),
      help=about['help'],
      # --help lists it as the program's own.
      module_name=sys.argv[0],
      **limits,
    )


def _config(names, has_model):
  """The Config from the flags and from the runs in --checkpoint_dir."""
  values = {name: flags.FLAGS[name].value for name in names}
  for name, value in values.items():
    if not config_lib.is_finite(value):
      raise UserError('--%s=%s: expected an ordinary number' % (name, value))
  given = frozenset(name for name in names if flags.FLAGS[name].present)
  if 'recipe' in names:
    values = recipes.applied(values, given)
  if has_model:
    values['checkpoint_dir'] = _found_or_pretrained(values, given)
  _check_paths(values)
  folders = values.pop('checkpoint_dir', None)
  config = dataclasses.replace(config_lib.Config.of(**values), given=given)
  if folders is None:
    return config
  if not isinstance(folders, list):
    return _with_settings_of_run(config, folders)
  networks = [_with_settings_of_run(config, folder) for folder in folders]
  if len(networks) == 1:
    return networks[0]
  return networks[0].replace(networks=tuple(networks))


def _check_paths(values):
  """Checks the paths among the values of flags, and replaces them.

  Raises:
    UserError: one cannot be used.
  """
  holders = config_lib.Config.policy('holds_checkpoints')
  for name in set(config_lib.Config.policy('is_path')) & set(values):
    holds_checkpoints, found = name in holders, values[name]
    if isinstance(found, list):
      found = [_checked_path(name, text, holds_checkpoints) for text in found]
    else:
      found = _checked_path(name, found, holds_checkpoints)
    values[name] = found


def _checked_path(name, text, holds_checkpoints):
  """The value of the flag `name`, a path or the name of a model."""
  flag = '--' + name
  if holds_checkpoints and name != 'train_dir':
    path = pretrained.directory(text, flag)
    if path != text:
      paths.check(path, flag, holds_checkpoints)
      return text
  is_export = name == 'checkpoint_dir' and predictions.is_export(text)
  return paths.check(text, flag, holds_checkpoints and not is_export)


def _found_or_pretrained(values, given):
  """The --checkpoint_dir, or the model of the package if there is no run."""
  folders = values['checkpoint_dir']
  default = config_lib.FIELDS['checkpoint_dir'].default
  asks = 'checkpoint_dir' in given or values.get('checkpoint')
  if asks or (os.path.isdir(default) and os.listdir(default)):
    return folders
  print(
    'No run in %s: this is %s, a model that comes with the package.'
    % (default, pretrained.DEFAULT),
    file=sys.stderr,
  )
  is_list = isinstance(folders, list)
  return [pretrained.DEFAULT] if is_list else pretrained.DEFAULT


def _with_settings_of_run(config, folder):
  """A Config with what the run in a --checkpoint_dir knows about its model.

  Flags that are given take precedence.
  """
  config = config.replace(
    checkpoint_dir=pretrained.directory(folder, '--checkpoint_dir')
  )
  model = pretrained.directory(config.export.checkpoint, '--checkpoint')
  if model != config.export.checkpoint:
    config = config.replace(checkpoint=checkpoints.find(model))
  saved = config_lib.load(config.run_dir)
  if saved is None:
    return config
  # The regularizer is part of the loss that an evaluation shows.
  of_run = saved.flat(['data', 'model', 'regularization'])
  of_run.update(
    run_state.trained_on(run_state.load(config.run_dir), saved.data)
  )
  return config.replace(
    **{name: of_run[name] for name in of_run if name not in config.given}
  )


def _run_guarded(work, names, argv, takes_arguments=False, has_model=False):
  """Calls `work`; returns the exit status."""
  if argv[1:] and not takes_arguments:
    return console.fail(
      'unexpected argument %r; a flag is written --name=value, '
      'a switch --name or --noname' % argv[1]
    )
  # absl turns TensorFlow's INFO lines on, and prints them a second time.
  tf.logging.set_verbosity(tf.logging.WARN)
  tf.get_logger().propagate = False

  def configured_work():
    config = _config(names, has_model)
    if 'optimizer' in names:
      with combinations.naming_recipe(config):
        combinations.check(config)
    session_settings.start_threads(config.session)
    # What a program answers to its arguments is alone on standard output.
    answers = takes_arguments or config.answers.json
    if config.answers.json:
      console.open_streams(answers=True)
    notices = sys.stderr if answers else sys.stdout
    with contextlib.redirect_stdout(notices):
      session_settings.warn_of_slow_precision(
        config.session.precision, config.inference.eval_device == 'gpu'
      )
    if takes_arguments:
      work(config, argv[1:])
    else:
      work(config)

  return console.guarded(configured_work)
