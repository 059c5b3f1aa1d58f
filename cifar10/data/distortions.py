"""Turns batches of raw records into images, distorted or centrally cropped.

The tutorial's section "Model Inputs".
"""

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.data import records as records_lib
from cifar10.errors import UserError

# For --standardization=fixed: CIFAR-10's red, green and blue.
_MEANS = 125.3, 123.0, 113.9
_DEVIATIONS = 63.0, 62.1, 66.7

# Ranges of the random distortions, from the tutorial.
_MAX_BRIGHTNESS = 63  # Added to or subtracted from pixels of 0 to 255.
_MIN_CONTRAST, _MAX_CONTRAST = 0.2, 1.8

# Ranges of the other distortions.
_MAX_ANGLE = np.radians(15)
_MIN_ZOOM, _MAX_ZOOM = 0.8, 1.2
_MIN_SATURATION, _MAX_SATURATION = 0.5, 1.5
_MAX_HUE = np.radians(36)

# The tutorial's distortions, and all of them.
TUTORIAL = ('crop', 'flip', 'brightness', 'contrast')
_COLORS = ('saturation', 'hue')
NAMES = (*TUTORIAL, 'shift', 'rotate', 'resize', *_COLORS, 'cutout',
         'alternating_flip')

# Weights of red, green and blue in the brightness of a pixel: ITU-R BT.601.
LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def names(text):
  """The names in --augment, a tuple; raises UserError if one is unknown."""
  found = tuple(name.strip() for name in text.split(',') if name.strip())
  for name in found:
    if name not in NAMES:
      raise UserError(
          f'--augment: {name!r} is unknown; expected some of {", ".join(NAMES)}'
      )
  return found


def check(settings, layout):
  """Raises UserError if --augment does not suit images of a Layout."""
  text, found = settings.augment, names(settings.augment)
  if layout.depth != 3 and set(_COLORS) & set(found):
    raise UserError(
        f'--augment={text}: saturation and hue need images in color; these '
        f'have {layout.depth} channel')
  if 'shift' in found and not _largest_shift(settings, layout):
    raise UserError(
        f'--max_shift={settings.max_shift:g}: less than half a pixel of '
        f'{layout.height}; leave out shift in --augment={text}')


def _largest_shift(settings, layout):
  return int(round(layout.height * settings.max_shift))


def are_changed(settings):
  """True if the settings ask for other distortions than the tutorial's."""
  kinds = names(settings.augment), settings.standardization
  return kinds != (TUTORIAL, 'image')


def distort(records, data, settings, size, flip=None):
  """Decodes records and distorts each image at random.

  Args:
    records: uint8 tensor, [batch, record_bytes].
    data: datasets.DataSet of the records, which says if images may be flipped.
    settings: settings.Settings, whose `augment` lists some of NAMES.
    size: height and width of the crops, in pixels; without crop, the middle.
    flip: int32 tensor, [batch], 1 for the images to flip; None: at random.

  Returns float32 [batch, size, size, depth], `standardized`; cutout sets a
  square to 0.
  """
  augment, count = names(settings.augment), tf.shape(records)[:1]
  images = _cropped(records, count, data, settings, size, flip)
  if {'brightness', 'contrast'} & set(augment):
    per_image = tf.concat([count, [1, 1, 1]], 0)  # [batch, 1, 1, 1]
    brightness, contrast = 0.0, 1.0
    if 'brightness' in augment:
      brightness = tf.random_uniform(per_image, -_MAX_BRIGHTNESS,
                                     _MAX_BRIGHTNESS)
    if 'contrast' in augment:
      contrast = tf.random_uniform(per_image, _MIN_CONTRAST, _MAX_CONTRAST)
    images = adjusted(images, brightness, contrast)
  images = _colors(images, count, augment)
  images = standardized(images, settings.standardization)
  return images * _cutout_mask(count, size) if 'cutout' in augment else images


def with_pasted_squares(images):
  """Pastes a square of the next image into each, [batch, size, size, depth]."""
  mask = _cutout_mask(tf.shape(images)[:1], images.shape.as_list()[1])
  others = tf.concat([images[1:], images[:1]], 0)
  return mask * images + (1 - mask) * others


