"""Combinations of settings that make no sense, found before a run begins."""

import contextlib
import re

from cifar10 import settings as settings_lib
from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.nets import airbench
from cifar10.nets import convnet
from cifar10.optim import schedules


def check(settings):
  """Checks the settings of a training run.

  Raises:
    UserError: they contradict one another, or one has no effect.
  """
  distortions.names(settings.augment)
  convnet.hidden_layers(settings.hidden_layers)
  airbench.group_filters(settings.group_filters)
  if settings.schedule == 'piecewise':
    schedules.pieces(settings)
  _check(settings, _without_effect, _of_model, _of_network, _of_columns,
         _of_reuse, _of_training)


def check_network(settings):
  """Checks the settings that a trained network is built with.

  Raises:
    UserError: they contradict one another.
  """
  _check(settings, _of_network, _of_columns)


def _check(settings, *kinds):
  for problems in kinds:
    for problem in problems(settings):
      raise UserError(problem)


@contextlib.contextmanager
def naming_recipe(settings):
  """Adds the recipe to an error about settings, which may come from it."""
  try:
    yield
  except UserError as error:
    if settings.recipe == 'tutorial':
      raise
    raise UserError(f'{error} (with --recipe={settings.recipe})') from error


def has_effect(needs, values):
  """True if a setting has an effect together with `values`, a dict by names.

  `needs` is its policy of that name, see settings/field.py.
  """
  if needs is None:
    return True
  owner, choices = needs
  if choices is None:
    return bool(values[owner])
  # --augment names several.
  return any(part.strip() in choices for part in values[owner].split(','))


def _without_effect(settings):
  """Yields a message for each setting that was given without an effect."""
  values = settings.values(settings_lib.with_policy('help'))
  for name, needs in settings_lib.with_policy('needs').items():
    if not settings.is_set(name) or has_effect(needs, values):
      continue
    owner, choices = needs
    problem = f'--{name}={values[name]} has no effect'
    if choices is None:
      yield f'{problem} without --{owner}'
    elif owner not in settings_lib.with_policy('choices'):
      yield f'{problem} without {choices[0]} in --{owner}'
    else:
      suited = ' or '.join(filter(None, [', '.join(choices[:-1]), choices[-1]]))
      yield f'{problem} with --{owner}={values[owner]}; it needs {suited}'


def _of_model(settings):
  """Yields the problems of distortions and of layers, as messages."""
  flag = f'--augment={settings.augment}'
  distorted = distortions.names(settings.augment)
  if 'alternating_flip' in distorted and 'flip' in distorted:
    yield f'{flag}: flip and alternating_flip; leave out one of them'
  if 'alternating_flip' in distorted and settings.input != 'preloaded':
    yield (f'{flag}: alternating_flip remembers each image, which needs '
           '--input=preloaded')
  if settings.top_layers == 'local' and settings.is_set('hidden_layers'):
    yield (f'--hidden_layers={settings.hidden_layers} has no effect with '
           '--top_layers=local; it needs full')
  if settings.dropout and not settings.hidden_layers:
    yield (f'--dropout={settings.dropout:g} has no effect without a layer in '
           '--hidden_layers')
  has_dense = settings.hidden_layers and settings.top_layers == 'full'
  is_tutorial = settings.network == 'tutorial'
  # Layers with pixels have these to take a mean over.
  if (settings.batch_size == 1 and settings.normalization == 'batch' and
      is_tutorial and (has_dense or settings.normalize_logits)):
    yield ('--batch_size=1: --normalization=batch subtracts the mean of the '
           'batch, which leaves nothing of one image in a fully connected '
           'layer; expected at least 2')


def _of_network(settings):
  """Yields what does not go with another network, as messages."""
  if settings.network == 'tutorial':
    return
  flag = f'--network={settings.network}'
  if settings.normalization != 'batch':
    yield (f'{flag} is made with batch normalization; found --normalization='
           f'{settings.normalization}, expected --normalization=batch')
  names = 'cache_frozen', 'normalize_logits', 'top_layers'
  for name, value in settings.values(names).items():
    if value != settings_lib.FIELDS[name].default:
      yield (f'--{name}={value} is for the layers of the tutorial, not for '
             f'{flag}')
  if settings.partition_ps:
    yield f'{flag} needs variables in one place; leave out --partition_ps'


def _of_columns(settings):
  """Yields what does not go with layers that are divided, as messages."""
  flag = f'--columns={settings.columns}'
  if settings.columns == 1:
    flag = f'--model_parallelism={settings.model_parallelism}'
    if settings.model_parallelism != 'filters':
      return
  unsuited = {
      'network=airbench': settings.network == 'airbench',
      'top_layers=local': settings.top_layers == 'local',
      'normalization=batch': settings.normalization == 'batch',
      'activation=prelu': settings.activation == 'prelu',
      f'cache_frozen={settings.cache_frozen}': settings.cache_frozen
  }
  for setting in filter(unsuited.get, unsuited):
    yield (f"{flag} divides the weights and biases of the tutorial's layers "
           f'only; leave out --{setting}')


def _of_reuse(settings):
  """Yields the problems of validations, patterns and cached layers."""
  if not settings.validation_examples:
    needed = ('needs images to validate on, which cifar10_train holds out with '
              '--validation_examples=5000')
    if settings.schedule == 'performance':
      yield f'--schedule=performance {needed}'
    if settings.early_stopping:
      yield f'--early_stopping {needed}'
  for name, pattern in settings.values(('init_scope', 'freeze')).items():
    try:
      re.compile(pattern)
    except re.error as error:
      yield (f'--{name}={pattern}: {error}; expected a regular expression, '
             'such as conv[12]')
  if settings.cache_frozen:
    flag = f'--cache_frozen={settings.cache_frozen}'
    if settings.input != 'queues':
      yield (f'{flag} reads what it keeps through queues; found '
             f'--input={settings.input}, expected --input=queues')
    if not settings.freeze:
      yield (
          f'{flag} has no effect without --freeze; --freeze=conv freezes the '
          'convolutional layers')
    drawn = {
        f'--input_dropout={settings.input_dropout:g}': settings.input_dropout,
        '--activation=rrelu': settings.activation == 'rrelu'
    }
    for other in filter(drawn.get, drawn):
      yield (f'{flag} keeps the outputs of layers, and {other} changes them in '
             'each step; leave one of the two out')


def _of_training(settings):
  """Yields the problems of SELU, partitioned variables and optimizers."""
  if settings.activation == 'selu':
    names = ('input_dropout', 'conv_dropout', 'dropout', 'max_norm')
    for name, value in settings.values(names).items():
      if value:
        yield (
            '--activation=selu keeps the mean and variance of its outputs, and '
            f'--{name}={value:g} would change them; leave one of the two out')
    if settings.normalization != 'none' or settings.initializer != 'lecun':
      print('WARNING: --activation=selu normalizes by itself: it is meant for '
            '--normalization=none and --initializer=lecun.')
  if settings.partition_ps:
    names = ('max_norm', 'validation_examples')
    for name, value in settings.values(names).items():
      if value:
        yield (f'--{name}={value:g} needs variables in one place; leave out '
               '--partition_ps')
  if settings.optimizer == 'muon':
    unsuited = {
        'partition_ps': settings.partition_ps,
        'hold_zeros': settings.hold_zeros,
        'nosync': not settings.sync,
        'max_norm': settings.max_norm,
        'top_layers=local': settings.top_layers == 'local'
    }
    for setting in filter(unsuited.get, unsuited):
      yield ('--optimizer=muon moves all weights of a layer together and keeps '
             f'their norm; leave out --{setting}')
