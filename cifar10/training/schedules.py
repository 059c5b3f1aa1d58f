"""Schedules of the learning rate.

A schedule is a function of the progress of a run, in steps of its present
batch size: what an earlier batch size has seen is counted in these, so that
the rate depends on the examples seen. See `run_state.RunState.step_offset`.
"""

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util.flag_field import LARGEST

# The collection of the variable that counts the falls of `performance`.
FALLS = 'learning_rate_falls'


def create(global_step, config, run_state):
  """The learning rate.

  Args:
    global_step: integer variable, counts the steps.
    config: config.Config.
    run_state: run_state.RunState.

  Returns:
    float32 scalar tensor.

  Raises:
    UserError: --boundaries and --rates do not fit.
  """
  settings, initial_rate = config.schedule, config.learning_rate
  steps = global_step + run_state.step_offset
  steps_per_epoch = run_state.examples_per_epoch / run_state.examples_per_step
  # A float holds what an integer tensor cannot.
  decay_steps = float(
    max(1, int(steps_per_epoch * settings.num_epochs_per_decay))
  )

  def piecewise():
    boundaries, rates = pieces(settings)
    # The last step before each boundary still has the rate before it.
    last_steps = [
      min(round(epoch * steps_per_epoch) - 1, tf.int64.max)
      for epoch in boundaries
    ]
    return tf.train.piecewise_constant(steps, last_steps, rates)

  def one_cycle():
    last_step = run_state.last_step(config.optimization)
    end = last_step + run_state.step_offset
    return _one_cycle(steps, float(end), initial_rate, settings.warmup)

  return {
    'exponential': lambda: tf.train.exponential_decay(
      initial_rate,
      steps,
      decay_steps,
      settings.learning_rate_decay_factor,
      staircase=settings.staircase,
    ),
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

  Args:
    settings: settings.Schedule.

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
