"""Draws one model on two devices, in three ways: docs/vertical_split.svg.

    python scripts/pages/draw_vertical_split.py docs/vertical_split.svg

Which layer is where, and what it sees of the layer before, is read from the
graph that the trainers build.
"""

from pathlib import Path
import re
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import cifar10
from cifar10 import networks
from cifar10.optim import model_parallelism
from cifar10.settings import Settings
import svg
import tensorflow.compat.v1 as tf

_WAYS = (('--model_parallelism=layers', 'one device waits for the other', {
    'model_parallelism': 'layers'
}), ('--model_parallelism=filters', "each half sees both: the tutorial's "
     'network', {
         'model_parallelism': 'filters'
     }), ('--model_parallelism=filters --columns=2',
          "Krizhevsky's columns: conv2 sees its own only", {
              'model_parallelism': 'filters',
              'columns': 2
          }),
        )
# The output of a layer, or that of one column of it.
_OUTPUT = re.compile(
    r'(images)|(conv\d|local\d|softmax_linear)/(?:column_\d/)?\2')

_BOX, _GAP = (86, 48), 18  # Pixels.
_LANE, _BETWEEN, _HEAD, _PANEL = 92, 14, 58, 290


def parts(**changes):
  """The parts of the network on two devices.

  Returns:
    units: dict from pairs (layer, device) to how many filters, units or
      channels are there, in the order of the layers.
    seen: set of pairs of such pairs: the second one sees the first one.
  """
  settings = Settings(num_gpus=2, devices=('/cpu:0', '/cpu:1'), **changes)
  size = cifar10.IMAGE_SIZE
  with tf.Graph().as_default() as graph:
    with model_parallelism.placed(settings):
      images = tf.placeholder(tf.float32, [None, size, size, 3], 'images')
      networks.inference(images, settings, is_training=True)
  nodes, units, seen = {}, {}, set()
  for op in graph.get_operations():
    output = _OUTPUT.fullmatch(op.name)
    if output and op.outputs[0].shape.rank in (2, 4):
      node = output.group(1) or output.group(2), int(op.device[-1])
      nodes[op] = node
      units[node] = op.outputs[0].shape.as_list()[-1]
      seen |= {(nodes[other], node) for other in _before(op, nodes)}
  return units, seen


def _before(op, nodes):
  """Those of `nodes`, operations, that the inputs of another lead back to."""
  found, left, passed = set(), list(op.inputs), set()
  while left:
    other = left.pop().op
    if other in nodes:
      found.add(other)
    elif other not in passed:
      passed.add(other)
      left += other.inputs
  return found


def _panel(picture, top, title, note, units, seen):
  """Draws one way, from `top` on: a lane for each device."""
  width, height = _BOX
  picture.text(12, top + 22, title, bold=True)
  picture.text(12, top + 46, note, size=svg.NOTE)
  layers = list(dict.fromkeys(layer for layer, _ in units))

  def corner(node):
    layer, device = node
    return (17 + layers.index(layer) * (width + _GAP),
            top + _HEAD + 36 + device * (_LANE + _BETWEEN))

  for device in range(2):
    picture.area(8, top + _HEAD + device * (_LANE + _BETWEEN),
                 picture.width - 16, _LANE, f'device {device}')
  for before, after in sorted(seen):
    (x1, y1), (x2, y2) = corner(before), corner(after)
    # Arrows to the other device begin and end beside those that do not.
    aside = 9 * (after[1] - before[1])
    picture.arrow(f'M{x1 + width} {y1 + height / 2 + aside:g}'
                  f'L{x2 - 1} {y2 + height / 2 - aside:g}')
  for (layer, device), count in units.items():
    whole = sum(n for (other, _), n in units.items() if other == layer)
    lines = [layer, f'{count}' if count == whole else f'{count} of {whole}']
    if layer == 'images':
      lines = [layer]
    elif layer == 'softmax_linear':
      lines = ['softmax_', 'linear']
    picture.box(*corner((layer, device)), width, height, lines,
                'gray' if layer == 'images' else 'blue', svg.NOTE)


def draw():
  """Draws the three ways below each other; returns the svg.Picture."""
  picture = svg.Picture(_PANEL * len(_WAYS))
  for number, (title, note, changes) in enumerate(_WAYS):
    _panel(picture, number * _PANEL, title, note, *parts(**changes))
  return picture


if __name__ == '__main__':
  svg.main(__doc__, draw)
