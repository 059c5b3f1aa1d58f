"""The settings of all programs: one flat, frozen dataclass.

Its fields come in groups; a program names the groups that it takes, and their
fields are its flags. A field carries its default, help, limits and policies,
see field.py: every list of settings is made from these. The defaults are the
tutorial's. Everything may import this package; it imports nothing of cifar10.
"""

import dataclasses
import os
from typing import FrozenSet

from cifar10.settings import model
from cifar10.settings import programs
from cifar10.settings import training

GROUPS = (
  model.Data,
  model.Download,
  model.Input,
  model.Pipeline,
  model.Augmentation,
  model.Model,
  model.Initialization,
  model.Regularization,
  training.Recipe,
  training.Optimization,
  training.Optimizer,
  training.Schedule,
  training.Validation,
  training.Transfer,
  training.Pretraining,
  programs.Towers,
  programs.Run,
  programs.Metrics,
  programs.Session,
  programs.Cluster,
  programs.Checkpoint,
  programs.Ensemble,
  programs.Inference,
  programs.Evaluation,
  programs.Answers,
  programs.Prediction,
  programs.Export,
)

# The fields of all groups by name, and the name of the group of each: that of
# its class in lower case.
FIELDS, GROUP_OF = {}, {}
for _group in GROUPS:
  for _field in dataclasses.fields(_group):
    FIELDS[_field.name], GROUP_OF[_field.name] = _field, _group.__name__.lower()


@dataclasses.dataclass(frozen=True)
class Settings(*GROUPS):
  """The settings of a program."""

  # The names of the settings that a person has given as flags.
  given: FrozenSet[str] = frozenset()

  def values(self, names):
    """Some settings as a dict, by their names."""
    return {name: getattr(self, name) for name in names}

  def of_groups(self, *groups):
    """The settings of some groups as a dict, by their names."""
    return self.values(n for n, group in GROUP_OF.items() if group in groups)

  def is_set(self, name):
    """Whether somebody has chosen the value of a setting.

    It was given as a flag, or is not the default. What is off by default, and
    was given as off, says nothing.
    """
    value = getattr(self, name)
    is_given = name in self.given and bool(value)
    return is_given or value != FIELDS[name].default

  @property
  def examples_per_machine(self):
    """Training examples that one machine, with all towers, takes in a step."""
    return self.batch_size * self.num_gpus

  @property
  def run_dir(self):
    """The directory of the run whose model is used."""
    if self.checkpoint and not self.checkpoint.isdecimal():
      return os.path.dirname(self.checkpoint)
    return self.checkpoint_dir


def with_policy(policy):
  """The settings that have a policy, or something else that fields carry.

  Args:
    policy: its name, such as 'agreed' or 'choices'.

  Returns:
    dict of what it says, by the names of the settings.
  """
  found = {n: field.metadata.get(policy) for n, field in FIELDS.items()}
  return {name: value for name, value in found.items() if value}


def flag_names(*groups):
  """The flags of some groups of settings, a list of names."""
  return [n for n in with_policy('help') if GROUP_OF[n] in groups]
