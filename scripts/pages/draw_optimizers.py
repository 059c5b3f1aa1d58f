#!/usr/bin/env python
"""Draws the paths of the optimizers down one valley.

    python scripts/pages/draw_optimizers.py docs/optimizers.svg

The loss, the rates and the start are those of the program in
docs/layers_and_training.md.
"""

import sys

import svg
import tensorflow.compat.v1 as tf

_STEPS = 100
_START = (10.0, 1.0)
_CURVATURES = (0.02, 1.0)  # Along the valley, and across it.

# Pixels of a panel, and of a unit along and across; the minimum in the panel.
_WIDTH, _HEIGHT = svg.WIDTH // 2, 176
_SCALE = (27.0, 62.0)
_MINIMUM = (26.0, 114.0)

_OPTIMIZERS = {
    'gradient descent': ('gray', tf.train.GradientDescentOptimizer(1.5)),
    'momentum': ('blue', tf.train.MomentumOptimizer(0.15, 0.9)),
    'Nesterov': ('green',
                 tf.train.MomentumOptimizer(0.15, 0.9, use_nesterov=True)),
    'AdaGrad': ('red', tf.train.AdagradOptimizer(0.15)),
    'RMSProp': ('purple', tf.train.RMSPropOptimizer(0.15)),
    'Adam': ('orange', tf.train.AdamOptimizer(0.15)),
}


def path_of(optimizer):
  """The points that an optimizer visits, the start included."""
  with tf.Graph().as_default(), tf.Session() as session:
    point = tf.get_variable('point', initializer=_START, use_resource=False)
    loss = tf.reduce_sum(tf.square(point) * _CURVATURES) / 2
    step = optimizer.minimize(loss)
    session.run(tf.global_variables_initializer())
    path = [session.run(point)]
    for _ in range(_STEPS):
      session.run(step)
      path.append(session.run(point))
  return path


def panel(number, name, color, path):
  """The lines of SVG of one optimizer."""
  left, top = number % 2 * _WIDTH, number // 2 * _HEIGHT
  x, y = left + _MINIMUM[0], top + _MINIMUM[1]
  yield f'<svg x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}"'
  yield f' viewBox="{left} {top} {_WIDTH} {_HEIGHT}">'
  yield from svg.bowl((x, y), _SCALE, _CURVATURES, (0.05, 0.2, 0.5, 1.0))
  places = [(x + _SCALE[0] * a, y - _SCALE[1] * b) for a, b in path]
  line = 'L'.join(f'{a:.1f} {b:.1f}' for a, b in places)
  yield f'<path class="line {color}-line" d="M{line}"/>'
  for a, b in places:
    yield (f'<circle class="line {color}-line" cx="{a:.1f}" cy="{b:.1f}" '
           'r="1.2"/>')
  yield '</svg>'
  yield (f'<text class="{color}-text" x="{left + 12}" y="{top + 22}">'
         f'{name}</text>')


def draw():
  """The panels of the picture."""
  for number, (name, (color, optimizer)) in enumerate(_OPTIMIZERS.items()):
    yield panel(number, name, color, path_of(optimizer))


if __name__ == '__main__':
  svg.write(sys.argv[1], 3 * _HEIGHT, draw())
