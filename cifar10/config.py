"""All settings of a program, and those of a run in `config.json`.

`Config` is made of the groups in settings.py. A program names the groups that
it takes: their fields are its flags, and all others keep their defaults.
Nothing below the entry scripts reads a flag.

A trainer saves its settings as `config.json` beside its checkpoints, flat: one
name and value for each field. What changes while a run goes on is not a
setting, see training/run_state.py.
"""

import dataclasses
import json
import math
import os
from typing import FrozenSet

from cifar10 import cifar10
from cifar10 import settings
from cifar10.cluster import settings as cluster_settings
from cifar10.data import settings as data_settings
from cifar10.errors import UserError
from cifar10.model import settings as model_settings
from cifar10.serving import settings as serving_settings
from cifar10.training import optimizers
from cifar10.training import run_state
from cifar10.training import settings as training_settings
from cifar10.util import files
from cifar10.util import paths


@dataclasses.dataclass(frozen=True)
class Config:
  """The settings of a program, group by group."""

  data: settings.Data = settings.Data()
  download: settings.Download = settings.Download()
  recipe: settings.Recipe = settings.Recipe()
  input: settings.Input = settings.Input()
  pipeline: data_settings.Pipeline = data_settings.Pipeline()
  augmentation: data_settings.Augmentation = data_settings.Augmentation()
  model: model_settings.Model = model_settings.Model()
  initialization: model_settings.Initialization = (
    model_settings.Initialization()
  )
  regularization: model_settings.Regularization = (
    model_settings.Regularization()
  )
  optimization: settings.Optimization = settings.Optimization()
  optimizer: training_settings.Optimizer = training_settings.Optimizer()
  schedule: settings.Schedule = settings.Schedule()
  transfer: training_settings.Transfer = training_settings.Transfer()
  pretraining: training_settings.Pretraining = training_settings.Pretraining()
  validation: settings.Validation = settings.Validation()
  towers: settings.Towers = settings.Towers()
  run: settings.Run = settings.Run()
  metrics: settings.Metrics = settings.Metrics()
  cluster: cluster_settings.Cluster = cluster_settings.Cluster()
  checkpoint: serving_settings.Checkpoint = serving_settings.Checkpoint()
  ensemble: serving_settings.Ensemble = serving_settings.Ensemble()
  inference: serving_settings.Inference = serving_settings.Inference()
  evaluation: settings.Evaluation = settings.Evaluation()
  answers: serving_settings.Answers = serving_settings.Answers()
  prediction: serving_settings.Prediction = serving_settings.Prediction()
  export: serving_settings.Export = serving_settings.Export()
  session: settings.Session = settings.Session()
  # The flat names of the settings that a person has given as flags.
  given: FrozenSet[str] = frozenset()

  @classmethod
  def of(cls, **values):
    """The Config of some settings by their flat names; others are default."""
    return cls().replace(**values)

  def replace(self, **values):
    """This Config with other values for some settings, by their flat names."""
    groups = {}
    for name, value in values.items():
      groups.setdefault(GROUP_OF[name], {})[name] = value
    return dataclasses.replace(
      self,
      **{
        group: dataclasses.replace(getattr(self, group), **changes)
        for group, changes in groups.items()
      },
    )

  def values(self, names):
    """Some settings as a dict, by their flat names."""
    return {
      name: getattr(getattr(self, GROUP_OF[name]), name) for name in names
    }

  def flat(self, groups):
    """The settings of some groups as one dict, by their flat names."""
    return self.values(n for n, group in GROUP_OF.items() if group in groups)

  @staticmethod
  def policy(kind):
    """The settings that have a policy, see `flag_field.setting`.

    Args:
      kind: its name, such as 'agreed'.

    Returns:
      dict of what it says, by the flat names of the settings.
    """
    return {
      name: field.metadata[kind]
      for name, field in FIELDS.items()
      if field.metadata.get(kind)
    }

  def is_set(self, name):
    """Whether somebody has chosen the value of a setting.

    It was given as a flag, or is not the default. What is off by default, and
    was given as off, says nothing.

    Args:
      name: its flat name.
    """
    value = getattr(getattr(self, GROUP_OF[name]), name)
    is_given = name in self.given and bool(value)
    return is_given or value != FIELDS[name].default

  @property
  def examples_per_machine(self):
    """Training examples that one machine, with all towers, takes in a step."""
    return self.input.batch_size * self.towers.num_gpus

  @property
  def learning_rate(self):
    """The initial learning rate: the one that is set, or the optimizer's."""
    if self.optimization.learning_rate is not None:
      return self.optimization.learning_rate
    return optimizers.LEARNING_RATES.get(
      self.optimizer.optimizer, cifar10.INITIAL_LEARNING_RATE
    )

  @property
  def run_dir(self):
    """The directory of the run whose model is used."""
    checkpoint = self.export.checkpoint
    if checkpoint and not checkpoint.isdecimal():
      return os.path.dirname(checkpoint)
    return self.checkpoint.checkpoint_dir

  def saved_settings(self):
    """The settings that describe a training run, a dict by flat names."""
    values = self.values(self.policy('saved'))
    # So that it is found from another working directory.
    data_dir = os.path.abspath(self.data.data_dir)
    if paths.is_text(data_dir):  # The name of a current folder may not be.
      values['data_dir'] = data_dir
    values['learning_rate'] = self.learning_rate
    return values

  def save(self, directory):
    """Writes `config.json` into `directory`, whole or not at all."""
    path = os.path.join(directory, run_state.CONFIG_FILE)
    files.write_json(path, dict(sorted(self.saved_settings().items())))


