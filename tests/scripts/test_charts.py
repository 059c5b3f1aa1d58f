"""The charts in PNG, drawn by scripts/benchmarks from runs and raw files."""

import json
import os
import types

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import distortions
from cifar10.errors import UserError
from tests import processes
from tests import short_runs

BENCHMARKS = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks')
RESULTS = os.path.join(short_runs.ROOT, 'docs', 'results')

draw_augmentations, draw_run, learning_rates, plot = (short_runs.module_of(
    'benchmarks', name) for name in ('draw_augmentations', 'draw_run',
                                     'learning_rates', 'plot'))


def results(name):
  with open(os.path.join(RESULTS, name), encoding='utf-8') as file:
    return json.load(file)


def labels(axes):
  return [label.get_text() for label in axes.get_yticklabels()]


def texts(axes):
  return [text.get_text().strip() for text in axes.texts]


def test_charts_show_the_results():
  (axes,) = plot.draw_benchmark(results('benchmark.json')).axes
  shown = dict(zip(labels(axes), texts(axes)))
  assert len(shown) == 9
  assert shown['training, end to end'] == '2.24'
  assert shown['training, against PyTorch'] == '3.29'
  # What was not measured is left out.
  found = dict(plot.bars(results('benchmark_1.15.5.json')['rows']))
  assert 'training, against Keras' not in found
  # The best at the top; those far below the default are there as text.
  (axes,) = plot.draw_comparison(results('techniques.json')).axes
  names = labels(axes)
  assert names[:2] == ['batch normalization, logits too', 'batch normalization']
  assert 'default' not in names and names[-1] in ('He', 'SELU')
  assert {'-67.7', '-9.9', 'diverges'} <= set(texts(axes))


def test_precisions_are_drawn_against_minutes_of_one_machine():
  found = [results(name + '.json') for name in ('float32', 'tutorial', 'fast')]
  # Seconds of a step in two rounds, of 100,000 steps and of 743.
  seconds = {'tutorial': [0.1, 0.2], 'fast': [2, 2]}
  (axes,) = plot.draw_precision(
      [plot.timed_again(run, seconds) for run in found]).axes
  lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
  assert list(lines) == [
      'tutorial, float32', 'tutorial, float32, no averages',
      'tutorial: 86.07 %', 'tutorial, --tta: 87.39 %', 'fast: 93.25 %',
      'fast, --tta: 94.07 %'
  ]
  np.testing.assert_allclose(lines['tutorial, float32'][-1],
                             [100000 * 0.15 / 60, 85.84], atol=0.01)
  np.testing.assert_allclose(lines['fast: 93.25 %'][:, 0],
                             [743 * 2 / 60] * len(found[2]['results']))
  # The runs of `best` were those of another recipe, with flags.
  names = {
      name: plot._read(os.path.join(RESULTS, name + '.json'), {'recipe'})
            ['recipe'] for name in ('tutorial', 'better', 'fast', 'best')
  }
  assert names == {name: name for name in names}


@pytest.mark.parametrize(
    'names, message',
    [(['missing'], 'missing.json: no such file'),
     (['sparse'], 'sparse.json: expected results'),
     (['fast', 'search'], 'only precisions are drawn together')])
def test_other_files_are_named(names, message):
  with pytest.raises(UserError, match=message):
    plot.draw([os.path.join(RESULTS, name + '.json') for name in names], 'out')


@pytest.mark.slow
def test_a_row_for_each_distortion():
  (axes,) = draw_augmentations.draw().axes
  names = labels(axes)
  assert set(names) == {*distortions.NAMES, 'none', "the tutorial's", 'all'
                       } - {'alternating_flip'}
  rows = np.split(np.asarray(axes.get_images()[0].get_array()), len(names))
  # 24 pixels, and a line between; two of each of four images.
  same, flipped = rows[names.index('none')], rows[names.index('flip')]
  assert same.shape == (25, 25 * 8, 3)
  first, again = np.split(same[:, :50], 2, axis=1)
  assert (first == again).all() and not (same == flipped).all()


