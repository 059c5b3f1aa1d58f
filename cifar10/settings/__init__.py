"""The settings of all programs: one flat, frozen dataclass.

Its fields come in groups; a program names the groups that are its flags. A
field carries its default, help, limits and policies, see field.py. The defaults
are the tutorial's. This package imports nothing else of the project.
"""

import dataclasses
import os
from typing import FrozenSet

from cifar10.settings import programs
from cifar10.settings import training

GROUPS = tuple(group for module in (training, programs)
               for group in vars(module).values()
               if dataclasses.is_dataclass(group))
FIELDS = {f.name: f for group in GROUPS for f in dataclasses.fields(group)}
# The group of each setting, by the name of its class in lower case.
GROUP_OF = {
    name: group.__name__.lower() for group in GROUPS
    for name in group.__dataclass_fields__
}


class Settings(*GROUPS):
  """The settings of a program, a frozen dataclass like its groups."""

  given: FrozenSet[str] = frozenset()  # Names of settings given as flags.

  def values(self, names):
    """Some settings as a dict, by their names."""
    return {name: getattr(self, name) for name in names}

  def of_groups(self, *groups):
    """The settings of some groups as a dict, by their names."""
    return self.values(n for n, group in GROUP_OF.items() if group in groups)

  def differs(self, name):
    """True if the value of a setting is not the default."""
    return getattr(self, name) != FIELDS[name].default

  def is_set(self, name):
    """True if the flag was given, or the value is not the default.

    A flag that was given as its default counts unless it is off, 0 or empty.
    """
    is_given = name in self.given and getattr(self, name)
    return bool(is_given) or self.differs(name)

  def constants(self, values):
    """Values for the settings that are None, from a dict of constants."""
    return {
        name: values[constant]
        for name, constant in with_policy('constant').items()
        if getattr(self, name) is None
    }

  @property
  def compute_type(self):
    """The type of convolutions and matrix products, of the flag --precision."""
    return self.precision

  @property
  def num_towers(self):
    """Copies of the model on a machine: one per GPU, or one across all."""
    return self.num_gpus if self.model_parallelism == 'none' else 1

  @property
  def examples_per_machine(self):
    """Training examples in a step of all towers of one machine."""
    return self.batch_size * self.num_towers

  @property
  def run_dir(self):
    """The directory of the run whose model is used."""
    if self.checkpoint and not self.checkpoint.isdecimal():
      return os.path.dirname(self.checkpoint)
    return self.checkpoint_dir


def with_policy(policy):
  """A policy, or 'help' or 'choices', of each setting: a dict by names.

  Leaves out settings whose policy is false, 0, empty or None.
  """
  found = {n: field.metadata.get(policy) for n, field in FIELDS.items()}
  return {name: value for name, value in found.items() if value}


def flag_names(*groups):
  """The flags of some groups of settings, a list of names."""
  return [n for n in with_policy('help') if GROUP_OF[n] in groups]
