"""Turns batches of raw records into images, distorted or centrally cropped.

The tutorial's section "Model Inputs". Functions of tensors, without queues.
"""

import tensorflow.compat.v1 as tf

from cifar10.data import records as records_lib

# Ranges of the random distortions, from the tutorial.
_MAX_BRIGHTNESS_DELTA = 63
_MIN_CONTRAST, _MAX_CONTRAST = 0.2, 1.8


def distort(records, layout, size, mirrored=True):
  """Decodes records and distorts each image at random.

  The tutorial's distortions: a random crop of size x size pixels, a left-right
  flip with probability 1/2, a change of brightness by up to 63 of 255, a
  contrast factor of 0.2 to 1.8. Then each image is standardized.

  Args:
    records: uint8 tensor, [batch, layout.record_bytes].
    layout: records.Layout.
    size: height and width of the crops, in pixels.
    mirrored: whether to flip images; a mirrored digit is not a digit.

  Returns:
    float32 tensor, [batch, size, size, depth], each image of mean 0 and
    variance 1.
  """
  count = tf.shape(records)[:1]
  images = records_lib.crop(
    records,
    layout,
    size,
    top=tf.random_uniform(count, 0, layout.height - size + 1, dtype=tf.int32),
    left=tf.random_uniform(count, 0, layout.width - size + 1, dtype=tf.int32),
    flip=tf.random_uniform(count, 0, 2 if mirrored else 1, dtype=tf.int32),
  )
  images = tf.cast(images, tf.float32)
  per_image = tf.concat([count, [1, 1, 1]], 0)  # [batch, 1, 1, 1]
  brightness = tf.random_uniform(
    per_image, -_MAX_BRIGHTNESS_DELTA, _MAX_BRIGHTNESS_DELTA
  )
  contrast = tf.random_uniform(per_image, _MIN_CONTRAST, _MAX_CONTRAST)
  means = tf.reduce_mean(images, [1, 2], keepdims=True)  # Of each channel.
  # Departure from the tutorial: brightness and contrast in one step. Contrast
  # scales the distance of (images + brightness) from (means + brightness).
  images = images * contrast + (means * (1 - contrast) + brightness)
  return tf.image.per_image_standardization(images)


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
