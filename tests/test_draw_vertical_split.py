"""The picture of one model on two devices: what is where, and sees what."""

from tests import pictures

draw_vertical_split = pictures.module('draw_vertical_split')

LAYERS = 'images', 'conv1', 'conv2', 'local3', 'local4', 'softmax_linear'


def test_the_picture_is_that_of_the_graphs():
  content = str(draw_vertical_split.draw())
  assert pictures.is_current(content, 'vertical_split.svg')
  assert {'32 of 64', '192 of 384', '96 of 192'} <= set(pictures.texts(content))


def crossings(seen):
  """Pairs of layers of which one sees the other across the devices."""
  return {(before, after)
          for (before, here), (after, there) in seen
          if here != there}


def test_layers_are_on_one_device_or_the_other():
  units, seen = draw_vertical_split.parts(model_parallelism='layers')
  assert list(units) == [
      (layer, 0 if layer in LAYERS[:3] else 1) for layer in LAYERS
  ]
  assert crossings(seen) == {('conv2', 'local3')}


def test_each_half_of_the_filters_sees_both_halves():
  units, seen = draw_vertical_split.parts(model_parallelism='filters')
  assert units['conv2', 0] == units['conv2', 1] == 32
  assert ('images', 1) not in units and ('softmax_linear', 1) not in units
  assert crossings(seen) == set(zip(LAYERS, LAYERS[1:]))
  # Both ways, but for the image and the last layer.
  assert len(seen) == 2 + 3 * 4 + 2


def test_columns_see_each_other_in_the_fully_connected_layers_only():
  _, seen = draw_vertical_split.parts(model_parallelism='filters', columns=2)
  assert ('conv1', 'conv2') not in crossings(seen)
  assert ('conv2', 'local3') in crossings(seen)
