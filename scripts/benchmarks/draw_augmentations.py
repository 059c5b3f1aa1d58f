#!/usr/bin/env python
"""Draws what each distortion of --augment does to some images, as PNG.

    python scripts/benchmarks/draw_augmentations.py docs/augmentations.png

Takes training images of the bundled sample. Needs the extra `.[report]`.
"""

import package_path
from cifar10 import cifar10_input
from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.data import records
from cifar10.settings import Settings
from cifar10.tools.report import charts
from cifar10.util import arguments
import numpy as np
import tensorflow.compat.v1 as tf

_IMAGES, _TIMES = 4, 2  # Images, and how often each is distorted.
_INCHES = 0.02  # The side of a pixel: four pixels of the PNG file.


def distorted(data, augment):
  """Images of a data set: [_IMAGES * _TIMES, size, size, depth], 0 to 1."""
  found = records.load(data.train_files[:1], data.layout)
  labels = found[:, 0]
  # The first images of the first classes.
  chosen = [int(np.argmax(labels == label)) for label in range(_IMAGES)]
  batch = np.repeat(found[chosen], _TIMES, axis=0)
  with tf.Graph().as_default(), tf.Session() as session:
    tf.set_random_seed(1)
    size = cifar10_input.crop_size(data.layout)
    images = session.run(
        distortions.distort(tf.constant(batch), data,
                            Settings(augment=','.join(augment)), size))
  lowest = images.min(axis=(1, 2, 3), keepdims=True)
  highest = images.max(axis=(1, 2, 3), keepdims=True)
  return (images - lowest) / (highest - lowest)


def draw():
  """One row for each distortion; returns the figure."""
  data = datasets.prepare(Settings(dataset='sample'))
  # What alternating_flip does shows over epochs only.
  names = [name for name in distortions.NAMES if name != 'alternating_flip']
  rows = [('none', ())] + [(name, (name,)) for name in names]
  rows += [("the tutorial's", distortions.TUTORIAL), ('all', names)]
  images = [distorted(data, augment) for _, augment in rows]
  size = images[0].shape[1]
  # All in one image, which is as sharp as its pixels: white lines between.
  sheet = np.pad(images, ((0, 0), (0, 0), (0, 1), (0, 1), (0, 0)),
                 constant_values=1)
  sheet = np.concatenate(np.concatenate(sheet, axis=1), axis=1)
  figure = charts.new_figure(sheet.shape[0] * _INCHES)
  width, height = (n * _INCHES for n in sheet.shape[1::-1])
  share = width / figure.get_figwidth()
  axes = figure.add_axes([1 - share, 0, share, height / figure.get_figheight()])
  axes.imshow(sheet, interpolation='nearest')
  axes.set_frame_on(False)
  axes.set_xticks([])
  axes.set_yticks([(size + 1) * row + size / 2 for row in range(len(rows))])
  axes.set_yticklabels([name for name, _ in rows])
  axes.tick_params(length=0)
  return figure


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('out', help='the PNG file to write')
  parser.run(lambda args: charts.save_png(draw(), args.out, has_photos=True,
                                          bbox_inches=None))
