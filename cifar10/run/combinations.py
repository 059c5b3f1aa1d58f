"""Combinations of settings that make no sense, found before a run begins."""

import contextlib
import re

from cifar10 import settings as settings_lib
from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.optim import schedules


def check(settings):
  """Checks the settings of a training run.

  Raises:
    UserError: they contradict one another, or one has no effect.
  """
  distortions.names(settings.augment)
  if settings.schedule == 'piecewise':
    schedules.pieces(settings)
  _check_effects(settings)
  _check_augmentation(settings)
  _check_network(settings)
  _check_validation(settings)
  _check_transfer(settings)
  _check_cache(settings)
  _check_selu(settings)
  _check_partition(settings)
  _check_optimizer(settings)


@contextlib.contextmanager
def naming_recipe(settings):
  """Adds the recipe to an error about settings, which may come from it."""
  try:
    yield
  except UserError as error:
    if settings.recipe == 'tutorial':
      raise
    raise UserError(
      '%s (with --recipe=%s)' % (error, settings.recipe)
    ) from error


def _check_selu(settings):
  """Checks that nothing undoes what SELU does."""
  if settings.activation == 'selu':
    for name in ('input_dropout', 'conv_dropout', 'dropout', 'max_norm'):
      if getattr(settings, name):
        raise UserError(
          '--activation=selu keeps the mean and variance of its outputs, and '
          '--%s=%g would change them; leave one of the two out'
          % (name, getattr(settings, name))
        )
    if settings.normalization != 'none' or settings.initializer != 'lecun':
      print(
        'WARNING: --activation=selu normalizes by itself: it is meant for '
        '--normalization=none and --initializer=lecun.'
      )


def _check_partition(settings):
  """Checks that nothing needs whole variables if they are split."""
  if settings.partition_ps:
    for name, value in (
      ('max_norm', settings.max_norm),
      ('validation_examples', settings.validation_examples),
    ):
      if value:
        raise UserError(
          '--%s=%g needs variables in one place; leave out --partition_ps'
          % (name, value)
        )


def _check_optimizer(settings):
  """Checks what an optimizer does not go together with."""
  if settings.optimizer == 'muon':
    for setting, value in (
      ('partition_ps', settings.partition_ps),
      ('hold_zeros', settings.hold_zeros),
      ('nosync', not settings.sync),
      ('max_norm', settings.max_norm),
      ('top_layers=local', settings.top_layers == 'local'),
    ):
      if value:
        raise UserError(
          '--optimizer=muon moves all weights of a layer together and keeps '
          'their norm; leave out --%s' % setting
        )
  if settings.optimizer == 'ftrl' and settings.init_from:
    raise UserError(
      '--optimizer=ftrl forgets the values that variables begin with; leave '
      'out --init_from'
    )


def _check_augmentation(settings):
  """Checks the distortions."""
  names = distortions.names(settings.augment)
  if 'alternating_flip' in names and 'flip' in names:
    raise UserError(
      '--augment=%s: flip and alternating_flip; leave out one of them'
      % settings.augment
    )
  if 'alternating_flip' in names and settings.input != 'preloaded':
    raise UserError(
      '--augment=%s: alternating_flip remembers each image, which needs '
      '--input=preloaded' % settings.augment
    )


def _check_network(settings):
  """Checks that the network has what the settings are about."""
  if settings.network == 'tutorial':
    return
  if settings.normalization != 'batch':
    raise UserError(
      '--network=%s is made with batch normalization; found '
      '--normalization=%s, expected --normalization=batch'
      % (settings.network, settings.normalization)
    )
  if settings.cache_frozen:
    raise UserError(
      '--cache_frozen=%d is for the layers of the tutorial, not for '
      '--network=%s' % (settings.cache_frozen, settings.network)
    )
  if settings.partition_ps:
    raise UserError(
      '--network=%s needs variables in one place; leave out --partition_ps'
      % settings.network
    )


def _check_validation(settings):
  """Checks that what looks at validations has some."""
  if settings.validation_examples:
    return
  for name, wants in (
    ('schedule=performance', settings.schedule == 'performance'),
    ('early_stopping', settings.early_stopping),
  ):
    if wants:
      raise UserError(
        '--%s needs images to validate on, which cifar10_train holds out with '
        '--validation_examples=5000' % name
      )


def _check_transfer(settings):
  """Checks the patterns."""
  for name in ('init_scope', 'freeze'):
    pattern = getattr(settings, name)
    try:
      re.compile(pattern)
    except re.error as error:
      raise UserError(
        '--%s=%s: %s; expected a regular expression, such as conv[12]'
        % (name, pattern, error)
      ) from error


def _check_cache(settings):
  """Checks that there are frozen layers to compute once."""
  if settings.cache_frozen and settings.input != 'queues':
    raise UserError(
      '--cache_frozen=%d reads what it keeps through queues; found --input=%s, '
      'expected --input=queues' % (settings.cache_frozen, settings.input)
    )
  if settings.cache_frozen and not settings.freeze:
    raise UserError(
      '--cache_frozen=%d has no effect without --freeze; --freeze=conv freezes '
      'the convolutional layers' % settings.cache_frozen
    )


def has_effect(needs, values):
  """Whether a setting has an effect together with the values of others.

  Args:
    needs: what it needs, as `flag_field.setting` takes it.
    values: dict by flat names.
  """
  if needs is None:
    return True
  owner, choices = needs
  if choices is None:
    return bool(values[owner])
  # --augment names several.
  return any(part.strip() in choices for part in values[owner].split(','))


def _check_effects(settings):
  """Checks that each setting that somebody has chosen has an effect."""
  values = settings.values(settings_lib.with_policy('help'))
  for name, needs in settings_lib.with_policy('needs').items():
    if not settings.is_set(name) or has_effect(needs, values):
      continue
    owner, choices = needs
    what = '--%s=%s has no effect' % (name, values[name])
    if choices is None:
      raise UserError('%s without --%s' % (what, owner))
    if owner not in settings_lib.with_policy('choices'):
      raise UserError('%s without %s in --%s' % (what, choices[0], owner))
    raise UserError(
      '%s with --%s=%s; it is for %s'
      % (what, owner, values[owner], ' and '.join(choices))
    )
