"""Draws the tasks of a cluster, and what they exchange: docs/cluster.svg.

    python scripts/pages/draw_cluster.py docs/cluster.svg
"""

import svg

_SERVERS = 'ps 0', 'ps 1'
_WORKERS = 'worker 0, the chief', 'worker 1', 'worker 2'
# The upper edges of the rows of boxes, and the height of a box.
_ROWS, _BOX = (52, 224, 408), 60


def _row(picture, y, boxes, kind, width):
  """A row of boxes; returns their middles."""
  gap = (picture.width - 24 - len(boxes) * width) / (len(boxes) + 1)
  middles = []
  for number, lines in enumerate(boxes):
    x = 12 + gap + number * (width + gap)
    picture.box(x, y, width, _BOX, lines, kind)
    middles.append(x + width / 2)
  return middles


def _folder(picture, x, y, width, lines):
  """A folder with lines of text."""
  picture.add(f'<path class="gray" d="M{x} {y - 10}h60l10 10h-70z"/>')
  picture.box(x, y - 2, width, _BOX + 2, lines, 'gray')


def draw():
  """Draws servers, workers, and below them what is outside the cluster."""
  servers, workers, outside = _ROWS
  picture = svg.Picture(outside + _BOX + 16)
  picture.area(12, 12, picture.width - 24, workers + _BOX + 4,
               'A cluster: in each step variables go down, gradients up.')
  tops = _row(picture, servers,
              [(name, 'variables, updates') for name in _SERVERS], 'orange',
              220)
  bottoms = _row(picture, workers,
                 [(name, 'images, gradients') for name in _WORKERS], 'blue',
                 190)
  for number, bottom in enumerate(bottoms):
    for top in tops:
      start = top + 40 * (number - 1)
      end = bottom + (top - picture.width / 2) / 5
      picture.arrow(f'M{start:g} {servers + _BOX + 2}L{end:g} {workers - 2}',
                    both=True)
  chief = bottoms[0]
  _folder(picture, 28, outside, 220, ['--train_dir', 'checkpoints, shared'])
  picture.arrow(f'M{chief:g} {workers + _BOX + 2}V{outside - 4}', both=True)
  picture.text(chief + 10, outside - 40, 'saves, restores', size=svg.NOTE)
  picture.box(392, outside - 2, 220, _BOX + 2,
              ['cifar10_eval.py', 'precision @ 1'], 'green')
  picture.arrow(f'M250 {outside + 30}H390')
  picture.text(320, outside + 20, 'reads the newest', size=svg.NOTE,
               anchor='middle')
  return picture


if __name__ == '__main__':
  svg.main(__doc__, draw)
