"""Schedules of the learning rate, by the examples seen."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.optim import schedules
from cifar10.settings import Settings
from cifar10.store import run_state
from tests import short_runs

# 100 steps an epoch.
STATE = run_state.RunState((), 1000, ((0, 10),))


def rates(steps, state=STATE, **settings):
  global_step = tf.train.get_or_create_global_step()
  config = Settings(learning_rate=0.5, **settings)
  rate = short_runs.learning_rate(global_step, config, state)
  assert rate.dtype == tf.float32
  found = []
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in steps:
      global_step.load(step, session)
      found.append(session.run(rate))
  return found


def test_exponential_falls_in_steps():
  found = rates([0, 199, 200, 399, 400], num_epochs_per_decay=2.0,
                learning_rate_decay_factor=0.5)
  np.testing.assert_allclose(found, [0.5, 0.5, 0.25, 0.25, 0.125])


def test_exponential_falls_at_each_step():
  steps = [0, 1, 100, 250]
  found = rates(steps, num_epochs_per_decay=2.0, learning_rate_decay_factor=0.5,
                staircase=False)
  expected = [0.5 * 0.5**(step / 200) for step in steps]
  np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_constant_stays():
  np.testing.assert_allclose(rates([0, 10**9], schedule='constant'), [0.5, 0.5])


def test_piecewise_changes_at_the_epochs():
  found = rates([0, 149, 150, 299, 300], schedule='piecewise',
                boundaries='1.5,3', rates='0.3,0.2,0.1')
  np.testing.assert_allclose(found, [0.3, 0.3, 0.2, 0.2, 0.1])


def test_power_falls_as_a_power():
  steps = [0, 100, 1000]
  found = rates(steps, schedule='power', num_epochs_per_decay=2.0, power=0.5)
  expected = [0.5 / (1 + step / 200)**0.5 for step in steps]
  np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_one_cycle_rises_and_falls_in_straight_lines():
  cycle = {'schedule': 'one_cycle', 'warmup': 0.25, 'max_steps': 400}
  found = rates(range(400), **cycle)
  # Each step has the rate of its middle.
  middle = (np.arange(400) + 0.5) / 400
  expected = 0.5 * np.interp(middle, [0, 0.25, 1], [0, 1, 0])
  np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize('settings', [{
    'num_epochs_per_decay': 2.0
}, {
    'schedule': 'power',
    'num_epochs_per_decay': 2.0
}, {
    'schedule': 'piecewise',
    'boundaries': '2',
    'rates': '1,2'
}, {
    'schedule': 'one_cycle',
    'epochs': 4
}])
def test_another_batch_size_changes_nothing_by_examples(settings):
  # 150 steps of 10 images, then batches of 20.
  changed = run_state.RunState((), 1000, ((0, 10), (150, 20)))
  (expected,) = rates([200], **settings)
  with tf.Graph().as_default():
    (found,) = rates([175], changed, **settings)
  assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize('boundaries, values', [('', ''), ('1', '0.1'),
                                                ('1,2', '0.1,0.2'),
                                                ('2,1', '0.1,0.2,0.3'),
                                                ('1,1', '0.1,0.2,0.3'),
                                                ('x', '0.1,0.2'),
                                                ('inf', '0.1,0.2'),
                                                ('-1e38,1', '0.1,0.2,0.3'),
                                                ('0,1', '0.1,0.2,0.3'),
                                                ('1', 'nan,0.2'),
                                                ('1', '0.1,-0.2')])
def test_boundaries_and_rates_that_do_not_fit_are_shown(boundaries, values):
  config = Settings(schedule='piecewise', boundaries=boundaries, rates=values)
  with pytest.raises(UserError) as info:
    schedules.boundaries_and_rates(config)
  line = str(info.value)
  assert 'found --boundaries=%s and --rates=%s;' % (boundaries, values) in line
