"""Draws the gradients of each layer in the first steps of training.

    python scripts/pages/draw_gradients.py docs/vanishing_gradients.svg

The numbers are those that scripts/benchmarks/gradients.py has written into
docs/results/gradients.json.
"""

import json
from pathlib import Path

import chart
import svg

_RESULTS = Path(__file__).resolve().parents[2] / 'docs/results/gradients.json'
_KINDS = 'blue', 'green', 'orange', 'purple', 'red'
_YLIM, _POWERS = (1e-4, 10), range(-4, 2)
_TOP, _ROW, _LEFT, _SIZE = 78, 258, 72, (430, 180)  # Pixels.


def _labels(picture, axes, norms):
  """The names of the layers at the ends of their curves, apart."""
  ends = sorted((axes.y(values[-1]), layer) for layer, values in norms.items())
  ys = [y for y, _ in ends]
  for _ in range(100):  # Moves neighbors apart until each has its line.
    for index in range(len(ys) - 1):
      overlap = svg.NOTE + 1 - (ys[index + 1] - ys[index])
      if overlap > 0:
        ys[index] -= overlap / 2
        ys[index + 1] += overlap / 2
  kinds = dict(zip(norms, _KINDS))
  for y, (_, layer) in zip(ys, ends):
    picture.text(axes.left + axes.width + 8, round(y + 5, 1), layer,
                 f'{kinds[layer]}-text', svg.NOTE)


def draw(path=_RESULTS):
  """Draws each run in axes of its own; returns the svg.Picture."""
  with open(path, encoding='utf-8') as file:
    runs = json.load(file)['runs']
  picture = svg.Picture(_TOP + _ROW * len(runs) - 30)
  picture.text(12, 28, "norm of the gradient of each layer's weights",
               size=svg.NOTE)
  for row, run in enumerate(runs):
    steps = len(run['cross_entropy']) - 1
    axes = chart.Axes(picture, (_LEFT, _TOP + row * _ROW), _SIZE, (0, steps),
                      _YLIM, log=True)
    axes.title(run['name'])
    axes.grid(range(0, steps + 1, max(1, steps // 5)),
              [10.0**power for power in _POWERS])
    for kind, values in zip(_KINDS, run['norms'].values()):
      axes.curve(list(enumerate(values)), kind)
    _labels(picture, axes, run['norms'])
  picture.text(_LEFT + _SIZE[0] / 2, picture.height - 10, 'step', size=svg.NOTE,
               anchor='middle')
  return picture


if __name__ == '__main__':
  svg.main(__doc__, draw)
