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
  # Change this: read, decode, resize, standardize, make batches.
  side = cifar10.IMAGE_SIZE
  return tf.zeros([batch_size, side, side, 3]), tf.zeros([batch_size], tf.int32)
