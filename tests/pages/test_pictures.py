"""The pictures in SVG: as the code says, in both styles, nothing cut off.

scripts/lint.sh compares that of the architecture with its script.
"""

import itertools
import os
from pathlib import Path
import re
from xml.etree import ElementTree

import pytest

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10.data import shuffle_queue
from cifar10.settings import FIELDS
from cifar10.settings import Settings
from tests import short_runs

DOCS = Path(short_runs.ROOT, 'docs')
PICTURES = {
    str(path.relative_to(DOCS)): path.read_text(encoding='utf-8')
    for path in sorted(DOCS.rglob('*.svg'))
}
_EM = 0.5  # The width of a letter, on average, in multiples of its size.


def elements(content):
  """All elements with text."""
  return ElementTree.fromstring(content).iter(
      '{http://www.w3.org/2000/svg}text')


def boxes_of_text(content):
  """Pairs of each text and its (left, top, right, bottom), about."""
  size_of_picture = float(ElementTree.fromstring(content).get('font-size', 16))
  for element in elements(content):
    size = float(element.get('font-size', size_of_picture))
    x, y = float(element.get('x')), float(element.get('y'))
    width = _EM * size * len(element.text)
    share = {'start': 0, 'middle': 0.5, 'end': 1}
    left = x - width * share[element.get('text-anchor', 'start')]
    yield element.text, (left, y - 0.7 * size, left + width, y)


def test_pictures_have_the_names_and_numbers_of_the_code():
  shown = {
      path: {element.text for element in elements(content)}
      for path, content in PICTURES.items()
  }
  assert set(
      FIELDS['activation'].metadata['choices']) <= shown['activations.svg']
  assert set(FIELDS['schedule'].metadata['choices']) <= shown['schedules.svg']
  network, step = (
      os.path.join('tutorial', name) for name in ('network.svg', 'step.svg'))
  assert '1,068,298' in shown[network]
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
  } <= shown[step]


@pytest.mark.parametrize('script', ['draw_clusters', 'draw_training'])
def test_pictures_are_those_of_their_scripts(script, tmp_path):
  short_runs.module_of('pages', script).main(tmp_path)
  for drawn in tmp_path.iterdir():
    assert drawn.read_text(encoding='utf-8') == PICTURES[drawn.name]


@pytest.mark.slow
def test_the_layers_of_a_ship_are_drawn(tmp_path):
  draw_layers = short_runs.module_of('pages', 'draw_layers')
  parts = itertools.chain.from_iterable(draw_layers.draw())
  # Its pixels may round otherwise on another processor.
  texts = [re.sub('.*">|</.*', '', part) for part in parts if '<text' in part]
  assert texts == [element.text for element in elements(PICTURES['layers.svg'])]


@pytest.mark.parametrize('path', PICTURES)
def test_a_picture_can_be_read_on_light_and_dark_pages(path):
  content = PICTURES[path]
  assert len(content) < 60000
  # All colors are those of the style, which all pictures share.
  (style,) = {
      re.search('<style>(.*)</style>', other).group(1)
      for other in PICTURES.values()
  }
  assert not re.search('(?:fill|stroke)="#', content)
  names = set(re.findall(r'\.([a-z-]+)[{,]', style))
  for classes in re.findall('class="([^"]*)"', content):
    assert set(classes.split()) <= names, classes
  right, bottom = map(float,
                      re.search(r'viewBox="0 0 (\d+) (\d+)"', content).groups())
  for size in re.findall(r'font-size="(\d+)"', content):
    assert float(size) / right >= 12 / 760
  found = list(boxes_of_text(content))
  for text, box in found:
    assert 0 <= box[0] < box[2] <= right, text
    assert 0 <= box[1] < box[3] <= bottom, text
  for (text, a), (other, b) in itertools.combinations(found, 2):
    are_apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    assert are_apart, (text, other)
