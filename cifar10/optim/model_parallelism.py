"""Model parallelism: the parts of one model on several devices.

The device of an operation, forward or backward, follows from its name.
"""

import contextlib
import dataclasses
import re

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import session_settings

# Operations of the fully connected layers.
_FULLY_CONNECTED = re.compile(
    '(^|/)(local[0-9]+|dropout|softmax_linear|cross_entropy)[^/]*(/|$)')

# Operations of a column of filters or units, see nets/columns.py.
_COLUMN = re.compile(r'/column_(\d+)(/|$)')


def with_devices(settings, tasks=()):
  """Sets the devices of the settings if --model_parallelism divides the model.

  They are the GPUs of this machine, or the first one of each of `tasks`, names
  like '/job:worker/task:0'. Raises UserError if their number does not fit.
  """
  kind = settings.model_parallelism
  if kind == 'none':
    return settings
  device = 'gpu' if session_settings.has_gpu() else 'cpu'
  devices = [f'{task}/gpu:0' for task in tasks
            ] or [f'/{device}:{i}' for i in range(settings.num_gpus)]
  count = len(devices)
  flag = f'--model_parallelism={kind}: found {count} GPUs or workers; expected'
  if kind == 'layers' and count != 2:
    raise UserError(f'{flag} 2')
  if kind == 'filters' and count == 1:
    raise UserError(f'{flag} 2 or more, see --num_gpus')
  if kind == 'filters' and settings.columns not in (1, count):
    raise UserError(f'{flag} {settings.columns}, one for each of --columns')
  return dataclasses.replace(settings, devices=tuple(devices))


def placed(settings):
  """A context that puts the parts of a model on the settings' devices."""

  def place(op):
    if settings.model_parallelism == 'layers':
      part = int(bool(_FULLY_CONNECTED.search(op.name)))
    else:
      column = _COLUMN.search(op.name)
      part = int(column.group(1)) if column else 0
    # Variables have a device already.
    return op.device or settings.devices[part]

  return tf.device(place) if settings.devices else contextlib.nullcontext()
