"""The space of a search: the flags of all trials, and those that vary."""

from typing import NamedTuple, Tuple

from cifar10 import flags as flags_lib
from cifar10 import settings as settings_lib
from cifar10.errors import UserError
from cifar10.store import config
from cifar10.util import files
from cifar10.util import optional_packages


class Space(NamedTuple):
  """What is searched.

  Attributes:
    flags: flags of all trials.
    distributions: dict of an optuna distribution for each flag that varies, by
      its name without dashes.
    values: dict of what the file says of each of them.
  """

  flags: Tuple[str, ...]
  distributions: dict
  values: dict


def optuna():
  """The package.

  Raises:
    UserError: it is not installed.
  """
  return optional_packages.need('optuna', 'search', 'a search needs Optuna')


def load(path):
  """Reads a JSON file with "flags", a list, and "space", an object.

  Args:
    path: path of the file.

  Returns:
    Space.

  Raises:
    UserError: it is missing, or something in it is unknown or makes no sense.
  """
  found = files.read_json(path)
  if found is None:
    raise UserError('%s: no such file' % path)
  flags, space = found.get('flags'), found.get('space')
  if not isinstance(flags, list) or not isinstance(space, dict) or not space:
    raise UserError(
      '%s: expected "flags", a list of flags of all trials, and "space", an '
      'object with the values of others' % path
    )
  names = [str(flag).lstrip('-').partition('=')[0] for flag in flags]
  for name, why in (
    ('max_steps', 'a trial has no end'),
    ('validation_examples', 'there are no images to compare trials on'),
  ):
    if name not in names:
      raise UserError('%s: "flags": without --%s, %s' % (path, name, why))
  trainer = set(settings_lib.flag_names(*flags_lib.TRAINER_GROUPS))
  switches = {'no' + name for name in trainer}
  for name in [*(set(names) - switches), *space]:
    if name not in trainer:
      raise UserError('%s: cifar10_train has no flag --%s' % (path, name))
  for name in names:
    if name in trainer - set(settings_lib.with_policy('shared')):
      raise UserError(
        '%s: "flags": a search sets --%s itself; leave it out' % (path, name)
      )
  for name in space:
    if name in names or name not in settings_lib.with_policy('searched'):
      raise UserError(
        '%s: "space": --%s is the same for all trials; leave it out'
        % (path, name)
      )
  return Space(
    tuple(str(flag) for flag in flags),
    {n: _distribution(path, n, values) for n, values in space.items()},
    space,
  )


def _distribution(path, name, values):
  """The distribution of a list of choices, or of an object with limits."""
  kinds = optuna().distributions
  field = settings_lib.FIELDS[name]
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
    is_whole = int in types
    kind = kinds.IntDistribution if is_whole else kinds.FloatDistribution
    return kind(**values)
  except (KeyError, TypeError, ValueError) as error:
    raise UserError(
      '%s: "%s": %s; expected a list of values, or "low" and "high", with '
      '"log" or "step"' % (path, name, error)
    ) from error


def as_flags(values):
  """Values of a trial as flags.

  Args:
    values: dict by the names of flags.

  Returns:
    List of str.
  """
  flags = []
  for name, value in values.items():
    if isinstance(value, bool):
      flags.append('--' + ('' if value else 'no') + name)
    else:
      flags.append('--%s=%s' % (name, value))
  return flags
