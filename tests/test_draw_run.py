"""The pictures of a run: scripts/benchmarks/draw_run.py."""

import json
import os
import sys

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests import short_runs

sys.path.insert(0, os.path.join(short_runs.ROOT, 'scripts', 'benchmarks'))

import draw_run  # noqa: E402


@pytest.mark.parametrize('scale', [0.01, 1.0, 300.0])
def test_percentiles_are_those_of_the_values_but_for_the_buckets(scale):
  values = np.random.RandomState(1).normal(0, scale, 20000)
  values = np.maximum(values, 0)  # As activations: half of them are zero.
  with tf.Graph().as_default(), tf.Session() as session:
    summary = session.run(tf.summary.histogram('x', values.astype(np.float32)))
  histogram = tf.Summary.FromString(summary).value[0].histo
  expected = np.percentile(values, draw_run._PERCENTILES)
  # Buckets grow by a tenth.
  np.testing.assert_allclose(draw_run.percentiles(histogram), expected,
                             rtol=0.1, atol=1e-6)


def test_all_pictures_are_drawn(tmp_path):
  train_dir = tmp_path / 'train'
  status, _, err = short_runs.run('cifar10_train', '--dataset=sample',
                                  '--batch_size=8', '--max_steps=3',
                                  '--train_dir=%s' % train_dir)
  assert status == 0, err
  script = os.path.join('scripts', 'benchmarks', 'draw_run.py')
  status, _, err = short_runs.processes.run(
      [os.path.join(short_runs.ROOT, script), train_dir, tmp_path / 'pictures'])
  assert status == 0, err
  shown = json.loads((tmp_path / 'pictures' / 'curves.json').read_text())
  assert shown['learning_rate'] == [[0, pytest.approx(0.1)],
                                    [2, pytest.approx(0.1)]]
  steps, *percentiles = zip(*shown['local3/activations'])
  assert steps == (0, 2) and len(percentiles) == 7
  pictures = {path.name: path.read_bytes() for path in tmp_path.glob('*/*.png')}
  assert set(pictures) == {
      'activations.png', 'inputs.png', 'learning_rate.png', 'losses.png'
  }
  assert all(png.startswith(b'\x89PNG') for png in pictures.values())
  # All but the images can be drawn from the numbers alone.
  status, _, err = short_runs.processes.run([
      os.path.join(short_runs.ROOT, script),
      tmp_path / 'pictures' / 'curves.json', tmp_path / 'again'
  ])
  assert status == 0, err
  again = {path.name for path in (tmp_path / 'again').glob('*')}
  assert again == set(pictures) - {'inputs.png'}


def test_images_have_their_classes(tmp_path):
  config = short_runs.trained(tmp_path)
  _, images = draw_run.read(config.train_dir)
  assert len(images) == 10
  data = short_runs.prepared(config)
  assert {name for _, name in images.values()} <= set(data.classes)
  figure = draw_run.draw_images(images)
  assert [axes.get_title() for axes in figure.axes
         ] == [images[tag][1] for tag in sorted(images)]


def test_the_falls_of_the_rate_are_marked():
  with open(
      os.path.join(short_runs.ROOT, 'docs', 'results', 'tutorial',
                   'curves.json'), encoding='utf-8') as file:
    shown = json.load(file)
  # At the steps 2,343 and 4,686, between two events.
  assert draw_run.falls(shown['learning_rate']) == [2400, 4700]
  (losses,) = draw_run.draw_losses(shown).axes
  marks = [line for line in losses.get_lines() if line.get_linestyle() == '--']
  assert [line.get_xdata()[0] for line in marks] == [2400, 4700]
  (rate,) = draw_run.draw_learning_rate(shown).axes
  assert rate.get_yscale() == 'log'
  (line,) = rate.get_lines()
  assert line.get_drawstyle() == 'steps-post'
  assert sorted(set(line.get_ydata().round(6))) == [0.001, 0.01, 0.1]
  *layers, zeros = draw_run.draw_activations(shown).axes
  assert len(layers) == 4
  assert [text.get_text() for text in zeros.get_legend().get_texts()
         ] == ['conv1', 'conv2', 'local3', 'local4']