def test_percentiles_are_those_of_the_values_but_for_the_buckets():
  # As activations: half of them are zero.
  values = np.maximum(np.random.RandomState(1).normal(0, 3, 20000), 0)
  with tf.Session() as session:
    summary = session.run(tf.summary.histogram('x', values.astype(np.float32)))
  histogram = tf.Summary.FromString(summary).value[0].histo
  expected = np.percentile(values, draw_run._PERCENTILES)
  # Buckets grow by a tenth.
  np.testing.assert_allclose(draw_run.percentiles(histogram), expected,
                             rtol=0.1, atol=1e-6)


@pytest.mark.slow
def test_the_pictures_of_a_run_are_drawn_and_drawn_again(tmp_path):
  config = short_runs.trained(tmp_path)
  out, again = tmp_path / 'pictures', tmp_path / 'again'
  draw_run.draw(types.SimpleNamespace(run=config.train_dir, out=str(out)))
  shown = json.loads((out / 'curves.json').read_text())
  assert shown['learning_rate'][0] == [0, pytest.approx(0.1)]
  steps, *percentiles = zip(*shown['local3/activations'])
  assert steps[0] == 0 and len(percentiles) == 7
  drawn = {path.name for path in out.glob('*.png')}
  # All but the images can be drawn from the numbers alone.
  draw_run.draw(
      types.SimpleNamespace(run=str(out / 'curves.json'), out=str(again)))
  assert {path.name for path in again.glob('*')} == {
      'activations.png', 'learning_rate.png', 'losses.png'
  } == drawn - {'inputs.png'}
  _, images = draw_run.read(config.train_dir)
  assert {name for _, name in images.values()
         } <= set(short_runs.prepared(config).classes)


def test_the_falls_of_the_rate_are_marked():
  shown = results(os.path.join('tutorial', 'curves.json'))
  (losses,) = draw_run.draw_losses(shown).axes
  marks = [line for line in losses.get_lines() if line.get_linestyle() == '--']
  # At the steps 2,343 and 4,686, between two events.
  assert [line.get_xdata()[0] for line in marks] == [2400, 4700]


def measured(program, tmp_path, *flags):
  """The runs that a program has measured on the sample."""
  script, out = os.path.join(BENCHMARKS, program + '.py'), tmp_path / 'out.json'
  processes.output([script, '--dataset=sample',
                    '--out=%s' % out, *flags], errors=processes.ANY)
  return json.loads(out.read_text())['runs']


@pytest.mark.slow
def test_each_rate_is_measured_from_the_same_start(tmp_path, monkeypatch):
  monkeypatch.setattr(learning_rates, '_RATES', (0.001, 0.1, 1e6))
  path = tmp_path / 'out.json'
  learning_rates.measure(
      types.SimpleNamespace(dataset='sample', data_dir='', out=str(path),
                            steps=20))
  runs = json.loads(path.read_text())['runs']
  assert [run['learning_rate'] for run in runs] == [0.001, 0.1, 1e6]
  assert len(runs.pop()['cross_entropy']) < 2  # It diverges.
  for run in runs:  # Of ten steps each.
    assert run['cross_entropy'] == pytest.approx([2.3, 2.3], abs=0.2)


@pytest.mark.slow
def test_gradients_of_each_layer_are_measured_and_drawn(tmp_path):
  runs = measured('gradients', tmp_path, '--steps=2', '--batch_size=8')
  assert [run['name'] for run in runs
         ] == ['sigmoid', 'sigmoid, batch normalization', 'ReLU']
  for run in runs:
    assert len(run['cross_entropy']) == 3
    assert list(run['norms']) == [
        'conv1', 'conv2', 'local3', 'local4', 'softmax_linear'
    ]
    for norms in run['norms'].values():
      assert len(norms) == 3 and min(norms) > 0
  # Of one batch, and ten classes.
  assert runs[2]['cross_entropy'][0] == pytest.approx(2.3, abs=0.1)
  figure = plot.draw_gradients({'runs': runs})
  assert [len(axes.get_lines()) for axes in figure.axes] == [5, 5, 5]
