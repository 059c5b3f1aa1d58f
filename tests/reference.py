"""The slow, obvious forms of what the project does fast: oracles for tests.

Here an image is distorted by itself, as the tutorial describes it.
"""

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input


def whiten(image):
  """Mean 0, variance 1; the divisor is at least 1 / sqrt(pixels).

  Args:
    image: array, [height, width, depth].

  Returns:
    float64 array of the same shape.
  """
  image = image.astype(np.float64)
  deviation = max(image.std(), 1 / np.sqrt(image.size))
  return (image - image.mean()) / deviation


def central_crop(image, size):
  """The whitened middle of an image, size x size pixels."""
  top = (image.shape[0] - size) // 2
  left = (image.shape[1] - size) // 2
  return whiten(image[top : top + size, left : left + size])


def distort(image, size, top, left, flip, brightness, contrast):
  """Distorts an image by the given choices.

  Args:
    image: uint8 array, [height, width, depth].
    size: height and width of the result.
    top, left: where the crop begins.
    flip: whether the crop is mirrored left to right.
    brightness: added to each pixel.
    contrast: factor on each pixel's distance from the mean of its colour.

  Returns:
    float64 array, [size, size, depth].
  """
  image = image[top : top + size, left : left + size].astype(np.float64)
  if flip:
    image = image[:, ::-1]
  image = image + brightness
  means = image.mean(axis=(0, 1))
  return whiten((image - means) * contrast + means)


def distort_by_tensorflow(image):
  """The tutorial's distortions of one image, by TensorFlow's own operations.

  Args:
    image: uint8 tensor, [height, width, depth].

  Returns:
    float32 tensor, [24, 24, depth].
  """
  size = cifar10_input.IMAGE_SIZE
  depth = image.shape.as_list()[2]
  image = tf.cast(image, tf.float32)
  image = tf.random_crop(image, [size, size, depth])
  image = tf.image.random_flip_left_right(image)
  image = tf.image.random_brightness(image, max_delta=63)
  image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
  return tf.image.per_image_standardization(image)


def classical_distorted_inputs(filenames, num_examples, batch_size):
  """The tutorial's input: a shuffle queue of images distorted one by one.

  Args:
    filenames: files of records.
    num_examples: how many records they hold.
    batch_size: number of images in a batch.

  Returns:
    images: float32 tensor, [batch_size, 24, 24, 3].
    labels: int32 tensor, [batch_size].
  """
  with tf.device('/cpu:0'):
    filename_queue = tf.train.string_input_producer(list(filenames))
    record = cifar10_input.read_cifar10(filename_queue)
    image = distort_by_tensorflow(record.uint8image)
    enough = int(num_examples * 0.4)
    images, labels = tf.train.shuffle_batch(
      [image, record.label],
      batch_size=batch_size,
      num_threads=16,
      capacity=enough + 3 * batch_size,
      min_after_dequeue=enough,
    )
    return images, tf.reshape(labels, [batch_size])
