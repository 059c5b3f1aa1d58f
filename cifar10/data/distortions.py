"""From batches of raw records to images, distorted or just cropped.

The tutorial's section "Model Inputs". No queues here: functions of tensors.
"""

import math

import numpy as np
import tensorflow.compat.v1 as tf

# Ranges of the random distortions, from the tutorial.
_MAX_BRIGHTNESS_DELTA = 63
_MIN_CONTRAST, _MAX_CONTRAST = 0.2, 1.8


def distort(records, layout, size, mirrored=True):
  """Distorts a batch of records, each image in its own random way.

  A crop of size x size anywhere in the image, a flip from left to
  right for every other image, brightness by up to 63 of 255, contrast by a
  factor of 0.2 to 1.8, and then whitening, all from the tutorial.

  Args:
    records: uint8 tensor, [batch, layout.record_bytes].
    layout: dataset.Layout, how a record is laid out.
    size: height and width of the result, in pixels.
    mirrored: whether images are flipped; a mirrored digit is none.

  Returns:
    float32 tensor, [batch, size, size, depth].
  """
  count = tf.shape(records)[:1]
  # [batch, 1, 1, 1] goes with [batch, height, width, depth].
  for_each_image = tf.concat([count, [1, 1, 1]], 0)
  images = _crop(
    records,
    layout,
    size,
    size,
    top=tf.random_uniform(count, 0, layout.height - size + 1, dtype=tf.int32),
    left=tf.random_uniform(count, 0, layout.width - size + 1, dtype=tf.int32),
    flip=tf.random_uniform(count, 0, 2 if mirrored else 1, dtype=tf.int32),
  )
  images = tf.cast(images, tf.float32)
  brightness = tf.random_uniform(
    for_each_image, -_MAX_BRIGHTNESS_DELTA, _MAX_BRIGHTNESS_DELTA
  )
  contrast = tf.random_uniform(for_each_image, _MIN_CONTRAST, _MAX_CONTRAST)
  means = tf.reduce_mean(images, [1, 2], keepdims=True)  # Of each colour.
  # (images + brightness), drawn away from (means + brightness) by contrast.
  images = images * contrast + (means * (1 - contrast) + brightness)
  return whiten(images)


def central_crop(records, layout, size):
  """The whitened middle of each image of a batch; takes what `distort` takes.

  Returns:
    float32 tensor, [batch, size, size, depth].
  """
  zeros = tf.zeros_like(records[:, 0], tf.int32)
  images = _crop(
    records,
    layout,
    size,
    size,
    top=zeros + (layout.height - size) // 2,
    left=zeros + (layout.width - size) // 2,
    flip=zeros,
  )
  return whiten(tf.cast(images, tf.float32))


def crop_images(images, size):
  """What `central_crop` makes of records, of images that are none.

  Args:
    images: float32 tensor, [batch, height, width, depth].
    size: height and width of the result, in pixels.

  Returns:
    float32 tensor, [batch, size, size, depth].
  """
  _, height, width, _ = images.shape.as_list()
  top, left = (height - size) // 2, (width - size) // 2
  return whiten(images[:, top : top + size, left : left + size])


def whiten(images):
  """Scales each image to mean 0 and variance 1.

  The divisor is at least 1 / sqrt(pixels), so that an image of one colour
  becomes zeros; as tf.image.per_image_standardization does.

  Args:
    images: float32 tensor, [batch, height, width, depth].
  """
  pixels = images.shape[1:].num_elements()
  images -= tf.reduce_mean(images, [1, 2, 3], keepdims=True)
  variance = tf.reduce_mean(tf.square(images), [1, 2, 3], keepdims=True)
  return images * tf.minimum(tf.rsqrt(variance), math.sqrt(pixels))


def whole(records, layout):
  """The images of a batch as they are.

  Args:
    records: uint8 tensor, [batch, layout.record_bytes].
    layout: dataset.Layout, how a record is laid out.

  Returns:
    uint8 tensor, [batch, layout.height, layout.width, layout.depth].
  """
  zeros = tf.zeros_like(records[:, 0], tf.int32)
  return _crop(
    records, layout, layout.height, layout.width, zeros, zeros, zeros
  )


def _crop(records, layout, height, width, top, left, flip):
  """Cuts a part out of each image and puts the colours last.

  A record's planes of red, green and blue are rows of pixels. One gather
  takes each pixel of the result from where it lies in its record; crop, flip
  and the change of order cost nothing on top.

  Args:
    records: uint8 tensor, [n, layout.record_bytes].
    layout: how a record is laid out.
    height, width: size of the parts.
    top, left: int32 tensors, [n]; where each part begins.
    flip: int32 tensor, [n]; 1 where the part is mirrored left to right.

  Returns:
    uint8 tensor, [n, height, width, depth].
  """

  # Where the pixels of a part lie, counted from its first one.
  rows = np.arange(height)[:, np.newaxis, np.newaxis] * layout.width
  columns = np.arange(width)[:, np.newaxis]
  planes = np.arange(layout.depth) * layout.height * layout.width
  as_they_are = np.ravel(rows + columns + planes)
  mirrored = np.ravel(rows + columns[::-1] + planes)
  pixels = tf.constant(np.stack([as_they_are, mirrored]), tf.int32)
  records_begin = tf.range(tf.shape(records)[0]) * layout.record_bytes
  begin = records_begin + layout.label_bytes + top * layout.width + left
  index = tf.gather(pixels, flip) + begin[:, tf.newaxis]
  images = tf.gather(tf.reshape(records, [-1]), index)
  return tf.reshape(images, [-1, height, width, layout.depth])
