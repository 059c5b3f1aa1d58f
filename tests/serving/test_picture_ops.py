"""Pictures in the graph become what they become in Pillow's hands."""

import numpy as np
from PIL import Image
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.serving import picture_ops
from cifar10.data import pictures
from tests import test_pictures

SIZES = [(32, 32), (32, 37), (45, 32), (64, 64), (500, 333), (70, 301)]
SIZES += [(16, 20), (33, 32), (1, 1), (2, 500)]


def decode(contents, layout):
  with tf.Graph().as_default(), tf.Session() as session:
    given = tf.placeholder(tf.string, [None])
    images = picture_ops.decode(given, layout)
    shape = [None, layout.height, layout.width, layout.depth]
    assert images.shape.as_list() == shape
    return session.run(images, {given: contents})


def both_ways(paths, size, channels):
  """The images that the graph makes of pictures, and those that Pillow does."""
  contents = []
  for path in paths:
    with open(path, 'rb') as picture:
      contents.append(picture.read())
  layout = datasets.Layout(size, size, channels)
  expected = [pictures.fit(pictures.read(p), size, channels) for p in paths]
  return decode(contents, layout), np.stack(expected)


def furthest(found, expected):
  """How far apart two images are where they are furthest, each in turn."""
  difference = np.abs(found.astype(int) - expected.astype(int))
  return difference.max(axis=(1, 2, 3))


def smooth(height, width, channels=3):
  """Waves, as in photographs, up to full black and white."""
  y, x, c = np.indices((height, width, channels))
  waves = np.sin(9 * y / height + c) + np.cos(7 * x / width - 2 * c)
  return np.clip(127.5 + 100 * waves, 0, 255).astype(np.uint8)


@pytest.mark.parametrize('channels', [1, 3])
@pytest.mark.parametrize('kind', ['png', 'jpg', 'bmp', 'gif'])
def test_of_its_own_size_it_stays_as_it_is(tmp_path, kind, channels):
  images = [test_pictures.noise(8, 8, seed=seed) for seed in range(3)]
  if kind != 'bmp':  # Grey ones have a palette.
    images[2] = images[2][..., 0]
  paths = [
    test_pictures.saved(tmp_path / ('%d.%s' % (i, kind)), image)
    for i, image in enumerate(images)
  ]
  found, expected = both_ways(paths, 8, channels)
  # Grey of colours is rounded in two ways.
  assert furthest(found, expected).max() <= (channels == 1)


@pytest.mark.parametrize('height, width', SIZES)
@pytest.mark.parametrize('make', [test_pictures.noise, smooth])
def test_any_size_is_scaled_as_pillow_does(tmp_path, make, height, width):
  pixels = make(height, width)
  paths = [
    test_pictures.saved(tmp_path / name, pixels) for name in ('x.png', 'x.jpg')
  ]
  found, expected = both_ways(paths, 32, 3)
  assert furthest(found, expected).max() <= 1
  assert expected.std() > 1 or height == 1
  found, expected = both_ways(paths, 8, 1)
  assert furthest(found, expected).max() <= 1


@pytest.mark.parametrize('channels', [1, 3])
def test_what_is_transparent_is_on_white(tmp_path, channels):
  colors = test_pictures.noise(40, 50, 4)
  grey = test_pictures.noise(40, 50, 2)
  paths = [
    test_pictures.saved(tmp_path / 'x.png', colors),
    test_pictures.saved(tmp_path / 'y.png', grey),
  ]
  found, expected = both_ways(paths, 8, channels)
  assert furthest(found, expected).max() <= 1


def test_a_png_with_a_palette(tmp_path):
  path = tmp_path / 'x.png'
  image = Image.fromarray(test_pictures.noise(40, 50))
  image.convert('P', palette=Image.ADAPTIVE).save(str(path))
  found, expected = both_ways([str(path)], 8, 3)
  assert furthest(found, expected).max() <= 1


def test_of_16_bits_the_upper_8_are_taken(tmp_path):
  pixels = (np.arange(64, dtype=np.uint16) * 1027).reshape(8, 8)
  path = test_pictures.saved(tmp_path / 'x.png', pixels)
  found, expected = both_ways([path], 8, 1)
  np.testing.assert_array_equal(found, expected)


def test_of_several_frames_the_first_is_taken(tmp_path):
  path = tmp_path / 'x.gif'
  frames = [Image.fromarray(test_pictures.noise(8, 8, seed=s)) for s in (0, 1)]
  frames[0].save(str(path), save_all=True, append_images=frames[1:])
  found, expected = both_ways([str(path)], 8, 3)
  np.testing.assert_array_equal(found, expected)


def test_no_pictures_are_no_images():
  assert decode([], datasets.Layout()).shape == (0, 32, 32, 3)


@pytest.mark.parametrize('content', [b'no picture', b'', b'\xff\xd8\xff\xe0'])
def test_what_is_no_picture_is_an_error(content):
  with pytest.raises(tf.errors.InvalidArgumentError):
    decode([content], datasets.Layout())
