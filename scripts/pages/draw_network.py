"""Draws the tutorial's network, layer by layer: docs/tutorial/network.svg.

    python scripts/pages/draw_network.py docs/tutorial/network.svg

Layers, shapes and numbers of parameters are those of the graph that
`inference()` builds.
"""

from pathlib import Path
import sys
from typing import NamedTuple, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import cifar10
from cifar10.nets import layers as nets_layers
import numpy as np
import svg
import tensorflow.compat.v1 as tf

_TOP, _ROW = 58, 66  # Pixels.
_BLOCKS, _NAMES, _SHAPES = 80, 166, 470  # The columns, from left to right.
_SIDE, _DEPTH, _LENGTH = 2, 0.4, 0.36  # Pixels for each unit of a block.


class Layer(NamedTuple):
  """A layer of a network; shape is that of its output for one image."""

  name: str
  text: str
  shape: Tuple[int, ...]
  parameters: int = 0


def layers():
  """The layers of the tutorial's network, in the order of their computation."""
  with tf.Graph().as_default() as graph:
    size = cifar10.IMAGE_SIZE
    images = tf.placeholder(tf.float32, [None, size, size, 3], 'images')
    # The operations of TensorFlow, whatever is faster on this machine.
    with nets_layers.formed(is_portable=True):
      cifar10.inference(images)
    variables = {}
    for variable in tf.trainable_variables():
      layer, name = variable.op.name.split('/')
      variables.setdefault(layer, {})[name] = variable.shape.as_list()
    found = [_layer(images.op, {}, 'the input')]
    for op in graph.get_operations():
      layer, _, name = op.name.partition('/')
      is_trained = layer == name and layer in variables
      if is_trained or not name and op.type in ('MaxPool', 'LRN'):
        own = variables.get(layer, {})
        found.append(_layer(op, own, _text(op, own)))
  return found


def _layer(op, variables, text):
  """The Layer whose output is that of an operation."""
  shape = tuple(op.outputs[0].shape.as_list()[1:])
  count = sum(int(np.prod(shape)) for shape in variables.values())
  return Layer(op.name.split('/')[0], text, shape, count)


def _text(op, variables):
  """A layer's computation, in words."""
  if op.type == 'LRN':
    return 'local response normalization'
  if op.type == 'MaxPool':
    _, height, width, _ = op.get_attr('ksize')
    return f'max pooling {height} × {width}, stride {op.get_attr("strides")[1]}'
  weights = variables['weights']
  text = 'fully connected'
  if len(weights) == 4:
    text = f'convolution {weights[0]} × {weights[1]}'
  return text + {'Relu': ', ReLU'}.get(op.type, ', linear')


def _block(picture, layer, y):
  """Draws the output of a layer as a block, or a row of units, to scale."""
  kind = 'blue' if layer.parameters else 'gray'
  if len(layer.shape) == 1:
    length = max(5, _LENGTH * layer.shape[0])
    picture.rect(_BLOCKS - length / 2, y - 6, length, 12, kind, radius=1)
    return
  side, depth = _SIDE * layer.shape[0], _DEPTH * layer.shape[2] + 2
  x, top = _BLOCKS - (side + depth) / 2, y - side / 2 + depth / 6
  slant = depth / 3
  corners = (f'M{x:g} {top:g}l{depth:g} {-slant:g}h{side:g}v{side:g}'
             f'l{-depth:g} {slant:g}h{-side:g}z')
  picture.add(f'<path class="{kind}" d="{corners}"/>')
  edges = (f'M{x:g} {top:g}h{side:g}v{side:g}M{x + side:g} {top:g}'
           f'l{depth:g} {-slant:g}')
  picture.add(f'<path class="edge" d="{edges}"/>')


def draw():
  """Draws a row for each layer; returns the svg.Picture."""
  found = layers()
  picture = svg.Picture(_TOP + _ROW * len(found) + 44)
  right = picture.width - 12
  for x, text, anchor in ((_NAMES, 'layer', 'start'),
                          (_SHAPES, 'output', 'middle'), (right, 'parameters',
                                                          'end')):
    picture.text(x, 30, text, 'gray-text', svg.NOTE, anchor)
  for row, layer in enumerate(found):
    y = _TOP + _ROW * (row + 0.5)
    picture.line(f'M12 {y - _ROW / 2:g}H{right}', 'faint')
    _block(picture, layer, y)
    picture.text(_NAMES, y - 4, layer.name, bold=True)
    picture.text(_NAMES, y + 18, layer.text, size=svg.NOTE)
    picture.text(_SHAPES, y + 6, ' × '.join(map(str, layer.shape)),
                 anchor='middle')
    if layer.parameters:
      picture.text(right, y + 6, f'{layer.parameters:,}', anchor='end')
  bottom = _TOP + _ROW * len(found)
  picture.line(f'M12 {bottom}H{right}', 'gray')
  total = sum(layer.parameters for layer in found)
  picture.text(_NAMES, bottom + 28, 'all layers', bold=True)
  picture.text(right, bottom + 28, f'{total:,}', anchor='end', bold=True)
  return picture


if __name__ == '__main__':
  svg.main(__doc__, draw)
