"""Schedules of the learning rate, by the examples seen."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.optim import schedules
from cifar10.settings import Settings
from cifar10.store import run_state
from tests import graphs
from tests import short_runs

# 100 steps an epoch.
STATE = run_state.RunState((), 1000, ((0, 10),))


def rates(steps, state=STATE, **settings):
  global_step = tf.train.get_or_create_global_step()
  config = Settings(**dict({'learning_rate': 0.5}, **settings))
  rate = short_runs.learning_rate(global_step, config, state)
  assert rate.dtype == tf.float32
  found = []
  with graphs.session() as session:
    for step in steps:
      global_step.load(step, session)
      found.append(session.run(rate))
  return found


@pytest.mark.parametrize('examples_per_epoch, stretches, first, second', [
    (50000, ((0, 128),), 136718, 273436),  # The tutorial's.
    (50000, ((0, 256),), 68359, 136718),
    (50000, ((0, 1000),), 17500, 35000),
    (1000, ((0, 128),), 2734, 5468),
    # 36,718 more batches of 128 are 18,359 of 256.
    (50000, ((0, 128), (100000, 256)), 118359, 186718),
])  # yapf: disable
def test_the_tutorials_falls_to_a_tenth_every_350_epochs(
    examples_per_epoch, stretches, first, second):
  state = run_state.RunState((), examples_per_epoch, stretches)
  found = rates([stretches[-1][0], first - 1, first, second - 1, second], state,
                learning_rate=None)
  np.testing.assert_allclose(found, [0.1, 0.1, 0.01, 0.01, 0.001], rtol=1e-5)


@pytest.mark.parametrize('formula, settings', [
    (lambda step: 0.5 * 0.5**(step / 200),
     {'learning_rate_decay_factor': 0.5, 'staircase': False}),
    (lambda step: 0.5, {'schedule': 'constant'}),
    (lambda step: 0.5 / (1 + step / 200)**0.5,
     {'schedule': 'power', 'power': 0.5}),
], ids=['exponential', 'constant', 'power'])  # yapf: disable
def test_the_rate_of_a_step_is_the_formula(formula, settings):
  steps = [0, 1, 100, 250, 1000, 10**9]
  found = rates(steps, num_epochs_per_decay=2.0, **settings)
  np.testing.assert_allclose(found, [formula(s) for s in steps], rtol=1e-6)


def test_piecewise_changes_at_the_epochs():
  found = rates([0, 149, 150, 299, 300], schedule='piecewise',
                boundaries='1.5,3', rates='0.3,0.2,0.1')
  np.testing.assert_allclose(found, [0.3, 0.3, 0.2, 0.2, 0.1])


def test_one_cycle_rises_and_falls_in_straight_lines():
  cycle = {'schedule': 'one_cycle', 'warmup': 0.25, 'max_steps': 400}
  found = rates(range(400), **cycle)
  # Each step has the rate of its middle.
  middle = (np.arange(400) + 0.5) / 400
  expected = 0.5 * np.interp(middle, [0, 0.25, 1], [0, 1, 0])
  np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize('schedule', ['power', 'piecewise', 'one_cycle'])
def test_another_batch_size_changes_nothing_by_examples(schedule):
  # 150 steps of 10 images, then batches of 20.
  changed = run_state.RunState((), 1000, ((0, 10), (150, 20)))
  settings = {'num_epochs_per_decay': 2.0, 'boundaries': '2', 'rates': '1,2'}
  settings.update(schedule=schedule, epochs=4)
  (expected,) = rates([200], **settings)
  with tf.Graph().as_default():
    (found,) = rates([175], changed, **settings)
  assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize('text', [
    ':', '1:0.1', '1,2:0.1,0.2', '2,1:0.1,0.2,0.3', '1,1:0.1,0.2,0.3',
    'x:0.1,0.2', 'inf:0.1,0.2', '-1e38,1:0.1,0.2,0.3', '0,1:0.1,0.2,0.3',
    '1:nan,0.2', '1:0.1,-0.2'
])
def test_boundaries_and_rates_that_do_not_fit_are_shown(text):
  boundaries, values = text.split(':')
  config = Settings(schedule='piecewise', boundaries=boundaries, rates=values)
  problem = f'found --boundaries={boundaries} and --rates={values};'
  with pytest.raises(UserError, match=problem):
    schedules.boundaries_and_rates(config)
