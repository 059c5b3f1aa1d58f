"""A field of a group of settings, with its limits and policies.

Lists of settings are made from that: see `Config.policy`.
"""

import dataclasses

# The upper bounds of numbers that have no closer one.
MOST = (1 << 31) - 1  # TensorFlow and the system take no more as an int32.
MOST_STEPS = (1 << 63) - 1  # The global step is an int64.
LARGEST = 1e38  # About as much as a float32 can be.


def setting(
  default,
  *,
  saved=True,
  fixed=False,
  agreed=True,
  reported=True,
  searched=True,
  shared=True,
  needs=None,
  exported=False,
  is_path=False,
  holds_checkpoints=False,
  **about,
):
  """A dataclass field.

  Args:
    default: its default, an immutable value.
    saved: whether it describes a training run, and is part of its config.json.
      The next four apply only to such settings.
    fixed: whether a run keeps it when it is resumed.
    agreed: whether all workers of a cluster must have the same.
    reported: whether a resumed run says that it has changed.
    searched: whether the trials of a search may differ in it.
    shared: whether several runs at a time may have the same.
    needs: the name of another setting and those of its values, a tuple, with
      which it has an effect; None for all values that are not empty.
    exported: whether an export holds it, whatever the setting says later.
    is_path: whether it is the path of a file or a folder.
    holds_checkpoints: whether it is a path where TensorFlow looks for
      checkpoints.
    **about: what a flag has besides, see `flag`.
  """
  policy = {
    'saved': saved,
    'fixed': saved and fixed,
    'agreed': saved and agreed,
    'reported': saved and reported,
    'searched': saved and searched,
    'shared': shared,
    'needs': needs,
    'exported': exported,
    'is_path': is_path or holds_checkpoints,
    'holds_checkpoints': holds_checkpoints,
  }
  return dataclasses.field(default=default, metadata=dict(about, **policy))


def flag(default, text, **about):
  """A `setting` that is also a flag.

  Args:
    default: its default, an immutable value.
    text: its help text.
    **about: `choices`, a tuple of all values; or `lower_bound`,
      `upper_bound`; and what `setting` takes.
  """
  return setting(default, help=text, **about)
