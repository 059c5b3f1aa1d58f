"""The picture of the activation functions: their values and derivatives."""

import math

import pytest

from cifar10.settings import FIELDS
from tests import pictures

draw_activations = pictures.module('draw_activations')


def test_the_picture_is_that_of_the_functions():
  content = str(draw_activations.draw())
  assert pictures.is_current(content, 'activations.svg')
  assert set(FIELDS['activation'].metadata['choices']) <= set(
      pictures.texts(content))


@pytest.mark.parametrize(
    'kind, value, slope',
    [('relu', lambda x: max(x, 0), lambda x: float(x > 0)),
     ('sigmoid', lambda x: 1 / (1 + math.exp(-x)), lambda x: math.exp(-x) /
      (1 + math.exp(-x))**2),
     ('prelu', lambda x: max(x, 0.25 * x), lambda x: 1 if x > 0 else 0.25)])
def test_points_are_those_of_the_formula(kind, value, slope):
  values, slopes = draw_activations.curves(kind)
  assert len(values) == len(slopes) > 100
  for x, y in values:
    assert y == pytest.approx(value(x), abs=1e-5)
  for x, y in slopes:
    assert y == pytest.approx(slope(x), abs=1e-5)
