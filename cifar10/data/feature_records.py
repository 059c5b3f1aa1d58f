"""Records of features: a label, as in CIFAR-10's format, and float32 numbers.

The output of a layer for an image, stored like an image: the same readers and
queues take both.
"""

import numpy as np
import tensorflow.compat.v1 as tf

# The outputs of frozen layers in a training directory, and what they were
# computed from.
FILE_NAME = 'frozen_layers.bin'
DESCRIPTION_NAME = 'frozen_layers.json'

_BYTES = 4  # Of a float32.


def layout_for(shape, layout):
  """The Layout of records of features.

  Args:
    shape: height, width and channels of the features.
    layout: records.Layout of the images that they are made of, whose label
      bytes they keep.

  Returns:
    records.Layout with a depth of four bytes for each channel.
  """
  height, width, channels = shape
  return layout._replace(height=height, width=width, depth=_BYTES * channels)


def shape(layout):
  """Height, width and channels of the features in records of a Layout."""
  return layout.height, layout.width, layout.depth // _BYTES


def encode(features, images, layout):
  """The records of features.

  Args:
    features: float32 array, [n, height, width, channels].
    images: uint8 array, [n, record bytes], the records of the images that they
      are made of.
    layout: records.Layout, from `layout_for`.

  Returns:
    uint8 array, [n, layout.record_bytes].
  """
  numbers = np.ascontiguousarray(features, np.float32).view(np.uint8)
  labels = images[:, : layout.label_bytes]
  return np.concatenate([labels, numbers.reshape(len(labels), -1)], axis=1)


def features(records, layout):
  """The features in records.

  Args:
    records: uint8 tensor, [n, layout.record_bytes].
    layout: records.Layout, from `layout_for`.

  Returns:
    float32 tensor, [n, height, width, channels].
  """
  numbers = tf.reshape(
    records[:, layout.label_bytes :], [-1, *shape(layout), _BYTES]
  )
  return tf.bitcast(numbers, tf.float32)
