"""Schedules of the learning rate, besides the tutorial's exponential decay.

A schedule is a function of the progress of a run, in steps of its present
batch size: what an earlier batch size has seen is counted in these, so that
the rate depends on the examples seen. See `Pace.offset`.
"""

from typing import NamedTuple, Optional

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.settings.field import LARGEST

# The collection of the variable that counts the falls of `performance`.
FALLS = 'learning_rate_falls'


class Pace(NamedTuple):
  """How steps relate to the examples of a run.

  Attributes:
    steps_per_epoch: a float; a decay after so many epochs comes with N towers
      after 1/N of the steps.
    offset: how far the examples seen are ahead of the global step, in steps.
    last_step: the global step at which training ends.
  """

  steps_per_epoch: float
  offset: int = 0
  last_step: Optional[int] = None

  def decay_steps(self, epochs):
    """The whole steps in some epochs; a float holds what no int32 can."""
    return float(max(1, int(self.steps_per_epoch * epochs)))


def create(steps, pace, settings):
  """The learning rate of a schedule.

  Args:
    steps: integer tensor, the global step plus `pace.offset`.
    pace: Pace.
    settings: settings.Settings.

  Returns:
    float32 scalar tensor.

  Raises:
    UserError: --boundaries and --rates do not fit.
  """
  initial_rate = settings.learning_rate
  decay_steps = pace.decay_steps(settings.num_epochs_per_decay)

  def piecewise():
    boundaries, rates = pieces(settings)
    # The last step before each boundary still has the rate before it.
    last_steps = [
      min(round(epoch * pace.steps_per_epoch) - 1, tf.int64.max)
      for epoch in boundaries
    ]
    return tf.train.piecewise_constant(steps, last_steps, rates)

  def one_cycle():
    end = float(pace.last_step + pace.offset)
    return _one_cycle(steps, end, initial_rate, settings.warmup)

  return {
    'constant': lambda: tf.constant(initial_rate),
    'piecewise': piecewise,
    'power': lambda: (
      initial_rate * (1 + tf.to_float(steps) / decay_steps) ** -settings.power
    ),
    'performance': lambda: (
      initial_rate * settings.learning_rate_decay_factor ** _falls()
    ),
    'one_cycle': one_cycle,
  }[settings.schedule]()


def _falls():
  """How often the rate has fallen so far, which a ValidationHook tells.

  Not trained, but saved: on a cluster all workers see it.
  """
  return tf.get_variable(
    'learning_rate_falls',
    [],
    tf.float32,
    tf.zeros_initializer(),
    trainable=False,
    collections=[tf.GraphKeys.GLOBAL_VARIABLES, FALLS],
  )


def count_falls(validations, patience):
  """How often a rate falls that waits `patience` validations for a better one.

  Args:
    validations: pairs (step, precision), in order.
    patience: validations in a row that are not better than the best one before
      a fall; then it waits anew.

  Returns:
    int.
  """
  best, waited, falls = -1.0, 0, 0
  for _, precision in validations:
    waited += 1
    if precision > best:
      best, waited = precision, 0
    elif waited == patience:
      falls, waited = falls + 1, 0
  return falls


def _one_cycle(steps, end, highest, warmup):
  """Linear up to `highest` during a share of the run, and linear down to 0.

  Smith and Topin, "Super-Convergence", arXiv 1708.07120.
  """
  done = (tf.to_float(steps) + 0.5) / end  # In the middle of the step.
  rate = highest * tf.minimum(done / warmup, (1 - done) / (1 - warmup))
  # Asynchronous workers may take a few steps beyond the end.
  return tf.maximum(rate, 0.0)


def pieces(settings):
  """What --boundaries and --rates say.

  Returns:
    boundaries: list of floats, epochs.
    rates: list of floats, one more.

  Raises:
    UserError: they are not numbers in ascending order, or do not fit.
  """
  try:
    boundaries, rates = (
      [float(part) for part in text.split(',')]
      for text in (settings.boundaries, settings.rates)
    )
  except ValueError:
    boundaries, rates = [], []
  if not all(abs(number) <= LARGEST for number in boundaries + rates):
    boundaries, rates = [], []
  in_order = boundaries == sorted(set(boundaries)) and min(rates, default=0) > 0
  if not boundaries or len(rates) != len(boundaries) + 1 or not in_order:
    raise UserError(
      '--schedule=piecewise: found --boundaries=%s and --rates=%s; expected '
      'epochs in ascending order, and one rate more, such as '
      '--boundaries=100,150 --rates=0.1,0.01,0.001'
      % (settings.boundaries, settings.rates)
    )
  return boundaries, rates
