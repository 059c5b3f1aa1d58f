"""The slow, obvious forms of what the project does fast: oracles for tests.

Here an image is read and distorted by itself, as the tutorial describes it,
and none of the project's own reading and distorting is called.
"""

import numpy as np
import tensorflow.compat.v1 as tf

SIZE = 24  # Height and width of the crops.


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


def local_response_norm(x, depth_radius, alpha):
  """x / (1 + alpha * sum of squares) ** 0.75, the sum channel by channel.

  Args:
    x: float array, [batch, height, width, channels].
    depth_radius: so many channels on either side count, and the own.
    alpha: float.
  """
  y = np.empty_like(x)
  for channel in range(x.shape[3]):
    first = max(0, channel - depth_radius)
    window = x[..., first : channel + depth_radius + 1]
    scale = 1 + alpha * (window**2).sum(axis=3)
    y[..., channel] = x[..., channel] * scale**-0.75
  return y


def locally_connected(x, weights):
  """At each position, the products of its own filters and its own window.

  Args:
    x: float array, [batch, height, width, channels].
    weights: float array, [height, width, rows, columns, channels, filters].
  """
  height, width, rows, columns = weights.shape[:4]
  y = np.zeros(x.shape[:3] + weights.shape[5:], x.dtype)
  for i, j, row, column in np.ndindex(height, width, rows, columns):
    at, beside = i + row - rows // 2, j + column - columns // 2
    if 0 <= at < height and 0 <= beside < width:
      y[:, i, j] += x[:, at, beside].dot(weights[i, j, row, column])
  return y


def distort_by_tensorflow(image):
  """The tutorial's distortions of one image, by TensorFlow's own operations.

  Args:
    image: uint8 tensor, [height, width, depth].

  Returns:
    float32 tensor, [24, 24, depth].
  """
  depth = image.shape.as_list()[2]
  image = tf.cast(image, tf.float32)
  image = tf.random_crop(image, [SIZE, SIZE, depth])
  image = tf.image.random_flip_left_right(image)
  image = tf.image.random_brightness(image, max_delta=63)
  image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
  return tf.image.per_image_standardization(image)


def read_by_tensorflow(filename_queue):
  """Reads one record of CIFAR-10, by TensorFlow's own operations.

  Args:
    filename_queue: queue of the names of the files to read.

  Returns:
    image: float32 tensor, [32, 32, 3], 0 to 255.
    label: int32 scalar tensor.
  """
  _, value = tf.FixedLengthRecordReader(1 + 3 * 32 * 32).read(filename_queue)
  record = tf.decode_raw(value, tf.uint8)
  planes = tf.reshape(tf.slice(record, [1], [3 * 32 * 32]), [3, 32, 32])
  image = tf.transpose(tf.cast(planes, tf.float32), [1, 2, 0])
  return image, tf.cast(record[0], tf.int32)


def tensorflow_lrn(x, depth_radius, alpha, name):
  """TensorFlow's own local response normalization; see `layers.banded_lrn`."""
  return tf.nn.lrn(x, depth_radius, 1.0, alpha, 0.75, name=name)


def classical_inputs(filenames, batch_size):
  """The tutorial's input for evaluation: whole images, one by one.

  Args:
    filenames: files of records.
    batch_size: number of images in a batch; the last one may have fewer.

  Returns:
    images: float32 tensor, [at most batch_size, 24, 24, 3].
    labels: int32 tensor, [at most batch_size].
  """
  with tf.device('/cpu:0'):
    filename_queue = tf.train.string_input_producer(
      list(filenames), num_epochs=1, shuffle=False
    )
    image, label = read_by_tensorflow(filename_queue)
    image = tf.image.resize_image_with_crop_or_pad(image, SIZE, SIZE)
    return tf.train.batch(
      [tf.image.per_image_standardization(image), label],
      batch_size=batch_size,
      num_threads=16,
      capacity=4000 + 3 * batch_size,
      allow_smaller_final_batch=True,
    )


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
    image, label = read_by_tensorflow(filename_queue)
    enough = int(num_examples * 0.4)
    return tf.train.shuffle_batch(
      [distort_by_tensorflow(image), label],
      batch_size=batch_size,
      num_threads=16,
      capacity=enough + 3 * batch_size,
      min_after_dequeue=enough,
    )
