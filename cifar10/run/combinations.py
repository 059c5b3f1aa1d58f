"""Refuses combinations of settings that make no sense, before a run begins."""

import contextlib
import re

from cifar10 import cifar10_input
from cifar10 import settings as settings_lib
from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.nets import airbench
from cifar10.nets import convnet
from cifar10.optim import schedules

_DIVIDES = "divides the weights and biases of the tutorial's layers only"
_NOT_DIVIDED = ('network=airbench', 'top_layers=local', 'normalization=batch',
                'activation=prelu', 'cache_frozen')

# A setting, a reason, and the settings that it does not go with. A name stands
# for any value but the default, so 'sync' for --nosync; name=value,value for
# one of these values.
_EXCLUDED = (
    ('network=airbench', 'is made with --normalization=batch',
     ('normalization=lrn,none',)),
    ('network=airbench', "has none of the tutorial's layers",
     ('cache_frozen', 'normalize_logits', 'top_layers')),
    ('columns', _DIVIDES, _NOT_DIVIDED),
    ('model_parallelism=filters', _DIVIDES, _NOT_DIVIDED),
    ('partition_ps', 'leaves no variable in one place',
     ('network=airbench', 'clip_norm_each', 'max_norm',
      'validation_examples')),
    ('cache_frozen', 'reads what it keeps through --input=queues',
     ('input=preloaded,tf_data',)),
    ('cache_frozen', 'keeps the outputs of layers, so they may not change',
     ('input_dropout', 'activation=rrelu')),
    ('activation=selu', 'keeps the mean and variance of its outputs',
     ('input_dropout', 'conv_dropout', 'dropout', 'max_norm')),
    ('optimizer=muon', 'moves all weights of a layer and keeps their norm',
     ('partition_ps', 'hold_zeros', 'sync', 'max_norm', 'top_layers=local'))
)  # yapf: disable


def check(settings):
  """Raises UserError if settings of a run contradict or have no effect."""
  distortions.names(settings.augment)
  convnet.hidden_layers(settings.hidden_layers)
  airbench.group_filters(settings.group_filters)
  if settings.schedule == 'piecewise':
    schedules.boundaries_and_rates(settings)
  _check_effect(settings, settings_lib.FIELDS)
  _check_layers(settings)
  _check_training(settings)
  check_use(settings)
  is_meant = (settings.normalization, settings.initializer) == ('none', 'lecun')
  if settings.activation == 'selu' and not is_meant:
    print('WARNING: --activation=selu normalizes by itself: it is meant for '
          '--normalization=none and --initializer=lecun.')


def check_use(settings):
  """As `check`, for a program that takes what is not a flag from a run.

  Of settings without effect, it refuses flags that name a data set.
  """
  of_data = settings.of_groups('data', 'download').keys() & settings.given
  _check_effect(settings, of_data)
  for setting, reason, excluded in _EXCLUDED:
    for other in excluded if _holds(settings, setting) else ():
      if _holds(settings, other):
        raise UserError(f'{_flag(settings, setting)} {reason}; it does not go '
                        f'with {_flag(settings, other)}')


def _holds(settings, text):
  """True if a text of `_EXCLUDED` is true of the settings."""
  name, _, values = text.partition('=')
  if values:
    return getattr(settings, name) in values.split(',')
  return settings.differs(name)


def _flag(settings, text):
  """The flag, with its value, of a text of `_EXCLUDED`."""
  name = text.partition('=')[0]
  value = getattr(settings, name)
  if isinstance(value, bool):
    return f'--{name}' if value else f'--no{name}'
  return f'--{name}={value}'


def check_with_data(settings, data):
  """Raises UserError if the images cannot be cropped or distorted like that."""
  distortions.check(settings, data.layout)
  with naming_recipe(settings):
    cifar10_input.crop_size(data.layout, settings.image_size)


@contextlib.contextmanager
def naming_recipe(settings):
  """Adds the recipe to an error about settings: they may come from it."""
  try:
    yield
  except UserError as error:
    if settings.recipe == 'tutorial':
      raise
    raise UserError(f'{error} (with --recipe={settings.recipe})') from error


def has_effect(needs, values):
  """True if a setting with the policy `needs` has an effect with `values`."""
  if needs is None:
    return True
  owner, choices = needs
  if choices is None:
    return bool(values[owner])
  # --augment lists several.
  return any(part.strip() in choices for part in values[owner].split(','))


def _check_effect(settings, names):
  """Raises UserError if one of some settings is set without effect."""
  values = settings.values(settings_lib.with_policy('help'))
  for name, needs in settings_lib.with_policy('needs').items():
    is_set = name in names and settings.is_set(name)
    if not is_set or has_effect(needs, values):
      continue
    owner, choices = needs
    problem = f'{_flag(settings, name)} has no effect'
    if choices is None:
      raise UserError(f'{problem} without --{owner}')
    if owner not in settings_lib.with_policy('choices'):
      raise UserError(f'{problem} without {choices[0]} in --{owner}')
    suited = ' or '.join(filter(None, [', '.join(choices[:-1]), choices[-1]]))
    raise UserError(
        f'{problem} with --{owner}={values[owner]}; it needs {suited}')


def _check_layers(settings):
  """Raises UserError for distortions and layers that do not go together."""
  flag = f'--augment={settings.augment}'
  distorted = distortions.names(settings.augment)
  if 'alternating_flip' in distorted:
    if 'flip' in distorted:
      raise UserError(
          f'{flag}: flip and alternating_flip; leave out one of them')
    if settings.input != 'preloaded':
      raise UserError(f'{flag}: alternating_flip remembers each image, which '
                      'needs --input=preloaded')
  if settings.top_layers == 'local' and settings.is_set('hidden_layers'):
    raise UserError(f'--hidden_layers={settings.hidden_layers} has no effect '
                    'with --top_layers=local; it needs full')
  if settings.dropout and not settings.hidden_layers:
    raise UserError(f'--dropout={settings.dropout:g} has no effect without a '
                    'layer in --hidden_layers')
  has_dense = settings.hidden_layers and settings.top_layers == 'full'
  # A layer with pixels takes the mean over these, too.
  if (settings.batch_size == 1 and settings.normalization == 'batch' and
      settings.network == 'tutorial' and
      (has_dense or settings.normalize_logits)):
    raise UserError(
        '--batch_size=1: --normalization=batch subtracts the mean of the '
        'batch, which leaves nothing of one image in a fully connected layer; '
        'expected at least 2')


def _check_training(settings):
  """Raises UserError if validations lack images, or a pattern is wrong."""
  for flag in 'schedule=performance', 'early_stopping':
    if _holds(settings, flag) and not settings.validation_examples:
      raise UserError(
          f'--{flag} needs images to validate on, which cifar10_train holds '
          'out with --validation_examples=5000')
  for name in 'init_scope', 'freeze':
    pattern = getattr(settings, name)
    try:
      re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
      raise UserError(f'--{name}={pattern}: {error}; expected a regular '
                      'expression, such as conv[12]') from error
