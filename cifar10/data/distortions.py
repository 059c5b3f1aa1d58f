"""Turns batches of raw records into images, distorted or centrally cropped.

The tutorial's section "Model Inputs". Functions of tensors, without queues.
"""

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.data import geometry
from cifar10.data import records as records_lib
from cifar10.errors import UserError

# Ranges of the random distortions, from the tutorial.
_MAX_BRIGHTNESS_DELTA = 63
_MIN_CONTRAST, _MAX_CONTRAST = 0.2, 1.8

# The tutorial's distortions, and all of them.
TUTORIAL = ('crop', 'flip', 'brightness', 'contrast')
NAMES = TUTORIAL + (
  'shift',
  'rotate',
  'resize',
  'saturation',
  'hue',
  'cutout',
  'alternating_flip',
)

_MAX_ANGLE = np.radians(15)
_MIN_ZOOM, _MAX_ZOOM = 0.8, 1.2
_MIN_SATURATION, _MAX_SATURATION = 0.5, 1.5
_MAX_HUE = np.radians(36)

# What each color contributes to the brightness of a pixel: ITU-R BT.601.
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def names(text):
  """The distortions that --augment names.

  Args:
    text: names with commas between.

  Returns:
    Tuple of names.

  Raises:
    UserError: one is unknown.
  """
  found = tuple(name.strip() for name in text.split(',') if name.strip())
  for name in found:
    if name not in NAMES:
      raise UserError(
        '--augment: %r is unknown; expected some of %s'
        % (name, ', '.join(NAMES))
      )
  return found


def check(settings, layout):
  """Checks that images have what --augment distorts.

  Args:
    settings: settings.Settings.
    layout: records.Layout of the images.

  Raises:
    UserError: saturation or hue without colors, or a shift of less than half a
      pixel.
  """
  text, found = settings.augment, names(settings.augment)
  if layout.depth != 3 and {'saturation', 'hue'} & set(found):
    raise UserError(
      '--augment=%s: saturation and hue need images in color; these have %d '
      'channel' % (text, layout.depth)
    )
  if 'shift' in found and not _largest_shift(settings, layout):
    raise UserError(
      '--max_shift=%g: less than half a pixel of %d; leave out shift in '
      '--augment=%s' % (settings.max_shift, layout.height, text)
    )


def _largest_shift(settings, layout):
  """The largest shift in whole pixels."""
  return int(round(layout.height * settings.max_shift))


def distort(records, data, settings, size, flip=None):
  """Decodes records and distorts each image at random, in its own way.

  The tutorial's distortions: a random crop of size x size pixels, a left-right
  flip with probability 1/2, a change of brightness by up to 63 of 255, a
  contrast factor of 0.2 to 1.8. Without the crop it is the middle that is cut
  out. At the end each image is standardized.

  Args:
    records: uint8 tensor, [batch, record_bytes].
    data: datasets.DataSet that they are of; a mirrored digit is not a digit.
    settings: settings.Settings; the distortions, some of NAMES.
    size: height and width of the crops, in pixels.
    flip: int32 tensor, [batch], 1 for the images to flip; None: at random.

  Returns:
    float32 tensor, [batch, size, size, depth], each image of mean 0 and
    variance 1, but for the square that cutout sets to 0.
  """
  augment, count = names(settings.augment), tf.shape(records)[:1]
  images = _cropped(records, data, settings, size, flip)
  images = _with_brightness_and_contrast(images, count, augment)
  images = _colors(images, count, augment)
  images = tf.image.per_image_standardization(images)
  if 'cutout' in augment:
    images *= _cutout_mask(count, size)
  return images


def with_pasted_squares(images):
  """Pastes into each image a square of another image of the batch.

  Args:
    images: float32 tensor, [batch, size, size, depth].

  Returns:
    float32 tensor of the same shape.
  """
  mask = _cutout_mask(tf.shape(images)[:1], images.shape.as_list()[1])
  others = tf.concat([images[1:], images[:1]], 0)
  return mask * images + (1 - mask) * others


