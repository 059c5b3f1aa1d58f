"""Picture operations yield the same images as Pillow."""

import functools
import struct

import numpy as np
from PIL import Image
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import pictures
from cifar10.data.records import Layout
from cifar10.infer import picture_ops
from tests.picture_folders import noise
from tests.picture_folders import save

# Height and width: equal, wider, higher, larger, smaller, extreme.
SIZES = [(32, 32), (32, 37), (45, 32), (50, 37), (64, 64), (500, 333),
         (70, 301)]
SIZES += [(16, 20), (33, 32), (1, 1), (2, 500)]


@functools.lru_cache(maxsize=None)
def decoder(layout):
  """A session, and its tensors of contents and images of a layout."""
  with tf.Graph().as_default():
    given = tf.placeholder(tf.string, [None])
    images = picture_ops.decode(given, layout)
    shape = [None, layout.height, layout.width, layout.depth]
    assert images.shape.as_list() == shape
    return tf.Session(), given, images


def decode(contents, layout):
  session, given, images = decoder(layout)
  return session.run(images, {given: contents})


def both_ways(paths, size, channels):
  """The images of picture files, by the operations and by Pillow."""
  contents = []
  for path in paths:
    with open(path, 'rb') as picture:
      contents.append(picture.read())
  layout = Layout(size, size, channels)
  expected = [pictures.fit(pictures.read(p), size, channels) for p in paths]
  return decode(contents, layout), np.stack(expected)


def largest_difference(found, expected):
  """The largest difference between two images: int [n]."""
  difference = np.abs(found.astype(int) - expected.astype(int))
  return difference.max(axis=(1, 2, 3))


def smooth(height, width, channels=3):
  """Waves up to black and white: uint8 [height, width, channels]."""
  y, x, c = np.indices((height, width, channels))
  waves = np.sin(9 * y / height + c) + np.cos(7 * x / width - 2 * c)
  return np.clip(127.5 + 100 * waves, 0, 255).astype(np.uint8)


@pytest.mark.parametrize('channels', [1, 3])
@pytest.mark.parametrize('kind', ['png', 'jpg', 'bmp', 'gif'])
def test_a_picture_of_the_right_size_is_not_changed(tmp_path, kind, channels):
  images = [noise(8, 8, seed=seed) for seed in range(3)]
  if kind != 'bmp':  # Gray BMP files have a palette.
    images[2] = images[2][..., 0]
  paths = [
      save(tmp_path / ('%d.%s' % (i, kind)), image)
      for i, image in enumerate(images)
  ]
  found, expected = both_ways(paths, 8, channels)
  # The conversion from color to gray rounds differently.
  assert largest_difference(found, expected).max() <= (channels == 1)


@pytest.mark.parametrize('make', [noise, smooth])
def test_any_size_is_scaled_as_by_pillow(tmp_path, make):
  paths = [
      save(tmp_path / ('%d_%d.%s' % (height, width, kind)), make(height, width))
      for height, width in SIZES
      for kind in ('png', 'jpg')
  ]
  for size, channels in ((32, 3), (8, 1)):
    found, expected = both_ways(paths, size, channels)
    difference = largest_difference(found, expected)
    assert difference.max() <= 1, dict(zip(paths, difference))


@pytest.mark.parametrize('channels', [1, 3])
def test_transparency_palettes_16_bits_and_animations(tmp_path, channels):
  palette = Image.fromarray(noise(40, 50)).convert('P', palette=Image.ADAPTIVE)
  palette.save(str(tmp_path / 'palette.png'))
  save(tmp_path / 'transparent.png', noise(40, 50, 4))
  save(tmp_path / 'transparent_gray.png', noise(40, 50, 2))
  levels = np.arange(64, dtype=np.uint16) * 1027
  save(tmp_path / '16_bits.png', levels.reshape(8, 8))
  frames = [Image.fromarray(noise(8, 8, seed=s)) for s in (0, 1)]
  frames[0].save(str(tmp_path / 'animation.gif'), save_all=True,
                 append_images=frames[1:])
  for path in sorted(tmp_path.iterdir()):
    found, expected = both_ways([str(path)], 8, channels)
    is_exact = path.name == '16_bits.png' or (channels == 3 and
                                              path.suffix == '.gif')
    assert largest_difference(found, expected) <= (not is_exact), path


@pytest.mark.parametrize('colors', [2, 256])
def test_the_first_frame_of_a_gif_fills_its_canvas(tmp_path, colors):
  path = tmp_path / 'x.gif'
  Image.fromarray(noise(8, 8)).quantize(colors).save(str(path),
                                                     comment=b'!' * 300)
  found, expected = both_ways([str(path)], 8, 3)
  np.testing.assert_array_equal(found, expected)
  content = bytearray(path.read_bytes())
  # Left and top, then width and height, in the first frame's description.
  frame = content.index(struct.pack('<B4H', ord(','), 0, 0, 8, 8))
  for canvas, place in (((9, 8), (1, 0)), ((8, 9), (0, 1)), ((9, 9), (0, 0))):
    content[6:10] = struct.pack('<2H', *canvas)
    content[frame + 1:frame + 5] = struct.pack('<2H', *place)
    with pytest.raises(tf.errors.InvalidArgumentError, match='first frame'):
      decode([bytes(content)], Layout(8, 8, 3))


@pytest.mark.parametrize('content', [b'text', b'', b'\xff\xd8\xff\xe0'],
                         ids=['text', 'empty', 'truncated'])
def test_a_file_that_is_not_a_picture_is_an_error(content):
  with pytest.raises(tf.errors.InvalidArgumentError):
    decode([content], Layout())
