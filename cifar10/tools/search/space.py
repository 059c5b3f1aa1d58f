"""The space of a search: the flags of all trials, and those that vary."""

from typing import NamedTuple, Tuple

from cifar10 import flags as flags_lib
from cifar10 import settings as settings_lib
from cifar10.errors import UserError
from cifar10.store import config
from cifar10.util import files
from cifar10.util import optional_packages


class Space(NamedTuple):
  """The space of a search."""

  flags: Tuple[str, ...]  # Of all trials.
  distributions: dict  # Of optuna, by the names of the flags that vary.
  values: dict  # What the file says of each of them.


def optuna():
  """Imports the package; raises UserError if it is not installed."""
  return optional_packages.need('optuna', 'search', 'a search needs Optuna')


def load(path):
  """Reads a Space from JSON with "flags", a list, and "space", an object.

  Raises UserError if something is missing or unknown, or makes no sense.
  """
  found = files.need_json(path)
  flags, space = found.get('flags'), found.get('space')
  if not isinstance(flags, list) or not isinstance(space, dict) or not space:
    raise UserError(
        f'{path}: expected "flags", a list of flags of all trials, and '
        '"space", an object with the values of others')
  for flag in flags:
    if not str(flag).startswith('--'):
      raise UserError(f'{path}: "flags": found {flag}; expected --name=value '
                      'in one item')
  trainer = set(settings_lib.flag_names(*flags_lib.TRAINER_GROUPS))
  switches = {'no' + name: name for name in trainer}
  parts = [str(flag).lstrip('-').partition('=') for flag in flags]
  # The last one counts.
  values = {switches.get(name, name): value for name, _, value in parts}
  for name, why in (('max_steps', 'a trial has no end'),
                    ('validation_examples',
                     'there are no images to compare trials on')):
    if not values.get(name, '').strip('0'):
      raise UserError(f'{path}: "flags": without --{name}, {why}')
  for name in [*values, *space]:
    if name not in trainer:
      raise UserError(f'{path}: cifar10_train has no flag --{name}')
    policies = settings_lib.FIELDS[name].metadata
    if name in values and not policies['shared']:
      raise UserError(
          f'{path}: "flags": a search sets --{name} itself; leave it out')
    if name in space and (name in values or not policies['searched']):
      raise UserError(
          f'{path}: "space": --{name} is the same for all trials; leave it out')
  found = {n: _distribution(path, n, values) for n, values in space.items()}
  return Space(tuple(map(str, flags)), found, space)


def _distribution(path, name, values):
  """The distribution of a list of choices, or of an object with limits."""
  kinds, field = optuna().distributions, settings_lib.FIELDS[name]
  try:
    if isinstance(values, list):
      for value in values:
        if value is None:
          raise ValueError('found null')
        config.checked(value, field, path)
      return kinds.CategoricalDistribution(values)
    types = config.types(field)
    if not {int, float} & set(types):
      raise ValueError('found limits, but its values are not numbers')
    for end in ('low', 'high'):
      config.checked(values[end], field, path)
    if int in types:
      return kinds.IntDistribution(**values)
    return kinds.FloatDistribution(**values)
  except (KeyError, TypeError, ValueError) as error:
    raise UserError(
        f'{path}: "{name}": {error}; expected a list of values, or "low" and '
        '"high", with "log" or "step"') from error


def as_flags(values):
  """Values by the names of flags as a list of flags."""
  return [('--' if value else '--no') +
          name if isinstance(value, bool) else '--%s=%s' % (name, value)
          for name, value in values.items()]
