"""Combinations of settings that make no sense, found before a run begins."""

import contextlib
import re

from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.training import schedules


def check(config):
  """Checks the settings of a training run.

  Args:
    config: config.Config.

  Raises:
    UserError: they contradict one another, or one has no effect.
  """
  distortions.names(config.augmentation.augment)
  if config.schedule.schedule == 'piecewise':
    schedules.pieces(config.schedule)
  _check_effects(config)
  _check_augmentation(config)
  _check_network(config)
  _check_validation(config)
  _check_transfer(config.transfer)
  _check_cache(config)
  _check_selu(config)
  _check_partition(config)
  _check_optimizer(config)


@contextlib.contextmanager
def naming_recipe(config):
  """Adds the recipe to an error about settings, which may come from it."""
  try:
    yield
  except UserError as error:
    if config.recipe == type(config)().recipe:
      raise
    raise UserError(
      '%s (with --recipe=%s)' % (error, config.recipe.recipe)
    ) from error


def _check_selu(config):
  """Checks that nothing undoes what SELU does."""
  regularization = config.regularization
  if config.model.activation == 'selu':
    for name in ('input_dropout', 'conv_dropout', 'dropout', 'max_norm'):
      if getattr(regularization, name):
        raise UserError(
          '--activation=selu keeps the mean and variance of its outputs, and '
          '--%s=%g would change them; leave one of the two out'
          % (name, getattr(regularization, name))
        )
    if (
      config.model.normalization != 'none'
      or config.initialization.initializer != 'lecun'
    ):
      print(
        'WARNING: --activation=selu normalizes by itself: it is meant for '
        '--normalization=none and --initializer=lecun.'
      )


def _check_partition(config):
  """Checks that nothing needs whole variables if they are split."""
  if config.cluster.partition_ps:
    for name, value in (
      ('max_norm', config.regularization.max_norm),
      ('validation_examples', config.validation.validation_examples),
    ):
      if value:
        raise UserError(
          '--%s=%g needs variables in one place; leave out --partition_ps'
          % (name, value)
        )


def _check_optimizer(config):
  """Checks what an optimizer does not go together with."""
  if config.optimizer.optimizer == 'muon':
    for setting, value in (
      ('partition_ps', config.cluster.partition_ps),
      ('hold_zeros', config.transfer.hold_zeros),
      ('nosync', not config.cluster.sync),
      ('max_norm', config.regularization.max_norm),
      ('top_layers=local', config.model.top_layers == 'local'),
    ):
      if value:
        raise UserError(
          '--optimizer=muon moves all weights of a layer together and keeps '
          'their norm; leave out --%s' % setting
        )
  if config.optimizer.optimizer == 'ftrl' and config.transfer.init_from:
    raise UserError(
      '--optimizer=ftrl forgets the values that variables begin with; leave '
      'out --init_from'
    )


def _check_augmentation(config):
  """Checks the distortions."""
  settings = config.augmentation
  names = distortions.names(settings.augment)
  if 'alternating_flip' in names and 'flip' in names:
    raise UserError(
      '--augment=%s: flip and alternating_flip; leave out one of them'
      % settings.augment
    )
  if 'alternating_flip' in names and config.pipeline.input != 'preloaded':
    raise UserError(
      '--augment=%s: alternating_flip remembers each image, which needs '
      '--input=preloaded' % settings.augment
    )


def _check_network(config):
  """Checks that the network has what the settings are about."""
  model = config.model
  if model.network == 'tutorial':
    return
  if model.normalization != 'batch':
    raise UserError(
      '--network=%s is made with batch normalization; found '
      '--normalization=%s, expected --normalization=batch'
      % (model.network, model.normalization)
    )
  if config.transfer.cache_frozen:
    raise UserError(
      '--cache_frozen=%d is for the layers of the tutorial, not for '
      '--network=%s' % (config.transfer.cache_frozen, model.network)
    )
  if config.cluster.partition_ps:
    raise UserError(
      '--network=%s needs variables in one place; leave out --partition_ps'
      % model.network
    )


def _check_validation(config):
  """Checks that what looks at validations has some."""
  if config.validation.validation_examples:
    return
  for name, wants in (
    ('schedule=performance', config.schedule.schedule == 'performance'),
    ('early_stopping', config.optimization.early_stopping),
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


def _check_cache(config):
  """Checks that there are frozen layers to compute once."""
  transfer = config.transfer
  if transfer.cache_frozen and config.pipeline.input != 'queues':
    raise UserError(
      '--cache_frozen=%d reads what it keeps through queues; found --input=%s, '
      'expected --input=queues' % (transfer.cache_frozen, config.pipeline.input)
    )
  if transfer.cache_frozen and not transfer.freeze:
    raise UserError(
      '--cache_frozen=%d has no effect without --freeze; --freeze=conv freezes '
      'the convolutional layers' % transfer.cache_frozen
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


def _check_effects(config):
  """Checks that each setting that somebody has chosen has an effect."""
  values = config.values(config.policy('help'))
  for name, needs in config.policy('needs').items():
    if not config.is_set(name) or has_effect(needs, values):
      continue
    owner, choices = needs
    what = '--%s=%s has no effect' % (name, values[name])
    if choices is None:
      raise UserError('%s without --%s' % (what, owner))
    if owner not in config.policy('choices'):
      raise UserError('%s without %s in --%s' % (what, choices[0], owner))
    raise UserError(
      '%s with --%s=%s; it is for %s'
      % (what, owner, values[owner], ' and '.join(choices))
    )
