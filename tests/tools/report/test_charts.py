"""The charts of a run, which curves they have, and images as text."""

import re

import pytest

from cifar10.infer import precision
from cifar10.tools.report import charts
from cifar10.tools.report import events
from tests.tools.report.runs import make_run

pytest.importorskip('matplotlib')

TEST = precision.tag()
TRAIN = precision.tag(eval_data='train_eval')
PLAIN = precision.tag(averaged=False)
TOP_5 = precision.tag(top_k=5, eval_data='train_eval')


@pytest.mark.parametrize('log', [False, True])
def test_a_chart_uses_the_colors_of_the_style_sheet(log):
  points = [events.Point(i, 0, 10.0**(i % 3)) for i in range(1000)]
  curves = [('one', points, 'faint'), ('two', points[:9], 'second')]
  chart = charts.line_chart('Title', curves, (0, 1000), log=log)
  assert set(re.findall('#0{5}.|var.*?[)]', chart)) == {
      'var(--%s)' % name for name in ('main', 'second', 'text', 'grid')
  }
  texts = re.findall('<text.*?>(.*?)</text>', chart)
  assert {'Title', 'one', 'two', '1,000', 'step'} <= set(texts)
  assert ('50' in texts and '1' in texts) == log


def test_a_curve_is_smoothed_by_medians():
  points = [events.Point(i, 0, float(i % 5)) for i in range(500)]
  middles = [events.Point(5 * i + 2, 0, 2.0) for i in range(100)]
  middles[-1] = events.Point(499, 0, 2.0)  # Not before the curve's end.
  assert charts.smooth(points) == middles
  assert charts.smooth(points[:100]) == points[:100]
  assert charts.smooth([]) == []


@pytest.mark.parametrize(
    'tags, title, labels',
    [([TEST], 'Precision @ 1, %', ['test images']),
     ([TRAIN], 'Precision @ 1, training images, %', ['training images']),
     ([TEST, TRAIN, PLAIN], 'Precision @ 1, %',
      ['test images', 'training images', 'variables without averages']),
     ([TEST, TOP_5
      ], 'Precision, %', ['@ 1, test images', '@ 5, training images'])])
def test_evaluations_are_told_apart(monkeypatch, tags, title, labels):
  drawn = {}
  monkeypatch.setattr(
      charts, 'line_chart',
      lambda name, curves, *_, **__: drawn.update({name: curves}))
  points = [events.Point(step, 50.0 + step, 0.25) for step in (0, 100)]
  charts.draw(make_run(precisions=dict.fromkeys(tags, points)))
  assert [label for label, _, _ in drawn[title]] == labels
  # In percent, without the untrained model.
  assert [(p.step, p.value) for p in drawn[title][0][1]] == [(100, 25.0)]
