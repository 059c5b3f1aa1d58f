"""What the programs share: flags to Settings, errors to one line."""

import contextlib
import dataclasses
import os
import platform
import sys
from typing import Optional

from absl import app
from absl import flags
import tensorflow.compat.v1 as tf

import cifar10
from cifar10 import cifar10 as tutorial
from cifar10 import settings as settings_lib
from cifar10 import zoo
from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.run import combinations
from cifar10.run import recipes
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
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

# The programs to name to those who give a flag to another one, and groups that
# they take.
_GROUPS_OF = {
  'cifar10_train': TRAINER_GROUPS,
  'cifar10_multi_gpu_train': ('towers',),
  'cifar10_distributed_train': ('cluster',),
  'cifar10_pretrain': ('pretraining',),
  'cifar10_eval': ('checkpoint', 'ensemble', 'evaluation', 'inference'),
  'cifar10_predict': ('answers', 'prediction'),
  'cifar10_export': ('export',),
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
  """Runs a program: reads the flags, calls `work(settings)`, and exits.

  The status is that of `console.guarded`: a mistake of the user or a fault of
  the machine is reported in one line, without a traceback.

  A program with `--checkpoint_dir` takes the data set and the model from the
  run there, if it has saved its settings, except what is given as flags.

  Args:
    work: function of a settings.Settings.
    groups: names of the groups of settings that are the flags.
    description: what `--help` prints first.
    takes_arguments: whether arguments that are not flags are allowed; `work`
      gets the list of them after the settings.
    has_model: whether, without --checkpoint_dir and without a run at its
      default, the model that comes with the package is used.
    **defaults: defaults of this program for some flags, by name.
  """
  console.open_streams(answers=takes_arguments)
  if '--version' in sys.argv[1:]:
    print(_version())
    return
  sys.modules['__main__'].__doc__ = description
  names = settings_lib.flag_names(*groups)
  _define_flags(names, defaults)
  app.run(
    lambda argv: _run_guarded(work, names, argv, takes_arguments, has_model),
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
    hint = 'see --help'
    for program, groups in _GROUPS_OF.items():
      if error.flagname in settings_lib.flag_names(*groups):
        hint = '%s has it' % program
    sys.exit(console.fail('there is no flag --%s; %s' % (error.flagname, hint)))
  except flags.Error as error:
    sys.exit(console.fail(str(error).replace('flag --', '--', 1)))


def _define_flags(names, defaults):
  """Defines flags, with the defaults of the program for some."""
  for name in cifar10.TUTORIAL_FLAGS:  # Those of older programs.
    delattr(flags.FLAGS, name)
  constants = vars(tutorial)
  for name in names:
    field = settings_lib.FIELDS[name]
    about = field.metadata
    default = defaults.get(
      name, constants.get(about['constant'], field.default)
    )
    define, limits = _DEFINE_BY_TYPE[field.type], {}
    if 'choices' in about:
      define, limits = flags.DEFINE_enum, {'enum_values': about['choices']}
    elif 'least' in about:
      limits = {'lower_bound': about['least'], 'upper_bound': about['most']}
    if name == 'checkpoint_dir' and 'ensemble' in names:
      define = flags.DEFINE_multi_string
    text = about['help']
    define(
      name,
      default=default,
      help=text % constants if '%(' in text else text,
      # --help lists it as the program's own.
      module_name=sys.argv[0],
      **limits,
    )


def _settings(names, has_model):
  """The Settings from the flags and from the runs in --checkpoint_dir."""
  values = {name: flags.FLAGS[name].value for name in names}
  for name, value in values.items():
    if not config.is_finite(value):
      raise UserError('--%s=%s: expected an ordinary number' % (name, value))
  given = frozenset(name for name in names if flags.FLAGS[name].present)
  for name in settings_lib.with_policy('constant'):
    if name in values and name not in given:
      values[name] = None
  if 'recipe' in names:
    values = recipes.applied(values, given)
  if has_model:
    values['checkpoint_dir'] = _found_or_pretrained(values, given)
  _check_paths(values)
  folders = values.pop('checkpoint_dir', None)
  settings = Settings(given=given, **values)
  if folders is None:
    return settings
  if not isinstance(folders, list):
    return _with_settings_of_run(settings, folders)
  networks = [_with_settings_of_run(settings, folder) for folder in folders]
  if len(networks) == 1:
    return networks[0]
  return dataclasses.replace(networks[0], networks=tuple(networks))


def _check_paths(values):
  """Checks the paths among the values of flags.

  Raises:
    UserError: one cannot be used.
  """
  holders = settings_lib.with_policy('holds_checkpoints')
  for name in set(settings_lib.with_policy('is_path')) & set(values):
    found = values[name]
    for text in found if isinstance(found, list) else [found]:
      may_be_model = name in holders and name != 'train_dir'
      path = zoo.directory(text, '--' + name) if may_be_model else text
      is_export = name == 'checkpoint_dir' and predictions.is_export(path)
      paths.check(path, '--' + name, name in holders and not is_export)


def _found_or_pretrained(values, given):
  """The --checkpoint_dir, or the model of the package if there is no run."""
  folders = values['checkpoint_dir']
  default = settings_lib.FIELDS['checkpoint_dir'].default
  asks = 'checkpoint_dir' in given or values.get('checkpoint')
  if asks or (os.path.isdir(default) and os.listdir(default)):
    return folders
  print(
    'No run in %s: this is %s, a model that comes with the package.'
    % (default, zoo.DEFAULT),
    file=sys.stderr,
  )
  is_list = isinstance(folders, list)
  return [zoo.DEFAULT] if is_list else zoo.DEFAULT


def _with_settings_of_run(settings, folder):
  """Settings with what the run in a --checkpoint_dir knows about its model.

  Flags that are given take precedence.
  """
  settings = dataclasses.replace(
    settings, checkpoint_dir=zoo.directory(folder, '--checkpoint_dir')
  )
  model = zoo.directory(settings.checkpoint, '--checkpoint')
  if model != settings.checkpoint:
    settings = dataclasses.replace(settings, checkpoint=checkpoints.find(model))
  saved = config.load(settings.run_dir)
  if saved is None:
    return settings
  state = run_state.load(settings.run_dir)
  # The regularizer is part of the loss that an evaluation shows.
  of_run = saved.of_groups('data', 'model', 'regularization')
  of_run.update(run_state.trained_on(state, saved))
  return dataclasses.replace(
    settings, **{n: of_run[n] for n in of_run if n not in settings.given}
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
    settings = _settings(names, has_model)
    if 'optimizer' in names:
      with combinations.naming_recipe(settings):
        combinations.check(settings)
    session_settings.start_threads(settings)
    # What a program answers to its arguments is alone on standard output.
    answers = takes_arguments or settings.json
    if settings.json:
      console.open_streams(answers=True)
    notices = sys.stderr if answers else sys.stdout
    with contextlib.redirect_stdout(notices):
      session_settings.warn_of_slow_precision(
        settings.precision, settings.eval_device == 'gpu'
      )
    if takes_arguments:
      work(settings, argv[1:])
    else:
      work(settings)

  return console.guarded(configured_work)