def _cropped(records, data, settings, size, flip):
  """Squares of the images, cropped, flipped, shifted, turned and scaled.

  Takes the arguments of `distort`.

  Returns:
    float32 tensor, [batch, size, size, depth], of 0 to 255.
  """
  augment, layout = names(settings.augment), data.layout
  count = tf.shape(records)[:1]
  shift = _largest_shift(settings, layout) if 'shift' in augment else 0

  def random(name, *limits, otherwise, dtype=tf.float32):
    if name not in augment:
      return tf.fill(count, tf.constant(otherwise, dtype))
    return tf.random_uniform(count, *limits, dtype=dtype)

  rows, columns = layout.height - size, layout.width - size
  top = random('crop', 0, rows + 1, otherwise=rows // 2, dtype=tf.int32)
  left = random('crop', 0, columns + 1, otherwise=columns // 2, dtype=tf.int32)
  if flip is None:
    kind = 'flip' if 'flip' in augment else 'alternating_flip'
    flips = 2 if data.flip else 1
    flip = random(kind, 0, flips, otherwise=0, dtype=tf.int32)
  if shift:
    top, left = (
      first + tf.random_uniform(count, -shift, shift + 1, dtype=tf.int32)
      for first in (top, left)
    )
  if not {'rotate', 'resize'} & set(augment):
    if shift:
      records, layout = records_lib.extended(records, layout, shift)
      top, left = top + shift, left + shift
    images = records_lib.crop(
      records, layout, size, top=top, left=left, flip=flip
    )
    return tf.cast(images, tf.float32)
  whole = records_lib.crop(
    records,
    layout,
    layout.height,
    top=tf.zeros_like(top),
    left=tf.zeros_like(left),
    flip=flip,
  )
  return geometry.sample(
    whole,
    size,
    top=tf.to_float(top),
    left=tf.to_float(left),
    angle=random('rotate', -_MAX_ANGLE, _MAX_ANGLE, otherwise=0),
    zoom=random('resize', _MIN_ZOOM, _MAX_ZOOM, otherwise=1),
  )


def _with_brightness_and_contrast(images, count, augment):
  """Images of another brightness and contrast."""
  if not {'brightness', 'contrast'} & set(augment):
    return images
  per_image = tf.concat([count, [1, 1, 1]], 0)  # [batch, 1, 1, 1]
  brightness, contrast = 0.0, 1.0
  if 'brightness' in augment:
    brightness = tf.random_uniform(
      per_image, -_MAX_BRIGHTNESS_DELTA, _MAX_BRIGHTNESS_DELTA
    )
  if 'contrast' in augment:
    contrast = tf.random_uniform(per_image, _MIN_CONTRAST, _MAX_CONTRAST)
  means = tf.reduce_mean(images, [1, 2], keepdims=True)  # Of each channel.
  # Departure from the tutorial: brightness and contrast in one step. Contrast
  # scales the distance of (images + brightness) from (means + brightness).
  return images * contrast + (means * (1 - contrast) + brightness)


def _colors(images, count, augment):
  """Images of another saturation and hue.

  Both are linear: a matrix for each image, which leaves gray as it is. Hue
  turns colors about the gray axis.
  """
  if not {'saturation', 'hue'} & set(augment):
    return images
  size = images.shape.as_list()[2]
  per_image = tf.concat([count, [1, 1]], 0)
  colors = tf.eye(3)
  if 'saturation' in augment:
    share = tf.random_uniform(per_image, _MIN_SATURATION, _MAX_SATURATION)
    gray = tf.constant(np.tile(_LUMA[:, np.newaxis], [1, 3]))
    colors = share * tf.eye(3) + (1 - share) * gray
  if 'hue' in augment:
    angle = tf.random_uniform(per_image, -_MAX_HUE, _MAX_HUE)
    colors = tf.matmul(colors + tf.zeros(per_image), _hue_rotations(angle))
  pixels = tf.reshape(images, [-1, size * size, 3])
  return tf.reshape(tf.matmul(pixels, colors), tf.shape(images))


def _hue_rotations(angle):
  """Matrices that turn about the axis (1, 1, 1), by Rodrigues' formula."""
  cross = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], np.float32) / 3**0.5
  return (
    tf.cos(angle) * tf.eye(3)
    + tf.sin(angle) * cross
    + (1 - tf.cos(angle)) * np.full([3, 3], 1 / 3, np.float32)
  )


def _cutout_mask(count, size):
  """0 in a square of half the side, 1 around it: [batch, size, size, 1].

  The middle of the square is anywhere in the image: DeVries and Taylor, arXiv
  1708.04552, section 3.2.
  """

  def inside():
    middle = tf.random_uniform(count, 0, size, dtype=tf.int32)
    first = middle[:, tf.newaxis] - size // 4
    index = tf.range(size)
    return tf.logical_and(index >= first, index < first + size // 2)

  square = tf.logical_and(
    inside()[:, :, tf.newaxis], inside()[:, tf.newaxis, :]
  )
  return 1 - tf.to_float(square)[..., tf.newaxis]


def central_crop(records, layout, size):
  """Decodes records and cuts out the middle of each image, standardized.

  Args:
    records: uint8 tensor, [batch, layout.record_bytes].
    layout: records.Layout.
    size: height and width of the crops, in pixels.

  Returns:
    float32 tensor, [batch, size, size, depth], each image of mean 0 and
    variance 1.
  """
  zeros = tf.zeros_like(records[:, 0], tf.int32)
  images = records_lib.crop(
    records,
    layout,
    size,
    top=zeros + (layout.height - size) // 2,
    left=zeros + (layout.width - size) // 2,
    flip=zeros,
  )
  return tf.image.per_image_standardization(tf.cast(images, tf.float32))


def central_crop_of_images(images, size):
  """`central_crop` for images that are already decoded.

  Args:
    images: float32 tensor, [batch, height, width, depth].
    size: height and width of the crops, in pixels.

  Returns:
    float32 tensor, [batch, size, size, depth], each image of mean 0 and
    variance 1.
  """
  _, height, width, _ = images.shape.as_list()
  top, left = (height - size) // 2, (width - size) // 2
  cropped = images[:, top : top + size, left : left + size]
  return tf.image.per_image_standardization(cropped)
