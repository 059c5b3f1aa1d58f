"""Draws the activation functions and their derivatives: docs/activations.svg.

    python scripts/pages/draw_activations.py docs/activations.svg

The values are those of `activate()`, the derivatives TensorFlow's.
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.nets import activations
from cifar10.settings import FIELDS
import chart
import numpy as np
import svg
import tensorflow.compat.v1 as tf

_XLIM, _YLIM = (-3, 3), (-1.9, 3.2)
_COLUMNS = 3
_CELL, _AXES = (208, 224), (168, 150)  # Pixels.


def curves(kind, **options):
  """Points (x, y) of an activation function and of its derivative."""
  xs = np.linspace(*_XLIM, num=120)  # Without 0, where some have no slope.
  with tf.Graph().as_default(), tf.Session() as session:
    x = tf.constant(xs[:, np.newaxis], tf.float32)
    y = activations.activate(x, kind, is_training=False, name='y', **options)
    slope, = tf.gradients(y, x)
    session.run(tf.global_variables_initializer())
    values, slopes = session.run([y, slope])
  return tuple(list(zip(xs, ys[:, 0].tolist())) for ys in (values, slopes))


def draw():
  """Draws each function in axes of its own; returns the svg.Picture."""
  kinds = FIELDS['activation'].metadata['choices']
  rows = -(-len(kinds) // _COLUMNS)
  picture = svg.Picture(44 + rows * _CELL[1])
  for x, kind, dashed, text in ((16, 'blue', False, 'activation'),
                                (190, 'orange', True, 'its derivative')):
    picture.line(f'M{x} 22h38', kind, 2.4, dashed)
    picture.text(x + 46, 28, text, size=svg.NOTE)
  for number, kind in enumerate(kinds):
    row, column = divmod(number, _COLUMNS)
    corner = 34 + column * _CELL[0], 78 + row * _CELL[1]
    axes = chart.Axes(picture, corner, _AXES, _XLIM, _YLIM)
    axes.title(kind)
    axes.grid((-2, 0, 2), (-1, 0, 1, 2, 3))
    if kind == 'rrelu':
      slopes = activations._MIN_SLOPE, activations._MAX_SLOPE
      limits = [
          curves('leaky_relu', leaky_relu_slope=slope)[0] for slope in slopes
      ]
      axes.band(*limits, 'blue')
    values, slopes = curves(kind)
    axes.curve(slopes, 'orange', dashed=True, width=1.8)
    axes.curve(values, 'blue')
  return picture


if __name__ == '__main__':
  svg.main(__doc__, draw)
