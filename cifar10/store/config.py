"""The settings of a run in `config.json`, flat, beside its checkpoints."""

import json
import math
import os

from cifar10 import cifar10
from cifar10 import settings as settings_lib
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import files
from cifar10.util import paths

FILE_NAME = 'config.json'


def saved(settings):
  """The settings that describe a training run, a dict by their names."""
  settings = cifar10.with_constants(settings)
  values = settings.values(settings_lib.with_policy('saved'))
  # So that it is found from another working directory.
  data_dir = os.path.abspath(settings.data_dir)
  if paths.is_text(data_dir):  # The name of a current folder may not be.
    values['data_dir'] = data_dir
  return values


def save(settings, directory):
  """Writes `config.json` into `directory`, whole or not at all."""
  path = os.path.join(directory, FILE_NAME)
  files.write_json(path, dict(sorted(saved(settings).items())))


def load(directory):
  """The Settings saved in `directory`, or None if there are none.

  Ignores unknown names, so that runs outlive versions. Raises UserError if the
  file holds no JSON object, or a value of another type.
  """
  path = os.path.join(directory, FILE_NAME)
  values = files.read_json(path)
  if values is None:
    return None
  # Those of the data are in the state of the run; version 1.0 has them here.
  known = settings_lib.FIELDS.keys() - {'classes', 'image_shape'}
  names = sorted(values.keys() & known)
  for name in names:
    field = settings_lib.FIELDS[name]
    most = field.metadata.get('most')
    is_number = type(values[name]) in (int, float) and is_finite(values[name])
    if most is not None and is_number:  # Older versions had no upper limits.
      values[name] = min(values[name], most)
    checked(values[name], field, path)
  return Settings(**{name: values[name] for name in names})


def is_last(directory, step):
  """True if the run in `directory` goes no further than a global step."""
  settings, state = load(directory), run_state.load(directory)
  if settings is None:
    return False
  if state is None:
    return step >= settings.max_steps
  if state.stopped_at is not None:
    return step == state.stopped_at
  return step >= state.last_step(settings)


def checked(value, field, path):
  """Returns `value` from JSON; UserError names `path` if it does not fit."""
  kind, limits = types(field)[0], field.metadata
  # A whole number is a float too; true and false are not numbers.
  has_type = type(value) in ((int, float) if kind is float else (kind,))
  fits = (has_type and is_finite(value) and
          value in limits.get('choices', [value]) and
          limits.get('least', value) <= value <= limits.get('most', value))
  if fits or value is None and field.default is None:
    return value
  default = getattr(cifar10.with_constants(Settings()), field.name)
  expected = f'a value like {json.dumps(default)}'
  if 'choices' in limits:
    expected = 'one of ' + ', '.join(limits['choices'])
  elif 'least' in limits:
    expected += f', {limits["least"]} or more, {limits["most"]} or less'
  raise UserError(
      f'{path}: {field.name} is {json.dumps(value)}; expected {expected}')


def types(field):
  """The types of the values of a field; of an Optional one, its own first."""
  return getattr(field.type, '__args__', None) or (field.type,)


def is_finite(value):
  """True if a value is anything but an infinite float or NaN."""
  return not isinstance(value, float) or math.isfinite(value)
