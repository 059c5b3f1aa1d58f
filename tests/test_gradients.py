"""Gradients of each layer in the first steps, measured and drawn."""

import json
import os

import pytest

from tests import pictures
from tests import processes
from tests import short_runs

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks', 'gradients.py')
LAYERS = ['conv1', 'conv2', 'local3', 'local4', 'softmax_linear']

draw_gradients = pictures.module('draw_gradients')


def measured():
  with open(draw_gradients._RESULTS, encoding='utf-8') as file:
    return json.load(file)['runs']


def test_the_picture_is_that_of_the_results():
  content = str(draw_gradients.draw())
  assert pictures.is_current(content, 'vanishing_gradients.svg')
  texts = pictures.texts(content)
  for run in measured():
    assert run['name'] in texts and list(run['norms']) == LAYERS
  assert all(texts.count(layer) == 3 for layer in LAYERS)


def test_gradients_vanish_with_sigmoids_only():
  sigmoid, normalized, relu = measured()
  for run, is_small in ((sigmoid, True), (normalized, False), (relu, False)):
    first = {layer: norms[0] for layer, norms in run['norms'].items()}
    assert (first['conv1'] < first['local4'] / 10) == is_small


@pytest.mark.slow
def test_numbers_of_each_step_are_written(tmp_path):
  out = tmp_path / 'gradients.json'
  status, _, err = processes.run([
      SCRIPT, '--dataset=sample', '--steps=2', '--batch_size=8',
      '--out=%s' % out
  ])
  assert status == 0, err
  runs = json.loads(out.read_text())['runs']
  assert [run['name'] for run in runs
         ] == ['sigmoid', 'sigmoid, batch normalization', 'ReLU']
  for run in runs:
    assert len(run['cross_entropy']) == 3
    assert list(run['norms']) == LAYERS
    for norms in run['norms'].values():
      assert len(norms) == 3 and min(norms) > 0
  # Of one batch, and ten classes.
  assert runs[2]['cross_entropy'][0] == pytest.approx(2.3, abs=0.1)
  assert str(draw_gradients.draw(str(out))).count('class="line') == 15


@pytest.mark.slow
def test_an_error_leaves_earlier_numbers(tmp_path):
  out = tmp_path / 'gradients.json'
  out.write_text('{"runs": []}')
  status, _, err = processes.run(
      [SCRIPT, '--dataset=cifar10',
       '--out=%s' % out,
       '--data_dir=%s' % out])
  assert status == 1 and str(out) in err
  assert json.loads(out.read_text()) == {'runs': []}
