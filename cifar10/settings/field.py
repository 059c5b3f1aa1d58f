"""Fields of the settings: default, help, limits and policies of each."""

import dataclasses
import inspect
import re

# Upper limits of numbers that have no lower one.
MOST = (1 << 31) - 1  # TensorFlow and the system take an int32.
MOST_STEPS = (1 << 63) - 1  # The global step is an int64.
LARGEST = 1e38  # About the limit of a float32.

# The policies of a setting, and their defaults.
_POLICIES = {
    # Part of config.json, because it describes a training run. The next four
    # apply only to such settings.
    'saved': True,
    'fixed': False,  # It may not change when a run is resumed.
    'agreed': True,  # All workers of a cluster must have the same value.
    'reported': True,  # A resumed run prints that it has changed.
    'searched': True,  # The trials of a search may differ in it.
    'shared': True,  # Runs at the same time may have the same value.
    # The setting without which it has no effect: 'name', which must not be
    # empty, or 'name=value,value'. Stored as a pair: name, and None or a tuple
    # of values.
    'needs': None,
    'exported': False,  # An export has its value built in.
    'is_path': False,  # A file or a folder; may be '' if the default is.
    'holds_checkpoints': False,  # TensorFlow looks for checkpoints there.
    # True if None stands for the constant of its name in cifar10.py. Stored as
    # the name of the constant.
    'constant': None
}

# A field in the docstring of its group, and its text over one or more lines.
_HELP = re.compile(r'^(\w+): (.+(?:\n .+)*)', re.MULTILINE)


def setting(default, **about):
  """A field; `about` are its policies, where they differ from its group's."""
  return dataclasses.field(default=default, metadata=about)


def choice(*choices, **about):
  """A `setting` whose values are `choices`; the first one is the default."""
  return setting(choices[0], choices=choices, **about)


def count(default, least=0, most=MOST, **about):
  """A `setting` whose values are whole numbers from `least` to `most`."""
  return setting(default, least=least, most=most, **about)


def amount(default, least=0.0, most=LARGEST, **about):
  """A `setting` whose values are numbers from `least` to `most`."""
  return setting(default, least=least, most=most, **about)


def share(default, least=0.0, most=1.0, **about):
  """A `setting` whose values are fractions of a whole."""
  return setting(default, least=least, most=most, **about)


def decay(default, **about):
  """A `share` below 1: the decay of a mean, which at 1 would never change."""
  return share(default, most=0.999999, **about)


class Group:
  """A group of settings that share `policies`; becomes a frozen dataclass.

  A field that the docstring of the class explains, `name: text`, is a flag with
  that help. `python -OO` drops docstrings, but TensorFlow fails under it, too.
  """

  def __init_subclass__(cls, **policies):
    texts = dict(_HELP.findall(inspect.cleandoc(cls.__doc__)))
    for name in cls.__annotations__:
      field = getattr(cls, name)
      if not isinstance(field, dataclasses.Field):
        if name not in texts:
          continue
        field = setting(field)
      about = {**_POLICIES, **policies, **field.metadata}
      if name in texts:
        about['help'] = ' '.join(texts.pop(name).split())
      for policy in ('fixed', 'agreed', 'reported', 'searched'):
        about[policy] = about['saved'] and about[policy]
      about['is_path'] = about['is_path'] or about['holds_checkpoints']
      if about['constant']:
        about['constant'] = name.upper()
      if about['needs']:
        owner, _, values = about['needs'].partition('=')
        about['needs'] = owner, tuple(values.split(',')) if values else None
      setattr(cls, name, setting(field.default, **about))
    if texts:
      raise TypeError(f'{cls.__name__} has no field {", ".join(texts)}')
    dataclasses.dataclass(frozen=True)(cls)
