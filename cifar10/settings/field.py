"""Fields of the settings: default, help, limits and policies of each."""

import dataclasses

# The upper bounds of numbers that have no closer one.
MOST = (1 << 31) - 1  # TensorFlow and the system take no more as an int32.
MOST_STEPS = (1 << 63) - 1  # The global step is an int64.
LARGEST = 1e38  # About as much as a float32 can be.

# The policies of a setting, and their defaults.
_POLICIES = {
  # Part of config.json, because it describes a training run. The next four
  # apply only to such settings.
  'saved': True,
  'fixed': False,  # A run keeps it when it is resumed.
  'agreed': True,  # All workers of a cluster must have the same.
  'reported': True,  # A resumed run says that it has changed.
  'searched': True,  # The trials of a search may differ in it.
  'shared': True,  # Several runs at a time may have the same.
  # The name of another setting and those of its values, a tuple, with which it
  # has an effect; None for all values that are not empty.
  'needs': None,
  'exported': False,  # An export holds it, whatever the setting says later.
  'is_path': False,  # The path of a file or a folder.
  'holds_checkpoints': False,  # A path where TensorFlow looks for checkpoints.
  # The tutorial's constant in cifar10.py that counts if it is None.
  'constant': None,
}


def setting(default, **about):
  """A dataclass field that is no flag.

  Args:
    default: an immutable value.
    **about: `choices`, a tuple of all values; or `least` and `most`; and its
      policies, where they are not those of its group.
  """
  return dataclasses.field(default=default, metadata=about)


def flag(default, text, **about):
  """A `setting` that is also a flag, with the help text `text`."""
  return setting(default, help=text, **about)


def choice(default, choices, text, **about):
  """A `flag` whose values are `choices`."""
  return flag(default, text, choices=choices, **about)


def count(default, text, least=0, most=MOST, **about):
  """A `flag` whose values are whole numbers from `least` to `most`."""
  return flag(default, text, least=least, most=most, **about)


def amount(default, text, least=0.0, most=LARGEST, **about):
  """A `flag` whose values are numbers from `least` to `most`."""
  return flag(default, text, least=least, most=most, **about)


def share(default, text, least=0.0, most=1.0, **about):
  """A `flag` whose values are shares of a whole."""
  return flag(default, text, least=least, most=most, **about)


def group(**policies):
  """A decorator: makes a frozen dataclass of settings that share policies."""

  def make(cls):
    for name in cls.__annotations__:
      field = getattr(cls, name)
      if isinstance(field, dataclasses.Field):
        about = {**_POLICIES, **policies, **field.metadata}
        for policy in ('fixed', 'agreed', 'reported', 'searched'):
          about[policy] = about['saved'] and about[policy]
        about['is_path'] = about['is_path'] or about['holds_checkpoints']
        setattr(cls, name, setting(field.default, **about))
    return dataclasses.dataclass(frozen=True)(cls)

  return make
