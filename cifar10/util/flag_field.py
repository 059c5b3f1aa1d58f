"""A field of a group of settings that is also a flag."""

import dataclasses


def flag(default, text, **limits):
  """A dataclass field with the help text and the limits of its flag.

  Args:
    default: its default, an immutable value.
    text: its help text.
    **limits: `choices`, a tuple of all values; or `lower_bound`,
      `upper_bound`.
  """
  return dataclasses.field(default=default, metadata=dict(limits, help=text))
