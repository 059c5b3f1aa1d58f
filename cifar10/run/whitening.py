"""Whitening: the fixed filters of the first layer of --network=airbench.

Jordan, arXiv 2404.00498, section 3.1: the outputs of the layer have a variance
of 1 and no correlation. The filters come from training images, and are given
to a new run before its first step.
"""

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10.data import distortions
from cifar10.util import graph_keys
from cifar10.util import session_settings

_NUM_IMAGES = 5000  # The paper's number.
_BATCH_SIZE = 500

# What is added to the variances: directions in which patches hardly differ
# are not made large.
_EPSILON = 5e-4


def initial_values(data, settings):
  """The filters for a new run whose graph is the default graph.

  Args:
    data: datasets.DataSet to train on.

  Returns:
    A function of a session that loads them; None if the model has none.
  """
  variables = tf.get_collection(graph_keys.WHITENING)
  if not variables:
    return None
  variable = variables[0]  # The same one in each tower.
  images = _images(data, settings)
  values = filters(images, variable.shape.as_list()[0])
  return lambda session: variable.load(values, session)


def _images(data, settings):
  """The middles of some training images, in batches.

  Yields:
    float32 array, [n, size, size, depth].
  """
  layout = data.layout
  all_records = data.records_to_train_on()[:_NUM_IMAGES]
  size = cifar10_input.crop_size(layout, settings.image_size)
  proto = session_settings.config_proto(settings, use_gpu=False)
  with tf.Graph().as_default(), tf.Session(config=proto) as session:
    records = tf.placeholder(tf.uint8, [None, layout.record_bytes])
    middles = distortions.central_crop(records, layout, size)
    for start in range(0, len(all_records), _BATCH_SIZE):
      batch = all_records[start : start + _BATCH_SIZE]
      yield session.run(middles, {records: batch})


def filters(batches, size):
  """Filters whose outputs have a variance of 1 and no correlation.

  Args:
    batches: iterable of float32 arrays, [n, height, width, depth], images.
    size: height and width of the filters, in pixels.

  Returns:
    float32 array, [size, size, depth, 2 * size * size * depth]: the
    eigenvectors of the patches' covariance, each over the root of its variance,
    largest variance first; then their negatives.
  """
  moments, count = 0.0, 0
  for images in batches:
    _, height, width, depth = images.shape
    patches = np.stack(
      [
        images[:, y : height - size + 1 + y, x : width - size + 1 + x]
        for y in range(size)
        for x in range(size)
      ],
      axis=3,
    ).reshape([-1, size * size * depth])
    moments, count = moments + patches.T @ patches, count + len(patches)
  variances, vectors = np.linalg.eigh(moments / count)
  scaled = (vectors / np.sqrt(variances + _EPSILON))[:, ::-1]
  both = np.concatenate([scaled, -scaled], 1)
  return both.reshape([size, size, depth, -1]).astype(np.float32)
