"""Shifts, rotations and sizes: samples images between their pixels."""

import tensorflow.compat.v1 as tf


def sample(images, size, *, top, left, angle, zoom):
  """Cuts a square out of each image, turned and scaled about its middle.

  Bilinear between pixels; beyond the edge of an image its pixels are repeated.

  Args:
    images: tensor, [n, height, width, depth].
    size: height and width of the squares, in pixels.
    top, left: float32 tensors, [n]; first row and column of each square, if it
      were neither turned nor scaled.
    angle: float32 tensor, [n], in radians, clockwise.
    zoom: float32 tensor, [n]; 2 shows a quarter of the square, twice as large.

  Returns:
    float32 tensor, [n, size, size, depth].
  """
  height, width, depth = images.shape.as_list()[1:]
  middle = (size - 1) / 2

  def each(values):  # [n, 1, 1]
    return tf.reshape(values, [-1, 1, 1])

  offsets = tf.range(size, dtype=tf.float32) - middle
  down, right = offsets[:, tf.newaxis], offsets[tf.newaxis, :]
  cosine, sine = each(tf.cos(angle) / zoom), each(tf.sin(angle) / zoom)
  rows = each(top) + middle + cosine * down - sine * right
  columns = each(left) + middle + sine * down + cosine * right

  row, next_row, down_share = _between(rows, height)
  column, next_column, right_share = _between(columns, width)
  starts = each(tf.range(tf.shape(images)[0]) * (height * width))
  pixels = tf.reshape(images, [-1, depth])

  def at(row, column):
    found = tf.gather(pixels, starts + row * width + column)
    return tf.cast(found, tf.float32)  # [n, size, size, depth]

  def blend(first, second, share):
    return first + (second - first) * share[..., tf.newaxis]

  return blend(
    blend(at(row, column), at(row, next_column), right_share),
    blend(at(next_row, column), at(next_row, next_column), right_share),
    down_share,
  )


def _between(positions, length):
  """The two pixels that positions lie between, and the share of the second."""
  positions = tf.clip_by_value(positions, 0.0, length - 1.0)
  first = tf.floor(positions)
  index = tf.cast(first, tf.int32)
  return index, tf.minimum(index + 1, length - 1), positions - first
