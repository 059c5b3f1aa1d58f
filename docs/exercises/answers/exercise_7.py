"""Exercise 7: pictures of your own."""

import glob
import os

import tensorflow.compat.v1 as tf

import cifar10


def distorted_inputs(folder, batch_size):
  """Batches of PNG pictures of any size, from a folder for each class.

  Returns:
    images: float32 [batch_size, IMAGE_SIZE, IMAGE_SIZE, 3], each standardized.
    labels: int32 [batch_size], the number of the folder in alphabetical order.
  """
  paths, labels = [], []
  for label, name in enumerate(sorted(os.listdir(folder))):
    found = glob.glob(os.path.join(folder, name, '*.png'))
    paths += found
    labels += len(found) * [label]
  path, label = tf.train.slice_input_producer([paths, labels])
  picture = tf.image.decode_png(tf.read_file(path), channels=3)
  picture = tf.image.resize_images(picture, 2 * [cifar10.IMAGE_SIZE])
  picture = tf.image.random_flip_left_right(picture)
  image = tf.image.per_image_standardization(picture)
  return tf.train.batch([image, label], batch_size)
