"""The pictures in SVG: drawn from the code, in both styles, nothing cut off."""

import itertools
import math
import re
import sys

import pytest

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10.data import shuffle_queue
from cifar10.settings import FIELDS
from cifar10.settings import Settings
from tests.pages import pictures

chart, svg = pictures.module('chart'), pictures.module('svg')


# scripts/lint.sh compares that of the architecture.
@pytest.mark.parametrize('script, path',
                         [('draw_activations', 'activations.svg'),
                          ('draw_gradients', 'vanishing_gradients.svg'),
                          ('draw_schedules', 'schedules.svg')])
def test_a_picture_is_the_one_that_is_drawn(script, path):
  assert pictures.is_current(str(pictures.module(script).draw()), path)


def test_pictures_have_the_names_and_numbers_of_the_code():
  shown = {
      path: set(pictures.texts(pictures.in_docs(path)))
      for path in pictures.PATHS
  }
  assert set(
      FIELDS['activation'].metadata['choices']) <= shown['activations.svg']
  assert set(FIELDS['schedule'].metadata['choices']) <= shown['schedules.svg']
  assert '1,068,298' in shown['tutorial/network.svg']
  examples = Settings(num_gpus=2).examples_per_machine
  assert {
      f'{cifar10_input._RECORDS_PER_READ:,} records at a time',
      f'a whole epoch: {cifar10.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN:,} records, '
      'in random order',
      f'{shuffle_queue._RAW_BATCHES} batches of {examples} records',
      f'{cifar10_input.NUM_PREPROCESS_THREADS} threads distort, a batch each',
      f'{cifar10_input._READY_BATCHES} batches of {examples} images, '
      '24 × 24 × 3',
      f'decay {cifar10.MOVING_AVERAGE_DECAY:g}; the evaluator uses these'
  } <= shown['tutorial/step.svg']


@pytest.mark.parametrize('path', pictures.PATHS)
def test_a_picture_can_be_read_on_light_and_dark_pages(path):
  content = pictures.in_docs(path)
  assert len(content) < 60000 and svg.STYLE in content
  # All colors are those of the style.
  assert not re.search('(?:fill|stroke)="#', content)
  names = set(re.findall(r'\.([a-z-]+)[{,]', svg.STYLE))
  for classes in re.findall('class="([^"]*)"', content):
    assert set(classes.split()) <= names, classes
  right, bottom = map(float,
                      re.search(r'viewBox="0 0 (\d+) (\d+)"', content).groups())
  for size in re.findall(r'font-size="(\d+)"', content):
    assert float(size) / right >= 12 / 760
  found = list(pictures.boxes_of_text(content))
  for text, box in found:
    assert 0 <= box[0] < box[2] <= right, text
    assert 0 <= box[1] < box[3] <= bottom, text
  for (text, a), (other, b) in itertools.combinations(found, 2):
    are_apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    assert are_apart, (text, other)


def test_a_script_writes_its_picture(tmp_path, monkeypatch):

  def draw():
    picture = svg.Picture(100)
    picture.text(10, 20, 'a < b')
    return picture

  monkeypatch.setattr(sys, 'argv', ['draw', str(tmp_path / 'out.svg')])
  svg.main('Draws.', draw)
  content = (tmp_path / 'out.svg').read_text()
  assert pictures.texts(content) == ['a < b']


def test_values_have_their_places():
  axes = chart.Axes(svg.Picture(100), (10, 20), (200, 50), (0, 4), (-1, 1))
  assert [axes.x(value) for value in (0, 1, 4)] == [10, 60, 210]
  assert [axes.y(value) for value in (-1, 0, 1, 7)] == [70, 45, 20, 20]
  axes = chart.Axes(svg.Picture(100), (0, 0), (9, 60), (0, 1), (0.01, 10), True)
  assert [axes.y(value) for value in (0, 0.01, 0.1, 10)] == [60, 60, 40, 0]


def test_a_curve_has_few_points_and_stays_where_it_is():
  axes = chart.Axes(svg.Picture(100), (0, 0), (100, 100), (0, 1), (-1, 1))
  line = [(i / 50, i / 50) for i in range(51)]
  assert axes.path(line) == 'M0 50L100 0'
  curve = [(i / 200, math.sin(i / 20)) for i in range(201)]
  kept = [
      tuple(map(float, pair.split()))
      for pair in axes.path(curve)[1:].split('L')
  ]
  assert 5 < len(kept) < 60
  for x, y in [(axes.x(x), axes.y(y)) for x, y in curve]:
    # The kept points on either side.
    right = next(i for i in range(1, len(kept)) if kept[i][0] >= x)
    (x1, y1), (x2, y2) = kept[right - 1:right + 1]
    area = (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)
    assert abs(area) / math.hypot(x2 - x1, y2 - y1) < 0.21
