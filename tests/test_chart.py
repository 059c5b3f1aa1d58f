"""Axes and curves of the pictures in SVG."""

import math
import re

from tests import pictures

chart, svg = pictures.module('chart'), pictures.module('svg')


def test_values_have_their_places():
  axes = chart.Axes(svg.Picture(100), (10, 20), (200, 50), (0, 4), (-1, 1))
  assert [axes.x(value) for value in (0, 1, 4)] == [10, 60, 210]
  assert [axes.y(value) for value in (-1, 0, 1)] == [70, 45, 20]
  assert axes.y(7) == 20  # At the edge.
  axes = chart.Axes(svg.Picture(100), (0, 0), (9, 60), (0, 1), (0.01, 10), True)
  assert [axes.y(value) for value in (0.01, 0.1, 1, 10)] == [60, 40, 20, 0]
  assert axes.y(0) == 60


def points(content):
  (path,) = re.findall('class="line [^>]* d="M([^"]*)"', content)
  return [tuple(map(float, pair.split())) for pair in path.split('L')]


def test_a_straight_line_has_two_points():
  picture = svg.Picture(100)
  axes = chart.Axes(picture, (0, 0), (100, 100), (0, 1), (0, 1))
  axes.curve([(i / 50, i / 50) for i in range(51)], 'blue')
  assert points(str(picture)) == [(0, 100), (100, 0)]


def test_a_curve_stays_where_it_is():
  picture = svg.Picture(100)
  axes = chart.Axes(picture, (0, 0), (100, 100), (0, 1), (-1, 1))
  curve = [(i / 200, math.sin(i / 20)) for i in range(201)]
  axes.curve(curve, 'blue')
  kept = points(str(picture))
  assert 5 < len(kept) < 60
  for x, y in [(axes.x(x), axes.y(y)) for x, y in curve]:
    # The kept points on either side.
    right = next(i for i in range(1, len(kept)) if kept[i][0] >= x)
    (x1, y1), (x2, y2) = kept[right - 1:right + 1]
    area = (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)
    assert abs(area) / math.hypot(x2 - x1, y2 - y1) < 0.21
