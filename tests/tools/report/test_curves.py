"""The charts of a run: which curves they have, on which axes."""

import re

import pytest

from cifar10.store.run_state import Start
from cifar10.tools.report import charts
from cifar10.tools.report import curves
from cifar10.tools.report import events
from cifar10.util.summaries import precision_tag
from tests.tools.report.runs import make_run

TEST = precision_tag()
TRAIN = precision_tag(eval_data='train_eval')
PLAIN = precision_tag(averaged=False)
TOP_5 = precision_tag(top_k=5, eval_data='train_eval')


def points(*steps):
  return [events.Point(step, 50.0 + step, 0.25) for step in steps]


@pytest.fixture
def drawn(monkeypatch):
  """The arguments of all calls of charts.line_chart, by title."""
  calls = {}

  def line_chart(title, lines, steps, **options):
    calls[title] = {label: values for label, values, _ in lines}, steps
    return ''

  monkeypatch.setattr(charts, 'line_chart', line_chart)
  return calls


def scalars(*steps):
  tags = 'learning_rate', 'losses/total_loss', 'losses/total_loss_raw'
  return {tag: points(*steps) for tag in tags + ('losses/cross_entropy',)}


def test_all_charts_have_the_steps_of_the_run(drawn):
  run = make_run(
    files=[events.EventFile('events', 50.0, 350.0, scalars(100, 200, 300))],
    precisions={TEST: points(150, 390)},
    throughput=points(200, 300),
    starts=(Start(20, 40.0),),
  )
  assert len(curves.draw(run)) == 4
  assert {steps for _, steps in drawn.values()} == {(20, 390)}
  # Without an evaluation, and starts, the curves themselves tell.
  curves.draw(run._replace(precisions={}, starts=()))
  assert drawn['Loss'][1] == (100, 300)


def test_no_more_curves_than_differ(drawn):
  many = points(*range(150))
  curves.draw(make_run(throughput=many[:100], precisions={TEST: points(1)}))
  assert list(drawn['Images per second'][0]) == ['median']
  assert drawn['Precision @ 1, %'][1] == (1, 1)
  curves.draw(make_run(throughput=many, precisions={TEST: points(1)}))
  assert list(drawn['Images per second'][0]) == ['between summaries', 'median']


@pytest.mark.parametrize(
  'tags, title, labels',
  [
    ([TEST], 'Precision @ 1, %', ['test images']),
    ([TRAIN], 'Precision @ 1, training images, %', ['training images']),
    (
      [TEST, TRAIN, PLAIN],
      'Precision @ 1, %',
      ['test images', 'training images', 'variables without averages'],
    ),
    (
      [TEST, TOP_5],
      'Precision, %',
      ['@ 1, test images', '@ 5, training images'],
    ),
  ],
)
def test_evaluations_are_told_apart(drawn, tags, title, labels):
  curves.draw(make_run(precisions={tag: points(0, 100) for tag in tags}))
  lines, _ = drawn[title]
  assert list(lines) == labels
  # In percent, without the untrained model.
  assert [(p.step, p.value) for p in lines[labels[0]]] == [(100, 25.0)]


def test_a_chart_names_its_curves():
  run = make_run(precisions={TEST: points(1, 2), TRAIN: points(1, 2)})
  ((title, svg),) = curves.draw(run)
  texts = re.findall('<text.*?>(.*?)</text>', svg)
  assert {title, 'test images', 'training images'} <= set(texts)
