#!/usr/bin/env python
"""Draws pictures of docs/techniques.md and docs/transfer.md.

    python scripts/pages/draw_training.py docs

Writes learning_rates.svg, from docs/results/learning_rates.json, and
nesterov.svg, reuse.svg and pretraining.svg into the folder.
"""

import json
import sys

import numpy as np
import svg

_LAYERS = 'conv1', 'conv2', 'local3', 'local4'
_RATES = [('gray', 'far too low'), ('blue', 'too low'), ('green', 'good'),
          ('orange', 'too high'), ('red', 'far too high'),
          ('purple', 'diverges')]


def learning_rates():
  """The cross entropy over the steps, a curve for each rate."""
  raw = svg.ROOT / 'docs' / 'results' / 'learning_rates.json'
  found = json.loads(raw.read_text('utf-8'))
  left, right, top, bottom = 36, 470, 44, 344
  lowest, highest = 1, 3

  def place(step, value):
    return (left + (right - left) * step / found['steps'],
            bottom - (bottom - top) * (value - lowest) / (highest - lowest))

  yield svg.text(left, 26, 'cross entropy of the training batches')
  for value in (1, 1.5, 2, 2.5, 3):
    _, y = place(0, value)
    yield [f'<path class="faint" d="M{left} {y:g}H{right}"/>']
    yield svg.text(left - 8, y + 5, f'{value:g}', 'end')
  for step in range(0, found['steps'] + 1, 500):
    x, _ = place(step, 0)
    yield [f'<path class="faint" d="M{x:g} {top}V{bottom}"/>']
    yield svg.text(x, bottom + 22, f'{step:,}', 'middle')
  yield svg.text((left + right) / 2, bottom + 44, 'step', 'middle')
  # The initial weights are the same, and the lowest rate hardly moves them.
  start = place(0, found['runs'][0]['cross_entropy'][0])
  for run, (color, words) in zip(found['runs'], _RATES):
    points = [start] + [
        place(found['steps of a mean'] * (number + 0.5), min(value, highest))
        for number, value in enumerate(run['cross_entropy'])
    ]
    line = 'L'.join(f'{x:.1f} {y:.1f}' for x, y in points)
    yield [f'<path class="line {color}-line" d="M{line}"/>']
    yield svg.text(right + 10, points[-1][1] + 5,
                   f'{run["learning_rate"]:g}: {words}', kind=f'{color}-text')


def nesterov():
  """A step of momentum and one of Nesterov, on a bowl."""
  curvature, rate = np.array([0.08, 1.0]), 0.8
  start, carried = np.array([-6.2, 1.25]), np.array([4.3, -1.7])
  ahead = start + carried
  scale, minimum = np.array([48.0, 90.0]), np.array([430.0, 160.0])

  def at(where):
    return minimum + np.array([1, -1]) * scale * where

  def line(start, end):
    return 'M{:.1f} {:.1f}L{:.1f} {:.1f}'.format(*at(start), *at(end))

  yield svg.bowl(minimum, scale, curvature, (0.05, 0.5, 1.2))
  x, y = minimum
  yield svg.text(x + 12, y + 5, 'minimum')
  yield svg.arrow(line(start, ahead), kind='arrow dashed')
  for color, where, words, below in [
      ('blue', start, 'momentum: gradient at the start', -10),
      ('green', ahead, 'Nesterov: gradient at this point', 36)
  ]:
    end = ahead - rate * curvature * where
    yield svg.arrow(line(ahead, end), kind=f'line {color}-line')
    x, y = at(end)
    yield svg.text(x + 14, y + below, words, kind=f'{color}-text')
  for point in (start, ahead):
    x, y = at(point)
    yield [f'<circle class="head" cx="{x:.1f}" cy="{y:.1f}" r="4"/>']
  x, y = at(start)
  yield svg.text(x + 12, y - 4, 'start')
  x, y = at(start + carried / 2)
  yield svg.text(x - 16, y + 14, 'from past gradients', 'end')


def _stack(x, bottom, width, layers):
  """Boxes from the bottom up, each (kind, lines), and arrows between them."""
  for number, (kind, *words) in enumerate(layers):
    y = bottom - 64 * number
    yield svg.box(kind, x, y - 46, width, 46, *words)
    if number:
      yield svg.arrow(f'M{x + width / 2:g} {y + 16}V{y + 2}')


def reuse():
  """A trained network, and one that takes over its lower layers."""
  yield svg.text(110, 28, 'a trained network', 'middle')
  yield svg.text(400, 28, 'a new network', 'middle')
  yield from _stack(30, 412, 160,
                    [('green', 'images'), *(('blue', name) for name in _LAYERS),
                     ('blue', 'softmax_linear', '10 classes')])
  yield from _stack(320, 412, 160, [('green', 'other images'),
                                    ('gray', 'conv1'), ('gray', 'conv2'),
                                    ('blue', 'local3'), ('blue', 'local4'),
                                    ('orange', 'softmax_linear', '3 classes')])
  for number in range(1, 5):
    y = 389 - 64 * number
    yield svg.arrow(f'M192 {y}H318')
  yield svg.text(254, 123, 'taken over', 'middle')
  for y, line in [(75, 'begins anew'), (155, 'taken over, and'),
                  (176, 'trained further'), (282, 'taken over, and'),
                  (303, 'frozen')]:
    yield svg.text(494, y, line)


def pretraining():
  """Layer after layer by autoencoders, then all layers with labels."""
  width = 118
  for x, kind, words in [(12, 'gray', 'frozen'), (120, 'blue', 'trained'),
                         (236, 'orange', 'only for this training')]:
    yield svg.box(kind, x, 14, 18, 18)
    yield svg.text(x + 26, 29, words)
  for number in range(5):
    x, below = 9 + 126 * number, _LAYERS[:number]
    layers = [('green', 'images')]
    if number < 4:
      name = _LAYERS[number]
      layers += [
          *(('gray', other) for other in below), ('blue', name),
          ('orange', 'its inputs,', 'reconstructed')
      ]
    else:
      name = 'with labels'
      layers += [
          *(('blue', other) for other in below), ('blue', 'softmax_', 'linear')
      ]
    yield from _stack(x, 428, width, layers)
    yield svg.text(x + width / 2, 452, f'{number + 1}. {name}', 'middle')


def main(folder):
  """Writes all pictures into the folder."""
  svg.write_all(folder, [(learning_rates, 402), (nesterov, 320), (reuse, 430),
                         (pretraining, 470)])


if __name__ == '__main__':
  main(*sys.argv[1:])
