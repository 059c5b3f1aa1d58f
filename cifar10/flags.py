"""The command line of every program: flags to Settings, errors to one line."""

import contextlib
import dataclasses
import os
import platform
import re
import sys

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
from cifar10.util import files
from cifar10.util import paths
from cifar10.util import session_settings
from cifar10.util import tutorial_flags

# The groups of settings that every trainer takes.
TRAINER_GROUPS = ('data', 'download', 'recipe', 'input', 'pipeline',
                  'augmentation', 'model', 'initialization', 'regularization',
                  'optimization', 'optimizer', 'schedule', 'transfer',
                  'validation', 'running', 'metrics', 'session')

# Those of pretraining, on one device and without labels.
PRETRAINER_GROUPS = (*(group for group in TRAINER_GROUPS
                       if group not in ('recipe', 'transfer', 'validation')),
                     'pretraining')

# The groups of flags by program, to hint at if another program is given one.
_GROUPS_OF = {
    'cifar10_train': TRAINER_GROUPS,
    'cifar10_multi_gpu_train': ('towers',),
    'cifar10_distributed_train': ('cluster',),
    'cifar10_pretrain': ('pretraining',),
    'cifar10_eval': ('checkpoint', 'ensemble', 'evaluation', 'inference'),
    'cifar10_predict': ('answers', 'prediction'),
    'cifar10_export': ('export',)
}

# Flags of the published tutorial that are gone, and what took their place.
_GONE = {
    'use_fp16': '--precision=float16 took its place',
    'nouse_fp16': '--precision=float32, the default, took its place',
    'num_examples': 'cifar10_eval takes each image once'
}


def run(work, groups, description, takes_arguments=False, has_model=False,
        **defaults):
  """Runs a program: reads the flags, calls `work(settings)`, and exits.

  The status is that of `console.guarded`. A program with `--checkpoint_dir`
  takes the data set and the model from the run there, if it has saved its
  settings, except what is given as flags.

  Args:
    work: function of the Settings, and of the arguments if it takes some.
    groups: names of the groups of settings that are the flags.
    description: the beginning of the text of `--help`.
    takes_arguments: True to allow arguments that are not flags.
    has_model: True to use the model that comes with the package if there is no
      --checkpoint_dir, and no run at its default.
    **defaults: defaults of this program for some flags, by name.
  """
  console.open_streams(answers=takes_arguments)
  if '--version' in sys.argv[1:]:
    print(
        f'cifar10-tutorial {cifar10.__version__}, TensorFlow {tf.__version__}, '
        f'Python {platform.python_version()}')
    return
  sys.modules['__main__'].__doc__ = description
  names = settings_lib.flag_names(*groups)
  _define_flags(names, defaults)
  app.run(
      lambda argv: console.leave(
          _run_guarded(work, names, argv, takes_arguments, has_model)),
      argv=['--help' if a == '-h' else a for a in sys.argv],
      flags_parser=_parse)


def _parse(argv):
  """The arguments that are not flags; ends the program if a flag is wrong."""
  try:
    return flags.FLAGS(argv)
  except flags.UnrecognizedFlagError as error:
    name = error.flagname
    hint = _GONE.get(name, 'see --help')
    for program, groups in _GROUPS_OF.items():
      if name in settings_lib.flag_names(*groups):
        hint = f'{program} has it'
    sys.exit(console.fail(f'there is no flag --{name}; {hint}'))
  # A switch with a value, such as --noprogress=1, is a plain ValueError.
  except (flags.Error, ValueError) as error:
    message = str(error).replace('flag --', '--', 1)
    message = re.sub(r'\S+ is not (an? \w+ in the range)', r'expected \1',
                     message)
    # Python's words for text that is no number.
    message = re.sub(r'invalid literal for int\(\).*', 'expected an integer',
                     message)
    message = re.sub('could not convert string to float.*', 'expected a number',
                     message)
    sys.exit(console.fail(message))


def _define_flags(names, defaults):
  """Defines flags, with the defaults of the program for some."""
  assigned = {}  # By a program that calls `main`.
  for name in tutorial_flags.DEFAULTS:  # Those of old programs.
    if not flags.FLAGS[name].using_default_value:
      assigned[name] = flags.FLAGS[name].value
    delattr(flags.FLAGS, name)
  constants = vars(tutorial)
  for name in names:
    field = settings_lib.FIELDS[name]
    about = field.metadata
    define, limits = tutorial_flags.DEFINE[config.types(field)[0]], {}
    if 'choices' in about:
      define, limits = flags.DEFINE_enum, {'enum_values': about['choices']}
    elif 'least' in about:
      limits = {'lower_bound': about['least'], 'upper_bound': about['most']}
    if name == 'checkpoint_dir' and 'ensemble' in names:
      define = flags.DEFINE_multi_string
    default = constants.get(about['constant'], field.default)
    text = about['help']
    define(
        name,
        default=defaults.get(name, default),
        help=text % constants if '%(' in text else text,
        module_name=sys.argv[0],  # --help lists it as the program's own.
        **limits)
  for name in assigned.keys() & set(names):
    setattr(flags.FLAGS, name, assigned[name])


