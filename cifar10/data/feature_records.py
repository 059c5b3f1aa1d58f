"""Records of features: a label, as in CIFAR-10's format, and float32 numbers.

The readers and queues of images take them, too.
"""

import numpy as np
import tensorflow.compat.v1 as tf

# The outputs of frozen layers in a training directory, and their description.
FILE_NAME = 'frozen_layers.bin'
DESCRIPTION_NAME = 'frozen_layers.json'

_FLOAT32_BYTES = 4


def layout_for(shape, layout):
  """The Layout of features, with the label bytes of their images' `layout`.

  `shape` is the list [height, width, channels] or [channels].
  """
  height, width, channels = [1] * (3 - len(shape)) + shape
  return layout._replace(height=height, width=width,
                         depth=_FLOAT32_BYTES * channels)


def shape(layout):
  """Height, width and channels of the features in records of `layout`."""
  return layout.height, layout.width, layout.depth // _FLOAT32_BYTES


def encode(features, images, layout):
  """The records, uint8 [n, layout.record_bytes], of features.

  Takes a float32 array, [n, height, width, channels] or [n, channels], the
  records of their images, uint8 [n, record bytes], and the features' Layout.
  """
  numbers = np.ascontiguousarray(features, np.float32).view(np.uint8)
  labels = images[:, :layout.label_bytes]
  return np.concatenate([labels, numbers.reshape(len(labels), -1)], axis=1)


def features(records, layout):
  """The features, float32 [n, height, width, channels], in a uint8 tensor."""
  numbers = tf.reshape(records[:, layout.label_bytes:],
                       [-1, *shape(layout), _FLOAT32_BYTES])
  return tf.bitcast(numbers, tf.float32)
