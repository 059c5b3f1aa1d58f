"""Charts of the results: scripts/benchmarks/plot.py."""

import json
import os

from matplotlib import image as image_lib
import numpy as np
import pytest

from cifar10.errors import UserError
from tests import short_runs

RESULTS = os.path.join(short_runs.ROOT, 'docs', 'results')

plot = short_runs.module_at(
    os.path.join(short_runs.ROOT, 'scripts', 'benchmarks', 'plot.py'))


def results(name):
  with open(os.path.join(RESULTS, name), encoding='utf-8') as file:
    return json.load(file)


def labels(axes):
  return [label.get_text() for label in axes.get_yticklabels()]


def texts(axes):
  return [text.get_text().strip() for text in axes.texts]


def test_the_bars_are_those_of_the_table():
  (axes,) = plot.draw_benchmark(results('benchmark.json')).axes
  assert dict(zip(labels(axes), texts(axes))) == {
      'training, end to end': '2.08',
      'training, against Keras': '2.04',
      'training, against PyTorch': '2.87',
      'evaluation': '1.50',
      'first step of the process': '1.30',
      'peak memory': '1.01',
      'input alone': '6.18',
      'response normalization': '4.19',
      'conv2 with its gradients': '2.30'
  }


def test_bars_that_were_not_measured_are_left_out():
  found = dict(plot.bars(results('benchmark_1.15.5.json')['rows']))
  assert 'training, against Keras' not in found
  assert np.median(found['evaluation']) == pytest.approx(1.51, abs=0.005)


def precisions(names, times=None):
  found = [results(name + '.json') for name in names]
  if times:
    found = [plot.timed_again(result, times) for result in found]
  (axes,) = plot.draw_precision(found).axes
  return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def test_precisions_are_drawn_against_minutes():
  lines = precisions(['float32', 'tutorial', 'fast'])
  assert list(lines) == [
      'tutorial, float32, averaged', 'tutorial, float32, plain',
      'tutorial: 85.84 %', 'tutorial, --tta: 87.43 %', 'fast: 93.42 %',
      'fast, --tta: 94.15 %'
  ]
  np.testing.assert_allclose(lines['tutorial, float32, averaged'][-1],
                             [115.46, 85.84], atol=0.1)
  assert lines['fast: 93.42 %'].shape == (10, 2)


def test_minutes_are_those_of_another_machine():
  # Seconds of a step in two rounds.
  seconds = {'tutorial': [0.1, 0.2], 'fast': [8, 8]}
  lines = precisions(['float32', 'tutorial', 'fast'], seconds)
  curve = lines['tutorial, float32, averaged']
  np.testing.assert_allclose(curve[-1], [100000 * 0.15 / 60, 85.84], atol=0.01)
  np.testing.assert_allclose(lines['tutorial: 85.84 %'], curve[-1:], atol=0.01)
  # 225 steps; the precisions stay as they were.
  fast = lines['fast: 93.42 %']
  np.testing.assert_allclose(fast[:, 0], 225 * 8 / 60)
  np.testing.assert_array_equal(fast[:, 1],
                                precisions(['fast'])['fast: 93.42 %'][:, 1])


def test_techniques_are_differences_with_the_best_at_the_top():
  (axes,) = plot.draw_comparison(results('techniques.json')).axes
  names = labels(axes)
  assert names[:2] == ['logits normalized too', 'batch normalization']
  assert 'default' not in names
  assert names.index('Nesterov') < names.index('momentum')
  assert names[-1] in ('he', 'SELU')
  # Those far below the default are there as text.
  assert {'-67.7', '-9.9', 'diverges'} <= set(texts(axes))
  assert axes.get_xlim()[0] == -6.3


@pytest.mark.parametrize('name', ['benchmark', 'techniques', 'search'])
def test_a_picture_is_small_and_wide_enough(tmp_path, name):
  out = str(tmp_path / 'out.png')
  plot.draw([os.path.join(RESULTS, name + '.json')], out)
  assert os.path.getsize(out) < 150000
  assert 900 < image_lib.imread(out).shape[1] < 1200


def test_other_files_are_named(tmp_path):
  with pytest.raises(UserError, match='missing.json: no such file'):
    plot.draw([str(tmp_path / 'missing.json')], 'out.png')
  path = tmp_path / 'other.json'
  path.write_text('{}')
  with pytest.raises(UserError, match='other.json: expected results'):
    plot.draw([str(path)], 'out.png')
  with pytest.raises(UserError, match='gradients.json: expected results'):
    plot.draw([os.path.join(RESULTS, 'gradients.json')], 'out.png')
  paths = [os.path.join(RESULTS, name) for name in ('fast.json', 'search.json')]
  with pytest.raises(UserError, match='only precisions are drawn together'):
    plot.draw(paths, 'out.png')
