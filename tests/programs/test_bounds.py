"""Numbers: each has bounds, and works at both of them."""

import math
import time

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import settings as settings_lib
from cifar10.nets import layers
from cifar10.nets import variable_scope
from cifar10.run import progress
from cifar10.settings import Settings
from cifar10.store import config as config_lib
from cifar10.store import run_state
from tests import short_runs

NUMBERS = [
    name for name, field in settings_lib.FIELDS.items()
    if 'help' in field.metadata and {int, float} & set(config_lib.types(field))
]


def bounds(name):
  limits = settings_lib.FIELDS[name].metadata
  return limits['least'], limits['most']


def at_bounds(*groups):
  """Pairs (name, value) for the numbers of some groups."""
  return [(name, value) for name in NUMBERS
          if settings_lib.GROUP_OF[name] in groups for value in bounds(name)]


def with_effect(name, value):
  """The Settings in which a setting has a value, and an effect."""
  owner, choices = settings_lib.FIELDS[name].metadata['needs'] or (None, ())
  needed = {owner: choices[0]} if choices else {}
  return Settings(**dict(needed, **{name: value}))


def test_every_number_has_bounds_around_its_default():
  for name in NUMBERS:
    lower, upper = bounds(name)
    default = settings_lib.FIELDS[name].default
    assert lower < upper, name
    assert default is None or lower <= default <= upper, name


@pytest.mark.parametrize(
    'name, value',
    at_bounds('optimizer', 'schedule', 'regularization') +
    [('learning_rate', 1e38), ('moving_average_decay', 1.0)])
def test_steps_are_taken_at_both_bounds(name, value):
  config = with_effect(name, value)
  state = run_state.RunState((), 50000, ((0, 128),))
  with tf.Graph().as_default(), tf.Session() as session:
    step = tf.train.get_or_create_global_step()
    with variable_scope.training_scope(config), tf.variable_scope('local3'):
      weights = layers.variable_with_weight_decay('weights', [4, 3], stddev=0.1,
                                                  wd=0.1)
    loss = cifar10.loss(tf.matmul([[1.0, 2.0, 3.0, 4.0]], weights), [0],
                        label_smoothing=config.label_smoothing)
    train_op = cifar10.train(loss, step, config, state.pace(config))
    session.run(tf.global_variables_initializer())
    session.run(train_op)
    # A loss that is not finite has an error of its own.
    assert math.isfinite(session.run(loss)) or value in (1.0, 1e38)
    step.load((1 << 63) - 2, session)
    session.run(train_op)


@pytest.mark.parametrize('schedule', ['one_cycle', 'piecewise', 'power'])
def test_schedules_reach_the_last_step_that_there_can_be(schedule):
  values = {'max_steps': bounds('max_steps')[1], 'num_epochs_per_decay': 1e30}
  if schedule == 'piecewise':
    values = {'boundaries': '1,1e20,1e38', 'rates': '1e-38,0.1,0.2,1e38'}
  state = run_state.RunState((), 50000, ((0, 128), (9, 1)))
  config = Settings(schedule=schedule, **values)
  with tf.Graph().as_default(), tf.Session() as session:
    step = tf.train.get_or_create_global_step()
    rate = short_runs.learning_rate(step, config, state)
    for number in (0, (1 << 62) - 1):
      step.load(number, session)
      assert 0 <= session.run(rate) < math.inf


def test_a_run_without_an_end_shows_its_progress(capsys):
  state = run_state.RunState((), 50000, ((0, 128),))
  config = Settings(max_steps=bounds('max_steps')[1])
  with progress.LiveLine() as line:
    hook = progress.ProgressHook(None, None, config, state, line)
    hook._first_step, hook._first_time = 0, time.monotonic() - 60
    hook._reported_step, hook._reported_time = 0, time.monotonic() - 60
    hook._report(np.int64(1), np.float32(4.68))
  expected = 'step 1 of 9223372036854775807, epoch 0.0, loss = 4.68, 2.1 exampl'
  assert expected in capsys.readouterr().out