def _cropped(records, count, data, settings, size, flip):
  """Cuts, flips, shifts, turns and scales for `distort`; pixels of 0 to 255."""
  augment, layout = names(settings.augment), data.layout
  shift = _largest_shift(settings, layout) if 'shift' in augment else 0

  def random(name, *limits, otherwise, dtype=tf.float32):
    if name not in augment:
      return tf.fill(count, tf.constant(otherwise, dtype))
    return tf.random_uniform(count, *limits, dtype=dtype)

  corner = [
      random('crop', 0, space + 1, otherwise=space // 2, dtype=tf.int32)
      for space in (layout.height - size, layout.width - size)
  ]
  if flip is None:
    kind = 'flip' if 'flip' in augment else 'alternating_flip'
    flips = 2 if data.flip else 1
    flip = random(kind, 0, flips, otherwise=0, dtype=tf.int32)
  if shift:
    corner = [
        first + tf.random_uniform(count, -shift, shift + 1, dtype=tf.int32)
        for first in corner
    ]
  if not {'rotate', 'resize'} & set(augment):
    return records_lib.crop(records, layout, size, corner, flip)
  zeros = [tf.zeros_like(first) for first in corner]
  whole = records_lib.crop(records, layout, layout.height, zeros, flip)
  return resample(whole, size, [tf.to_float(first) for first in corner],
                  angle=random('rotate', -_MAX_ANGLE, _MAX_ANGLE, otherwise=0),
                  zoom=random('resize', _MIN_ZOOM, _MAX_ZOOM, otherwise=1))


def resample(images, size, corner, angle, zoom):
  """Cuts a square out of each image, turned and scaled about its middle.

  Bilinear between pixels; beyond the edge of an image its pixels are repeated.

  Args:
    images: float32 tensor, [n, height, width, depth].
    size: height and width of the squares, in pixels.
    corner: two float32 tensors, [n]; first row and column before turning.
    angle: float32 tensor, [n], in radians, clockwise.
    zoom: float32 tensor, [n]; 2 shows a quarter of the square, twice as large.

  Returns float32 [n, size, size, depth].
  """
  (top, left), (height, width, depth) = corner, images.shape.as_list()[1:]
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
    # [n, size, size, depth]
    return tf.gather(pixels, starts + row * width + column)

  def blend(first, second, share):
    return first + (second - first) * share[..., tf.newaxis]

  return blend(
      blend(at(row, column), at(row, next_column), right_share),
      blend(at(next_row, column), at(next_row, next_column), right_share),
      down_share)


def _between(positions, length):
  """The two pixels around each position, and the weight of the second one."""
  positions = tf.clip_by_value(positions, 0.0, length - 1.0)
  first = tf.floor(positions)
  index = tf.cast(first, tf.int32)
  return index, tf.minimum(index + 1, length - 1), positions - first


def adjusted(images, brightness, contrast):
  """Adds the brightness, and scales the distance from the mean by the contrast.

  Takes and returns float32 [batch, height, width, depth], with brightness and
  contrast [batch, 1, 1, 1]. One pass over the images; the tutorial takes two.
  """
  means = tf.reduce_mean(images, [1, 2], keepdims=True)  # Of each channel.
  return images * contrast + (means * (1 - contrast) + brightness)


def _colors(images, count, augment):
  """Changes saturation and hue, by one 3 x 3 matrix for each image."""
  if not set(_COLORS) & set(augment):
    return images
  size = images.shape.as_list()[2]
  per_image = tf.concat([count, [1, 1]], 0)
  colors = tf.eye(3)
  if 'saturation' in augment:
    share = tf.random_uniform(per_image, _MIN_SATURATION, _MAX_SATURATION)
    gray = tf.constant(np.tile(LUMA[:, np.newaxis], [1, 3]))
    colors = share * tf.eye(3) + (1 - share) * gray
  if 'hue' in augment:
    angle = tf.random_uniform(per_image, -_MAX_HUE, _MAX_HUE)
    colors = tf.matmul(colors + tf.zeros(per_image), _hue_rotations(angle))
  pixels = tf.reshape(images, [-1, size * size, 3])
  return tf.reshape(tf.matmul(pixels, colors), tf.shape(images))


def _hue_rotations(angle):
  """Rotations about the axis (1, 1, 1), by Rodrigues' formula."""
  cross = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], np.float32) / 3**0.5
  return (tf.cos(angle) * tf.eye(3) + tf.sin(angle) * cross +
          (1 - tf.cos(angle)) * np.full([3, 3], 1 / 3, np.float32))


def _cutout_mask(count, size):
  """0 in a square of half the side, 1 around it: [batch, size, size, 1].

  Its middle is anywhere: DeVries and Taylor, arXiv 1708.04552, section 3.2.
  """

  def inside():
    middle = tf.random_uniform(count, 0, size, dtype=tf.int32)
    first = middle[:, tf.newaxis] - size // 4
    index = tf.range(size)
    return tf.logical_and(index >= first, index < first + size // 2)

  square = tf.logical_and(inside()[:, :, tf.newaxis],
                          inside()[:, tf.newaxis, :])
  return 1 - tf.to_float(square)[..., tf.newaxis]


def standardized(images, kind):
  """Subtracts a mean from pixels of 0 to 255, and divides by a deviation.

  Takes and returns float32 [batch, height, width, depth]. `kind` is 'image',
  with mean and deviation of each image; or 'fixed', with those of CIFAR-10's
  colors, averaged for images that are not RGB.
  """
  if kind == 'fixed':
    means, deviations = fixed_standardization(images.shape.as_list()[-1])
    return (images - means) / deviations
  return tf.image.per_image_standardization(images)


def fixed_standardization(depth):
  """Means and deviations of the channels: float32 [2, depth] or [2, 1]."""
  numbers = np.array([_MEANS, _DEVIATIONS], np.float32)
  return numbers if depth == 3 else numbers.mean(1, keepdims=True)


def central_crop(records, layout, size, standardization='image'):
  """The middles of the images in records, standardized.

  Takes uint8 [n, record_bytes]; returns float32 [n, size, size, depth].
  """
  zeros = tf.zeros_like(records[:, 0], tf.int32)
  corner = [zeros + (side - size) // 2 for side in layout[:2]]
  images = records_lib.crop(records, layout, size, corner, flip=zeros)
  return standardized(images, standardization)


def central_crop_of_images(images, size, standardization='image'):
  """`central_crop` for decoded images, float32 [n, height, width, depth]."""
  _, height, width, _ = images.shape.as_list()
  top, left = (height - size) // 2, (width - size) // 2
  cropped = images[:, top:top + size, left:left + size]
  return standardized(cropped, standardization)