# The fields of all groups, by their flat names, and the group of each.
FIELDS, GROUP_OF = {}, {}
for _group in dataclasses.fields(Config):
  if _group.name == 'given':
    continue
  for _field in dataclasses.fields(_group.default):
    FIELDS[_field.name], GROUP_OF[_field.name] = _field, _group.name


def load(directory):
  """The Config saved in `directory`, or None if there is none.

  Names that this version does not know are ignored, and missing ones get their
  defaults, so that runs outlive versions.

  Raises:
    UserError: the file holds no JSON object, or a value of another type.
  """
  path = os.path.join(directory, run_state.CONFIG_FILE)
  values = files.read_json(path)
  if values is None:
    return None
  return Config.of(
    **{
      name: checked(_at_most(values[name], field), field, path)
      for name, field in FIELDS.items()
      if name in values and name not in ('classes', 'image_shape')
    }
  )


def _at_most(value, field):
  """A number within the upper bound of a field, which older versions lacked."""
  most = field.metadata.get('upper_bound')
  is_number = type(value) in (int, float) and is_finite(value)
  return min(value, most) if is_number and most is not None else value


def is_last(directory, step):
  """Whether a run goes no further than a global step.

  Args:
    directory: the training directory of the run.
    step: the step.
  """
  run, state = load(directory), run_state.load(directory)
  if run is None:
    return False
  if state is None:
    return step >= run.optimization.max_steps
  if state.stopped_at is not None:
    return step == state.stopped_at
  return step >= state.last_step(run.optimization)


def checked(value, field, path):
  """`value` from JSON, checked against the type and the limits of the field.

  Args:
    value: what JSON can hold.
    field: one of FIELDS.
    path: the file that it comes from, for the error.

  Returns:
    `value`.

  Raises:
    UserError: it is of another type, or beyond the limits.
  """
  if value is None and field.default is None:
    return None
  if not (_has_type(value, field) and _is_within_limits(value, field.metadata)):
    raise UserError(
      '%s: %s is %s; expected %s'
      % (path, field.name, json.dumps(value), _expected(field))
    )
  return value


def _has_type(value, field):
  (expected,) = set(types(field)) - {type(None)}
  # A whole number is a float too; true and false are not numbers.
  return type(value) is expected or (type(value), expected) == (int, float)


def types(field):
  """The types of the values of a field: two of an Optional one."""
  return getattr(field.type, '__args__', None) or (field.type,)


def is_finite(value):
  """Whether a value is anything but an infinite float or NaN."""
  return not isinstance(value, float) or math.isfinite(value)


def _is_within_limits(value, limits):
  return (
    is_finite(value)
    and value in limits.get('choices', [value])
    and value >= limits.get('lower_bound', value)
    and value <= limits.get('upper_bound', value)
  )


def _expected(field):
  """What a value of the field may be, in words."""
  limits = field.metadata
  if 'choices' in limits:
    return 'one of ' + ', '.join(limits['choices'])
  words = ['a value like %s' % json.dumps(field.default)]
  if 'lower_bound' in limits:
    words.append('%s or more' % limits['lower_bound'])
  if 'upper_bound' in limits:
    words.append('%s or less' % limits['upper_bound'])
  return ', '.join(words)