def _settings(names, has_model):
  """The Settings from the flags and from the runs in --checkpoint_dir."""
  values = {name: flags.FLAGS[name].value for name in names}
  for name, value in values.items():
    if not config.is_finite(value):
      raise UserError(f'--{name}={value}: expected an ordinary number')
  given = frozenset(
      name for name in names if not flags.FLAGS[name].using_default_value)
  for name in settings_lib.with_policy('constant'):
    if name in values and name not in given:
      values[name] = None
  if 'recipe' in names:
    values = recipes.applied(values, given)
  folders = values.pop('checkpoint_dir', [])
  folders = folders if isinstance(folders, list) else [folders]
  asked = values.get('checkpoint', '')
  if 'checkpoint_dir' not in given and not asked and has_model:
    folders = [_default_model(folder) for folder in folders]
  elif 'checkpoint_dir' not in given and (not asked or asked.isdecimal()):
    for folder in folders:
      paths.refuse_of_another(folder, '--checkpoint_dir')
  folders = [_checked_path('checkpoint_dir', folder) for folder in folders]
  for name in settings_lib.with_policy('is_path').keys() & values.keys():
    if values[name] or settings_lib.FIELDS[name].default:
      values[name] = _checked_path(name, values[name])
  paths.refuse_defaults(values, given)
  settings = Settings(given=given, **values)
  if not folders:
    return settings
  runs = tuple(_with_settings_of_run(settings, folder) for folder in folders)
  return dataclasses.replace(runs[0], networks=runs if runs[1:] else ())


def _checked_path(name, text):
  """The value of the flag `name`, a path or the name of a model."""
  flag = '--' + name
  holds_checkpoints = name in settings_lib.with_policy('holds_checkpoints')
  if holds_checkpoints and text.startswith(zoo.PREFIX):
    if name == 'train_dir':
      raise UserError(f'{flag}={text}: is the name of a model that comes with '
                      f'the package; expected a folder, such as ./{text}')
    zoo.directory(text, flag)
    return text
  is_export = name == 'checkpoint_dir' and predictions.is_export(text)
  return paths.check(text, flag, holds_checkpoints and not is_export)


def _default_model(folder):
  """The default of --checkpoint_dir; the package's model if no run is there."""
  if files.is_of_another(folder):
    problem = f'{folder} belongs to another user'
  elif os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
    problem = f'{folder} cannot be read'
  elif not os.path.isdir(folder) or not os.listdir(folder):
    problem = f'No run in {folder}'
  else:
    return folder
  print(
      f'{problem}: this is {zoo.DEFAULT}, a model that comes with the package.',
      file=sys.stderr)
  return zoo.DEFAULT


def _with_settings_of_run(settings, folder):
  """Takes settings of data and model, unless given, from a --checkpoint_dir."""
  wanted = settings.checkpoint
  if wanted and not wanted.isdecimal() and 'checkpoint_dir' in settings.given:
    found, named = map(os.path.realpath, (os.path.dirname(wanted), folder))
    if found != named:
      raise UserError(f'--checkpoint={wanted}: is not in --checkpoint_dir='
                      f'{folder}; leave one of them out')
  if wanted.startswith(zoo.PREFIX):
    wanted = checkpoints.find(zoo.directory(wanted, '--checkpoint'))
  folder = zoo.directory(folder, '--checkpoint_dir')
  settings = dataclasses.replace(settings, checkpoint_dir=folder,
                                 checkpoint=wanted)
  saved = config.load(settings.run_dir)
  if saved is None:
    return settings
  # The regularizer is part of the loss that an evaluation shows.
  of_run = saved.of_groups('data', 'model', 'regularization')
  of_run.update(run_state.trained_on(run_state.load(settings.run_dir), saved))
  return dataclasses.replace(
      settings, **{n: of_run[n] for n in of_run if n not in settings.given})


def _run_guarded(work, names, argv, takes_arguments=False, has_model=False):
  """Calls `work`; returns the exit status."""
  if argv[1:] and not takes_arguments:
    return console.fail(
        f'unexpected argument {argv[1]!r}; a flag is written --name=value, '
        'a switch --name or --noname')
  # absl turns TensorFlow's INFO lines on, and prints them a second time.
  tf.logging.set_verbosity(tf.logging.WARN)
  tf.get_logger().propagate = False

  def configured_work():
    settings = _settings(names, has_model)
    is_trainer = 'optimizer' in names
    check = combinations.check if is_trainer else combinations.check_use
    with combinations.naming_recipe(settings):
      for network in settings.networks or [settings]:
        check(network)
    session_settings.start_threads(settings)
    # What a program answers to its arguments is alone on standard output.
    answers = takes_arguments or settings.json
    if settings.json:
      console.open_streams(answers=True)
    with contextlib.redirect_stdout(sys.stderr if answers else sys.stdout):
      session_settings.warn_of_slow_type(settings.compute_type,
                                         settings.eval_device == 'gpu')
    work(settings, *([argv[1:]] if takes_arguments else []))

  return console.guarded(configured_work)
