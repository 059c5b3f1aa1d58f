"""Charts and images as text."""

import base64
import io
import re

import numpy as np
import pytest

from cifar10.report import charts
from cifar10.report import events

pytest.importorskip('matplotlib')


@pytest.mark.parametrize('log', [False, True])
def test_a_chart_uses_the_colors_of_the_style_sheet(log):
  points = [events.Point(i, 0, 10.0 ** (i % 3)) for i in range(1000)]
  curves = [('one', points, 'faint'), ('two', points[:9], 'second')]
  chart = charts.line_chart('Title', curves, log=log)
  assert set(re.findall('#0{5}.|var.*?[)]', chart)) == {
    'var(--%s)' % name for name in ('main', 'second', 'text', 'grid')
  }
  texts = re.findall('<text.*?>(.*?)</text>', chart)
  assert {'Title', 'one', 'two', '1,000', 'step'} <= set(texts)
  assert ('50' in texts and '1' in texts) == log


def test_the_scale_of_zero_is_not_logarithmic():
  points = [events.Point(i, 0, float(i)) for i in range(5)]
  chart = charts.line_chart('Title', [('', points, 'main')], log=True)
  assert chart == charts.line_chart('Title', [('', points, 'main')])


def test_a_curve_is_smoothed_by_medians():
  points = [events.Point(i, 0, float(i % 5)) for i in range(500)]
  middles = [events.Point(5 * i + 2, 0, 2.0) for i in range(100)]
  assert charts.smooth(points) == middles
  assert charts.smooth(points[:100]) == points[:100]
  assert charts.smooth([]) == []


@pytest.mark.parametrize('depth', [1, 3, 4])
def test_an_image_keeps_its_pixels(depth):
  from matplotlib.image import imread

  image = np.random.RandomState(1).randint(0, 256, (5, 7, depth), np.uint8)
  kind, content = charts.png_uri(image).split(',')
  assert kind == 'data:image/png;base64'
  found = np.round(255 * imread(io.BytesIO(base64.b64decode(content))))
  colors = np.broadcast_to(image[..., :3], (5, 7, 3))
  np.testing.assert_array_equal(found[..., :3], colors)
  opacity = image[..., 3] if depth == 4 else 255
  assert (found[..., 3] == opacity).all()
