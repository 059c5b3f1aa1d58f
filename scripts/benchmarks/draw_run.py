#!/usr/bin/env python
"""Draws the pictures of docs/tutorial.md from a run, as PNG.

    python scripts/benchmarks/draw_run.py /tmp/run docs/results/tutorial

From the event files of its trainer: input images, activations and sparsity,
losses, learning rate. Their numbers go into `curves.json` beside them. Needs
the extra `.[report]`.
"""

import os
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.tools.report import charts
from cifar10.tools.report import events
from cifar10.util import arguments
from cifar10.util import files
import numpy as np
import plot
import tensorflow.compat.v1 as tf

_LAYERS = 'conv1', 'conv2', 'local3', 'local4'
# Those of a normal distribution at 0, 1, 2 and 3 standard deviations.
_PERCENTILES = np.array([0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87])

_SCALARS = ('learning_rate', 'losses/cross_entropy', 'losses/total_loss',
            'losses/total_loss_raw',
            *(layer + '/sparsity' for layer in _LAYERS))


def percentiles(histogram):
  """The values below which the shares _PERCENTILES of a histogram lie."""
  limits = np.array(histogram.bucket_limit)
  limits[-1] = histogram.max
  lower = np.concatenate([[histogram.min], limits[:-1]])
  counts = np.cumsum(histogram.bucket)
  # Values are spread evenly within a bucket.
  return np.interp(_PERCENTILES / 100 * counts[-1],
                   np.stack([counts - histogram.bucket, counts], 1).ravel(),
                   np.stack([lower, limits], 1).ravel())


def read(folder):
  """Reads histograms and images from the event files of a run.

  Returns:
    histograms: for each tag a list of pairs (step, percentiles).
    images: for each tag the last image, as the content of a PNG file.
  """
  histograms, images = {}, {}
  for path in sorted(Path(folder).glob('events.out.tfevents.*')):
    for event in tf.train.summary_iterator(str(path)):
      for value in event.summary.value:
        if value.HasField('histo'):
          histograms.setdefault(value.tag, []).append(
              (event.step, percentiles(value.histo)))
        elif value.HasField('image'):
          images[value.tag] = value.image.encoded_image_string
  return histograms, images


def draw_images(images):
  """Draws the input images of one step in a row; returns the figure."""
  figure = plot.new_figure(9, 1.1)
  with tf.Graph().as_default(), tf.Session() as session:
    for index, tag in enumerate(sorted(images), 1):
      axes = figure.add_subplot(1, len(images), index)
      axes.imshow(session.run(tf.image.decode_png(images[tag])))
      axes.axis('off')
  return figure


def draw_activations(histograms, curves):
  """Draws each layer's activations and its zeros over the steps."""
  figure = plot.new_figure(9, 4.4)
  for index, layer in enumerate(_LAYERS, 1):
    steps, bands = zip(*histograms[layer + '/activations'])
    axes = figure.add_subplot(2, len(_LAYERS), index)
    bands = np.array(bands).T
    for low in range(3):
      axes.fill_between(steps, bands[low], bands[-1 - low], color='tab:orange',
                        alpha=0.3, lw=0)
    axes.plot(steps, bands[3], color='tab:orange')
    axes.set_title(layer)
    axes = figure.add_subplot(2, len(_LAYERS), len(_LAYERS) + index)
    points = events.curve(curves, layer + '/sparsity')
    axes.plot([p.step for p in points], [p.value for p in points])
    axes.set_ylim(0, 1)
    axes.set_xlabel('step')
    if index == 1:
      axes.set_ylabel('share of zeros')
  figure.axes[0].set_ylabel('activations')
  figure.subplots_adjust(wspace=0.3, hspace=0.3)
  return figure


def draw_curves(curves, tags, label):
  """Draws curves over the steps.

  Args:
    curves: list of events.EventFile.
    tags: dict from the label of each curve to its tag.
    label: the quantity of all of them.
  """
  figure = plot.new_figure(9, 3)
  axes = figure.subplots()
  for index, (name, tag) in enumerate(tags.items()):
    points = events.curve(curves, tag)[1:]  # Averages begin at 0.
    axes.plot([point.step for point in points],
              [point.value for point in points], label=name,
              color=('tab:orange', 'tab:blue', 'black')[index],
              alpha=0.35 if 'batch' in name else 1, lw=1)
  axes.set_xlabel('step')
  axes.set_ylabel(label)
  axes.set_ylim(bottom=0)
  if len(tags) > 1:
    axes.legend()
  return figure


def numbers(histograms, curves):
  """The numbers behind the pictures, without the images, for JSON."""
  shown = {
      tag: [[point.step, point.value] for point in events.curve(curves, tag)]
      for tag in _SCALARS
  }
  for layer in _LAYERS:
    tag = layer + '/activations'
    shown[tag] = [[step, *np.round(values, 4).tolist()]
                  for step, values in histograms[tag]]
  return shown


def draw(args):
  """Draws the pictures of `args.train_dir` into the folder `args.out`."""
  curves, _ = events.read_folder(args.train_dir)
  histograms, images = read(args.train_dir)
  losses = {
      'total loss of a batch': 'losses/total_loss_raw',
      'total loss, average': 'losses/total_loss',
      'cross entropy, average': 'losses/cross_entropy'
  }
  rates = {'learning rate': 'learning_rate'}
  figures = {
      'inputs': draw_images(images),
      'activations': draw_activations(histograms, curves),
      'losses': draw_curves(curves, losses, 'loss'),
      'learning_rate': draw_curves(curves, rates, 'learning rate')
  }
  os.makedirs(args.out, exist_ok=True)
  shown = numbers(histograms, curves)
  files.write_json(os.path.join(args.out, 'curves.json'), shown)
  for name, figure in figures.items():
    charts.save_png(figure, os.path.join(args.out, name + '.png'))


def main():
  """Reads the flags and draws."""
  parser = arguments.Parser(__doc__)
  parser.add_argument('train_dir', metavar='TRAIN_DIR')
  parser.add_argument('out', metavar='OUT', help='The folder for the pictures.')
  parser.run(draw)


if __name__ == '__main__':
  main()
