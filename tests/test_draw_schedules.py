"""The picture of the schedules: the rates of the trainers."""

import pytest

from cifar10.settings import FIELDS
from tests import pictures

draw_schedules = pictures.module('draw_schedules')


def test_the_picture_is_that_of_the_schedules():
  content = str(draw_schedules.draw())
  assert pictures.is_current(content, 'schedules.svg')
  assert set(FIELDS['schedule'].metadata['choices']) <= set(
      pictures.texts(content))


def rate_at(epoch, **changes):
  """The rate at the step after an epoch; epochs have 390.625 steps."""
  return next(
      rate for now, rate in draw_schedules.rates(**changes) if now >= epoch)


def test_rates_are_those_of_the_formulas():
  staircase = {'schedule': 'exponential', 'num_epochs_per_decay': 6.0}
  assert rate_at(5.9, **staircase) == pytest.approx(0.1)
  assert rate_at(6.1, **staircase) == pytest.approx(0.01)
  assert rate_at(3, staircase=False,
                 **staircase) == pytest.approx(0.1**1.5, rel=0.03)
  assert rate_at(5, schedule='power',
                 num_epochs_per_decay=5.0) == pytest.approx(0.05, rel=0.01)


def test_performance_falls_after_validations_that_are_not_better():
  changes, _ = draw_schedules._SHOWN['performance']
  rates = dict.fromkeys(
      round(rate, 4)
      for _, rate in draw_schedules.rates(schedule='performance', **changes))
  assert list(rates)[:3] == [0.1, 0.03, 0.009]
  assert rate_at(7.5, schedule='performance', **changes) == pytest.approx(0.1)
