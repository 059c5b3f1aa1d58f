"""Schedules of the learning rate, besides the tutorial's exponential decay.

A schedule is a function of the examples that a run has seen, in steps of its
current batch size, see `Pace.offset`.
"""

from typing import NamedTuple

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.settings.field import LARGEST
from cifar10.util import graph_keys


class Pace(NamedTuple):
  """Converts epochs to steps."""

  steps_per_epoch: float  # A step takes a batch for each tower.
  offset: int  # Examples seen / examples per step, minus the global step.
  last_step: int  # The global step at which training ends.

  def decay_steps(self, epochs):
    """Whole steps in `epochs`, as a float: an int32 may be too small."""
    return float(max(1, int(self.steps_per_epoch * epochs)))


def create(steps, pace, settings):
  """The learning rate of a schedule, a float32 scalar tensor.

  `steps` is the global step plus `pace.offset`.
  """
  rate, factor = settings.learning_rate, settings.learning_rate_decay_factor
  decay_steps = pace.decay_steps(settings.num_epochs_per_decay)
  return {
      'constant': lambda: tf.constant(rate),
      'piecewise': lambda: _piecewise(steps, pace, settings),
      'power': lambda: rate *
               (1 + tf.to_float(steps) / decay_steps)**-settings.power,
      'performance': lambda: rate * factor**_falls(),
      'one_cycle': lambda: _one_cycle(steps, pace, settings)
  }[settings.schedule]()


def _piecewise(steps, pace, settings):
  """Constant rates between boundaries, which are epochs."""
  boundaries, rates = boundaries_and_rates(settings)
  # The last step before each boundary still has the rate before it.
  last_steps = [
      min(round(epoch * pace.steps_per_epoch) - 1, tf.int64.max)
      for epoch in boundaries
  ]
  return tf.train.piecewise_constant(steps, last_steps, rates)


def _falls():
  """The falls so far, a variable that a ValidationHook sets.

  It is saved, so that all workers see it.
  """
  falls = graph_keys.LEARNING_RATE_FALLS
  return tf.get_variable(falls, [], tf.float32, tf.zeros_initializer(),
                         trainable=False,
                         collections=[tf.GraphKeys.GLOBAL_VARIABLES, falls])


def _one_cycle(steps, pace, settings):
  """Linear up, then down to 0: Smith and Topin, arXiv 1708.07120."""
  end, warmup = float(pace.last_step + pace.offset), settings.warmup
  done = (tf.to_float(steps) + 0.5) / end  # In the middle of the step.
  rising, falling = done / warmup, (1 - done) / (1 - warmup)
  # Asynchronous workers may take a few steps beyond the end.
  return tf.maximum(settings.learning_rate * tf.minimum(rising, falling), 0.0)


def count_falls(validations, patience):
  """The number of falls of the learning rate after some validations.

  Validations are pairs (step, precision), in order. The rate falls after
  `patience` of them in a row without a new best; then the count starts again.
  """
  best, waited, falls = -1.0, 0, 0
  for _, precision in validations:
    waited += 1
    if precision > best:
      best, waited = precision, 0
    elif waited == patience:
      falls, waited = falls + 1, 0
  return falls


def boundaries_and_rates(settings):
  """The numbers in --boundaries and --rates; UserError if they do not match."""
  try:
    boundaries, rates = ([float(part)
                          for part in text.split(',')]
                         for text in (settings.boundaries, settings.rates))
  except ValueError:
    boundaries, rates = [], []
  if not (boundaries and len(rates) == len(boundaries) + 1 and
          boundaries == sorted(set(boundaries)) and
          all(0 < number <= LARGEST for number in boundaries + rates)):
    raise UserError(
        f'--schedule=piecewise: found --boundaries={settings.boundaries} and '
        f'--rates={settings.rates}; expected epochs above 0 in ascending '
        'order, and one rate more, such as --boundaries=100,150 '
        '--rates=0.1,0.01,0.001')
  return boundaries, rates
