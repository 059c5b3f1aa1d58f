#!/usr/bin/env python
"""Draws the pictures of docs/tutorial.md from a run, as PNG.

    python scripts/benchmarks/draw_run.py /tmp/run docs/results/tutorial
    python scripts/benchmarks/draw_run.py docs/results/tutorial/curves.json \\
        docs/results/tutorial

From the event files of its trainer: input images, activations and sparsity,
losses, learning rate. Their numbers go into `curves.json` beside them, from
which all but the images can be drawn again. Needs the extra `.[report]`.
"""

import io
import os
from pathlib import Path

import package_path
from cifar10.tools.report import charts
from cifar10.tools.report import events
from cifar10.util import arguments
from cifar10.util import files
import numpy as np
from PIL import Image
import tensorflow.compat.v1 as tf

_LAYERS = 'conv1', 'conv2', 'local3', 'local4'
# Those of a normal distribution at 0, 1, 2 and 3 standard deviations.
_PERCENTILES = np.array([0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87])
_BANDS = {'99.7 %': '#fddcbb', '95 %': '#fdbe85', '68 %': '#fd8d3c'}
_LOSSES = {  # Label, color and opacity.
    'losses/total_loss_raw': ('total, one batch', 'tab:orange', 0.4),
    'losses/total_loss': ('total, average', 'tab:blue', 1),
    'losses/cross_entropy': ('cross entropy, average', 'black', 1)
}


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
    images: for each tag the first image, as the content of a PNG file, and the
      name of its class.
  """
  histograms, images, classes = {}, {}, {}
  for path in sorted(Path(folder).glob('events.out.tfevents.*')):
    for event in tf.train.summary_iterator(str(path)):
      for value in event.summary.value:
        if value.HasField('histo'):
          histograms.setdefault(value.tag, []).append(
              (event.step, percentiles(value.histo)))
        elif value.HasField('image'):
          images.setdefault(value.tag, value.image.encoded_image_string)
        elif value.tag == 'labels':
          for tag, name in tf.make_ndarray(value.tensor):
            classes.setdefault(tag.decode(), name.decode())
  return histograms, {
      tag: (image, classes[tag]) for tag, image in images.items()
  }


def draw_images(images):
  """Draws the input images of one step with their classes."""
  figure = charts.new_figure(2.5)
  figure.subplots_adjust(left=0, right=1, top=1, bottom=0.1, wspace=0.08)
  for index, (_, (image, name)) in enumerate(sorted(images.items()), 1):
    axes = figure.add_subplot(2, -(-len(images) // 2), index)
    axes.imshow(Image.open(io.BytesIO(image)), interpolation='nearest')
    axes.axis('off')
    axes.set_title(name, y=-0.3, fontsize=10)
  return figure


def draw_activations(shown):
  """Draws each layer's activations, and the zeros of all, over the steps."""
  legend = {'ncol': 4, 'frameon': False, 'columnspacing': 1,
            'handlelength': 1.2}  # yapf: disable
  figure = charts.new_figure(6)
  figure.subplots_adjust(hspace=0.5, wspace=0.25, top=0.89, bottom=0.15)
  grid = figure.add_gridspec(3, 2)
  for index, layer in enumerate(_LAYERS):
    steps, *bands = zip(*shown[layer + '/activations'])
    axes = figure.add_subplot(grid[divmod(index, 2)])
    for low, (label, color) in enumerate(_BANDS.items()):
      axes.fill_between(steps, bands[low], bands[-1 - low], color=color, lw=0,
                        label=label)
    axes.plot(steps, bands[3], color='black', lw=1, label='median')
    axes.set_title(layer + ', activations', fontsize=10)
  figure.legend(*axes.get_legend_handles_labels(), loc='upper center', **legend)
  axes = figure.add_subplot(grid[2, :])
  for layer in _LAYERS:
    axes.plot(*zip(*shown[layer + '/sparsity']), label=layer)
  axes.set_ylim(0, 1)
  axes.set_title('share of zeros', fontsize=10)
  axes.set_xlabel('step')
  axes.legend(loc='upper center', bbox_to_anchor=(0.5, -0.35), **legend)
  return figure


def draw_learning_rate(shown):
  """Draws the learning rate as steps, on a logarithmic scale."""
  figure = charts.new_figure(2.6)
  axes = figure.subplots()
  axes.step(*zip(*shown['learning_rate']), where='post', color='tab:blue', lw=2)
  axes.set_yscale('log')
  axes.yaxis.set_major_formatter('{x:g}')
  axes.set_xlabel('step')
  axes.set_ylabel('learning rate')
  axes.grid(alpha=0.3)
  return figure


def draw_losses(shown):
  """Draws the losses, with the falls of the learning rate."""
  figure = charts.new_figure(3.4)
  axes = figure.subplots()
  for tag, (label, color, alpha) in _LOSSES.items():
    # Averages begin at 0.
    axes.plot(*zip(*shown[tag][1:]), label=label, color=color, alpha=alpha,
              lw=1)
  rates, label = shown['learning_rate'], 'the rate falls'
  for (_, before), (step, rate) in zip(rates, rates[1:]):
    if rate < before:
      axes.axvline(step, color='0.4', lw=1, ls='--', label=label)
      label = None
  axes.set_xlabel('step')
  axes.set_ylabel('loss')
  axes.set_ylim(bottom=0)
  axes.grid(alpha=0.3)
  axes.legend(loc='upper right', framealpha=1)
  return figure


def numbers(histograms, folder):
  """The numbers behind the pictures, without the images, for JSON."""
  curves, _ = events.read_folder(folder)
  tags = ['learning_rate', *_LOSSES, *(f'{name}/sparsity' for name in _LAYERS)]
  shown = {
      tag: [[point.step, point.value] for point in events.curve(curves, tag)]
      for tag in tags
  }
  for tag in (layer + '/activations' for layer in _LAYERS):
    shown[tag] = [[step, *np.round(values, 4).tolist()]
                  for step, values in histograms[tag]]
  return shown


def draw(args):
  """Draws the pictures of `args.run` into the folder `args.out`."""
  os.makedirs(args.out, exist_ok=True)

  def save(name, figure):
    charts.save_png(figure, os.path.join(args.out, name + '.png'),
                    has_photos=name == 'inputs')

  if os.path.isfile(args.run):
    shown = files.read_json(args.run)
  else:
    histograms, images = read(args.run)
    shown = numbers(histograms, args.run)
    files.write_json(os.path.join(args.out, 'curves.json'), shown)
    save('inputs', draw_images(images))
  save('activations', draw_activations(shown))
  save('learning_rate', draw_learning_rate(shown))
  save('losses', draw_losses(shown))


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('run', metavar='RUN',
                      help='The folder of a run, or its curves.json.')
  parser.add_argument('out', metavar='OUT', help='The folder for the pictures.')
  parser.run(draw)
