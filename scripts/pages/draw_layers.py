#!/usr/bin/env python
"""Draws one image in all layers of a trained model, and conv1's filters.

    python scripts/pages/draw_layers.py docs/layers.svg

Takes a ship of the sample's test images, and `pretrained:tutorial` with its
moving averages. Needs the extra `.[pictures]`.
"""

import base64
import io
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import cifar10
from cifar10 import zoo
from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.data import records as records_lib
from cifar10.infer import restore
from cifar10.settings import Settings
import numpy as np
from PIL import Image
import svg
import tensorflow.compat.v1 as tf

_SHIP = 18  # Of the ships among the test images, one that is easy to see.
_SIDE, _PITCH = 200, 212  # Pixels of a picture, and from one to the next.
_MAPS = 'conv1', 'pool1', 'norm1', 'conv2', 'norm2', 'pool2'
_VECTORS = {'local3': (16, 24), 'local4': (12, 16)}  # Rows and columns.
_GRAYS = 15  # Besides a color for transparent pixels: four bits a pixel.


def computed():
  """Outputs of the layers for the image, a dict, and the names of the classes.

  In the dict, 'crop' is the middle of the image, 'weights' are those of conv1.
  """
  data = datasets.prepare(Settings(dataset='sample'))
  records = data.test_records()
  labels = records_lib.labels(records, data.layout)
  ships = records[labels == data.classes.index('ship')]
  ship = ships[_SHIP:_SHIP + 1]
  with tf.Graph().as_default() as graph, tf.Session() as session:
    images = distortions.central_crop(tf.constant(ship), data.layout, 24)
    logits = cifar10.inference(images)
    folder = zoo.directory('pretrained:tutorial', '--checkpoint_dir')
    checkpoint = tf.train.latest_checkpoint(folder)
    restore.savers().choose(checkpoint, True).restore(session, checkpoint)
    (weights,) = (v for v in tf.trainable_variables('conv1/weights'))
    fetches = {
        'standardized': images[0],
        'weights': weights,
        'probabilities': tf.nn.softmax(logits)[0]
    }
    for name in (*_MAPS, *_VECTORS):
      is_scope = name.startswith(('conv', 'local'))
      tensor = f'{name}/{name}:0' if is_scope else f'{name}:0'
      fetches[name] = graph.get_tensor_by_name(tensor)[0]
    found = session.run(fetches)
  found['crop'] = records_lib.images(ship, data.layout)[0, 4:28, 4:28]
  return found, data.classes


def sheet(pictures, columns):
  """Pictures [n, height, width, ...] in rows; between them, pixels of -1."""
  widths = [(0, 0), (0, 1), (0, 1)] + [(0, 0)] * (pictures.ndim - 3)
  padded = np.pad(pictures, widths, constant_values=-1)
  rows = padded.reshape(-1, columns, *padded.shape[1:])
  joined = np.concatenate(np.concatenate(rows, axis=1), axis=1)
  return joined[:-1, :-1]


def gray(values):
  """PNG of an array: 0 black, 1 white, below 0 transparent."""
  levels = np.round(values * (_GRAYS - 1))
  picture = Image.fromarray(
      np.where(values < 0, _GRAYS, levels).astype(np.uint8), 'P')
  shades = np.linspace(0, 255, _GRAYS).round().astype(np.uint8)
  picture.putpalette(np.repeat([*shades, 0], 3).astype(np.uint8).tobytes())
  return png(picture, bits=4, transparency=_GRAYS)


def color(values):
  """PNG of an array [height, width, 3] of 0 to 1, below 0 transparent."""
  opaque = values.min(axis=2, keepdims=True) >= 0
  rgba = np.concatenate([values, opaque], 2).clip(0, 1)
  return png(Image.fromarray(np.round(rgba * 255).astype(np.uint8), 'RGBA'))


def png(picture, **options):
  """The bytes of a PNG file, and its width and height."""
  with io.BytesIO() as output:
    picture.save(output, 'PNG', optimize=True, **options)
    return output.getvalue(), picture.size


def image(x, y, content, size):
  """A picture whose pixels stay sharp, as wide as _SIDE."""
  data = base64.b64encode(content).decode()
  return [
      f'<image x="{x:g}" y="{y:g}" width="{_SIDE}" '
      f'height="{_SIDE * size[1] / size[0]:g}" '
      'style="image-rendering:pixelated" '
      f'href="data:image/png;base64,{data}"/>'
  ]


def draw():
  """The parts of the picture, three in a row."""
  found, classes = computed()
  standardized = found['standardized']
  lowest, highest = standardized.min(), standardized.max()
  filters = found['weights'].transpose(3, 0, 1, 2)
  largest = np.abs(filters).max(axis=(1, 2, 3), keepdims=True)
  filters = sheet(filters / largest / 2 + 0.5, 8)
  pictures = [
      ('image: 24 × 24 × 3', color(found['crop'] / 255)),
      ('standardized', color((standardized - lowest) / (highest - lowest))),
      ('filters of conv1', color(filters)),
  ]
  for name in _MAPS:
    maps = found[name].transpose(2, 0, 1)
    maps = maps / np.maximum(maps.max(axis=(1, 2), keepdims=True), 1e-9)
    shape = ' × '.join(map(str, found[name].shape))
    pictures.append((f'{name}: {shape}', gray(sheet(maps, 8))))
  for name, shape in _VECTORS.items():
    units = found[name].reshape(*shape)
    pictures.append((f'{name}: {units.size}', gray(units / units.max())))
  for number, (words, content) in enumerate(pictures):
    x, y = 8 + _PITCH * (number % 3), 24 + 236 * (number // 3)
    yield svg.text(x, y, words)
    yield image(x, y + 10, *content)
  x, y = 8 + _PITCH * 2, 24 + 236 * 3
  yield svg.text(x, y, 'probabilities')
  for number, share in enumerate(found['probabilities']):
    top = y + 10 + 20 * number
    yield svg.text(x + 82, top + 15, classes[number], 'end')
    yield [
        f'<rect class="blue" x="{x + 90}" y="{top + 2}" height="16" '
        f'width="{max(1, 110 * share):.1f}"/>'
    ]


if __name__ == '__main__':
  svg.write(sys.argv[1], 24 + 236 * 3 + 220, draw())
