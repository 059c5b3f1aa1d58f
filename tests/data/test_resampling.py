"""Squares between the pixels of images, against one pixel at a time."""

import math

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import distortions


def pixel(image, row, column):
  """The color of an image at a position between its pixels; the oracle."""
  height, width, _ = image.shape
  row = min(max(row, 0.0), height - 1.0)
  column = min(max(column, 0.0), width - 1.0)
  top, left = int(row), int(column)
  bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
  down, over = row - top, column - left
  return (1 - down) * (
      (1 - over) * image[top, left] + over * image[top, right]) + down * (
          (1 - over) * image[bottom, left] + over * image[bottom, right])


def square(image, size, top, left, angle, zoom):
  found = np.zeros([size, size, image.shape[2]])
  middle = (size - 1) / 2
  for row in range(size):
    for column in range(size):
      down, right = (row - middle) / zoom, (column - middle) / zoom
      found[row, column] = pixel(
          image,
          top + middle + down * math.cos(angle) - right * math.sin(angle),
          left + middle + down * math.sin(angle) + right * math.cos(angle))
  return found


def sample(images, size, **choices):
  with tf.Graph().as_default(), tf.Session() as session:
    # The number of images may be unknown.
    batch = tf.placeholder(tf.float32, [None, *images.shape[1:]])
    constants = {
        name: tf.constant(values, tf.float32)
        for name, values in choices.items()
    }
    corner = [constants.pop('top'), constants.pop('left')]
    squares = distortions.resample(batch, size, corner, **constants)
    assert squares.shape.as_list()[1:] == [size, size, images.shape[3]]
    return session.run(squares, {batch: images})


@pytest.mark.parametrize('depth', [1, 3])
def test_squares_are_those_of_single_pixels(depth):
  rng = np.random.RandomState(0)
  images = rng.randint(0, 256, [6, 9, 11, depth]).astype(np.uint8)
  choices = {
      'top': [0, 1, 3, -4, 2.5, 20],
      'left': [0, 2, 5, 8, -1.25, 3],
      'angle': [0, 0.3, -0.3, 3.0, 0, 0.1],
      'zoom': [1, 1, 0.5, 2, 1.1, 0.9]
  }
  found = sample(images, 6, **choices)
  for i, image in enumerate(images):
    expected = square(image, 6, *[values[i] for values in choices.values()])
    np.testing.assert_allclose(found[i], expected, atol=0.01)


def test_a_positive_angle_turns_the_picture_clockwise():
  image = np.zeros([1, 9, 9, 1], np.uint8)
  image[0, 4, 7] = 255  # To the right of the middle.
  (found,) = sample(image, 9, top=[0], left=[0], angle=[math.pi / 2], zoom=[1])
  assert np.unravel_index(found.argmax(), found.shape)[:2] == (7, 4)
