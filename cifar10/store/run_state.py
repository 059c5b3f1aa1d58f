"""The state of a run in `run_state.json`, beside its checkpoints.

Checkpoints hold the global step and the variables, `config.json` the settings.
This is the rest: the data, and how many examples each step so far has taken.
"""

import dataclasses
import hashlib
import os
import time
from typing import Any, Optional, Tuple

from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.optim import schedules
from cifar10.settings.field import MOST_STEPS
from cifar10.util import files

STATE_FILE = 'run_state.json'

LATEST = 1e11  # Seconds since 1970, in the year 5138.


@dataclasses.dataclass(frozen=True)
class Start:
  """A start of a trainer."""

  step: int  # The global step that it began at.
  time: float  # Unix time.
  # (name, value before, value now) of settings changed since the start before.
  changed: Tuple[Tuple[str, Any, Any], ...] = ()


@dataclasses.dataclass(frozen=True)
class RunState:
  """The data that a run is trained on, and how far it has come with them."""

  classes: Tuple[str, ...]  # Names, in the order of their labels.
  examples_per_epoch: int  # Training examples in the data set.
  # Pairs (first step, examples per step), in order. A new one begins where the
  # run is resumed with another number of examples a step, because the batch
  # size or the number of towers or workers has changed.
  stretches: Tuple[Tuple[int, int], ...]
  # Of each trainer, in order; earlier versions kept none.
  starts: Tuple[Start, ...] = ()
  # Pairs (step, precision @ 1 on the images held out), in order.
  validations: Tuple[Tuple[int, float], ...] = ()
  # Step of the best checkpoint, if training has been stopped early with it.
  stopped_at: Optional[int] = None
  # Height, width and depth of the images; earlier versions kept none.
  image_shape: Tuple[int, ...] = ()
  # In the folder of the best checkpoint only: pairs (digest, precision @ 1) of
  # that checkpoint and of the one about to replace it.
  kept: Tuple[Tuple[str, float], ...] = ()

  @property
  def examples_per_step(self):
    """Training examples that a step takes now, on all machines together."""
    return self.stretches[-1][1]

  @property
  def step_offset(self):
    """Examples seen, in steps of the current size, minus the global step."""
    pairs = zip(self.stretches, self.stretches[1:])
    seen = sum((end - start) * size for (start, size), (end, _) in pairs)
    start, size = self.stretches[-1]
    return seen // size - start

  def pace(self, settings):
    """The schedules.Pace of the run, from here on."""
    return schedules.Pace(self.examples_per_epoch / self.examples_per_step,
                          self.step_offset, self.last_step(settings))

  def seed_of_start(self, seed, *more):
    """The graph-level seed of the present start of a trainer.

    A resumed run continues with other random numbers, the same ones each time.
    `more` distinguishes starts at the same step. Without --seed it is None.
    """
    apart = (self.starts[-1].step, *more)
    if seed is None or not any(apart):
      return seed
    text = ' '.join(map(str, (seed, *apart)))
    digest = hashlib.sha256(text.encode('ascii')).digest()
    return int.from_bytes(digest[:4], 'big') >> 1  # As much as a seed may be.

  def epochs(self, step):
    """The passes over the training images before a global step, a float."""
    examples = (step + self.step_offset) * self.examples_per_step
    return examples / self.examples_per_epoch

  def last_step(self, settings):
    """The global step at which training ends."""
    if settings.early_stopping and self.stopped_at is not None:
      return self.stopped_at
    if not settings.epochs:
      return settings.max_steps
    examples = max(1, round(settings.epochs * self.examples_per_epoch))
    # Rounded up: the last step completes the epochs.
    steps = -(-examples // self.examples_per_step) - self.step_offset
    return min(settings.max_steps, steps)

  def resumed(self, step, new):
    """The state of this run when it resumes from the checkpoint of a step.

    From there on, steps take the examples of `new`, a RunState at step 0.
    """
    stretches = tuple(pair for pair in self.stretches if pair[0] < step)
    if not stretches or stretches[-1][1] != new.examples_per_step:
      stretches += ((step, new.examples_per_step),)
    validations = tuple(pair for pair in self.validations if pair[0] <= step)
    return dataclasses.replace(new, stretches=stretches, starts=self.starts,
                               validations=validations)

  def save(self, directory):
    """Writes the state into `directory`, whole or not at all."""
    path = os.path.join(directory, STATE_FILE)
    files.write_json(path, dataclasses.asdict(self))


def begin(data, examples_per_step):
  """The RunState at step 0, for a datasets.DataSet to train on."""
  return RunState(data.classes, data.examples_per_epoch,
                  ((0, examples_per_step),), (Start(0, time.time()),),
                  image_shape=data.layout[:3])


def trained_on(state, settings):
  """The settings `classes` and `image_shape` of a run; empty if unknown."""
  if state is None:
    return {'classes': (), 'image_shape': ()}
  shape = state.image_shape or datasets.known_shape(settings, state.classes)
  return {'classes': state.classes, 'image_shape': shape}


def load(directory):
  """The RunState saved in `directory`, or None; UserError if it is damaged."""
  # Version 1.0 keeps all of it in config.json, also when it resumes a run of
  # this version.
  path = os.path.join(directory, 'config.json')
  values = files.read_json(path)
  if values is None or 'examples_per_epoch' not in values:
    path = os.path.join(directory, STATE_FILE)
    values = files.read_json(path)
  if values is None:
    return None
  try:
    return from_json(values)
  except (LookupError, TypeError, ValueError, OverflowError) as error:
    raise UserError(
        f'{path}: {error!r}; expected classes, examples_per_epoch and '
        'stretches, as a trainer writes them') from error


def from_json(values):
  """The RunState from the dict that JSON holds, also that of version 1.0.

  Raises LookupError, TypeError, ValueError or OverflowError if it is damaged.
  """
  stretches = values['stretches']
  if not stretches:  # In version 1.0, before a run is resumed.
    machines = values.get('machines_per_step', 1)
    stretches = [(0, values['batch_size'] * values['num_gpus'] * machines)]
  if stretches[0][0]:
    raise ValueError(f'stretches from step {stretches[0][0]}; expected 0')
  stopped_at = values.get('stopped_at')
  return RunState(
      tuple(map(str, values.get('classes', ()))),
      _number(values['examples_per_epoch'], 1),
      tuple((_number(start), _number(size, 1)) for start, size in stretches),
      tuple(
          Start(
              _number(start['step']), _number(start['time'], most=LATEST),
              tuple((str(name), old, new)
                    for name, old, new in start['changed']))
          for start in values.get('starts', ())),
      tuple((_number(at), float(p)) for at, p in values.get('validations', ())),
      None if stopped_at is None else _number(stopped_at),
      tuple(map(int, values.get('image_shape', ()))),
      tuple((str(digest), float(p)) for digest, p in values.get('kept', ())))


def _number(value, least=0, most=MOST_STEPS):
  """A number from JSON, an int unless `most` is a float."""
  number = type(most)(value)
  if not least <= number <= most:
    raise ValueError(f'{value}; expected {least} to {most:g}')
  return number
