"""The inference graph that evaluation, prediction, report and export share."""

import dataclasses
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10 import networks
from cifar10.data import distortions
from cifar10.infer import restore
from cifar10.nets import layers


class View(NamedTuple):
  """A copy of an image, for --tta.

  Attributes:
    weight: its share in the mean.
    mirrored: whether left and right change places.
    shift: pixels that it moves down and to the right; -1, 0 or 1.
  """

  weight: float = 1.0
  mirrored: bool = False
  shift: int = 0


# The views and weights of Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single
# GPU", arXiv 2404.00498.
_AS_IT_IS = (View(),)
_SHIFTED = (View(0.5), View(0.25, shift=-1), View(0.25, shift=1))
_MIRRORED_AND_SHIFTED = tuple(
  View(view.weight / 2, mirrored, view.shift)
  for view in _SHIFTED
  for mirrored in (False, True)
)


class InferenceGraph(NamedTuple):
  """Handles of a model that runs without training.

  Attributes:
    logits: float32 tensor, [batch, classes].
    probabilities: float32 tensor, [batch, classes].
    restorations: restore.Restorations of the variables.
  """

  logits: Any
  probabilities: Any
  restorations: restore.Restorations


def of_records(data, settings):
  """Builds the model on the middles of images that are fed as records.

  Args:
    data: datasets.DataSet that they are of.
    settings: settings.Settings.

  Returns:
    records: placeholder, uint8 [n, record_bytes].
    graph: InferenceGraph.
  """
  records = tf.placeholder(tf.uint8, [None, data.layout.record_bytes])
  return records, build(middles(records, data, settings), data, settings)


def middles(records, data, settings):
  """The middles of images.

  Args:
    records: uint8 tensor, [n, record_bytes].
    data: datasets.DataSet that they are of.
    settings: settings.Settings.

  Returns:
    float32 tensor, [n, size, size, depth], cropped and standardized.
  """
  size = cifar10_input.crop_size(data.layout, settings.image_size)
  with tf.device('/cpu:0'):
    return distortions.central_crop(records, data.layout, size)


def build(images, data, settings, portable=False):
  """Builds the model and both ways to restore it in the default graph.

  Args:
    images: float32 tensor, [batch, size, size, depth], cropped and
      standardized.
    data: datasets.DataSet that they are of.
    settings: settings.Settings.
    portable: for a graph that runs elsewhere, so as it is: in float32, without
      --tta, and of TensorFlow's own operations only.

  Returns:
    InferenceGraph.
  """
  settings = dataclasses.replace(settings, classes=data.classes)
  if portable:
    settings = dataclasses.replace(settings, precision='float32', tta=False)
  views = _views(data, settings)
  if len(views) > 1:
    images = tf.concat([_transformed(images, view) for view in views], 0)
  with layers.compute_in(settings.precision):
    logits = networks.inference(images, settings, portable=portable)
  if len(views) > 1:  # The weighted mean over them.
    weights = [view.weight for view in views]
    by_view = tf.reshape(logits, [len(views), -1, len(data.classes)])
    logits = tf.tensordot(weights, by_view, 1)
  probabilities = tf.nn.softmax(logits, name='softmax')
  return InferenceGraph(logits, probabilities, restore.restorations())


def _views(data, settings):
  """The copies of each image that --tta asks for."""
  if not settings.tta:
    return _AS_IT_IS
  return _MIRRORED_AND_SHIFTED if data.flip else _SHIFTED


def _transformed(images, view):
  """The View of images, float32 [batch, size, size, depth]."""
  size = images.shape.as_list()[1]
  if view.shift and size > 1:  # A single pixel, reflected, is all around.
    padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]], 'REFLECT')
    first = 1 - view.shift
    images = padded[:, first : first + size, first : first + size]
  return tf.reverse(images, [2]) if view.mirrored else images
