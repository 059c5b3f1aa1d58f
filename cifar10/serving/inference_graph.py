"""The inference graph that evaluation, prediction, report and export share."""

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.data import distortions
from cifar10.data import records as records_lib
from cifar10.model import layers
from cifar10.serving import restore


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


def of_records(data, config):
  """Builds the model on the middles of images that are fed as records.

  Args:
    data: datasets.DataSet that they are of.
    config: config.Config.

  Returns:
    records: placeholder, uint8 [n, record_bytes].
    graph: InferenceGraph.
  """
  records = tf.placeholder(tf.uint8, [None, data.layout.record_bytes])
  return records, of_images(middles(records, data, config), data, config)


def middles(records, data, config):
  """The middles of images.

  Args:
    records: uint8 tensor, [n, record_bytes].
    data: datasets.DataSet that they are of.
    config: config.Config.

  Returns:
    float32 tensor, [n, size, size, depth], cropped and standardized.
  """
  size = records_lib.crop_size(data.layout, config.model.image_size)
  with tf.device('/cpu:0'):
    return distortions.central_crop(records, data.layout, size)


def of_images(images, data, config):
  """Builds the model of the settings on images of a data set.

  Args:
    images: as `build` takes them.
    data: datasets.DataSet.
    config: config.Config.

  Returns:
    InferenceGraph.
  """
  return build(
    images,
    len(data.classes),
    config.model,
    config.session.precision,
    conv_form=config.session.conv,
    views=_views(data, config),
  )


def _views(data, config):
  """The copies of each image that --tta asks for, as `build` takes them."""
  if not config.inference.tta:
    return _AS_IT_IS
  return _MIRRORED_AND_SHIFTED if data.flip else _SHIFTED


def build(
  images,
  num_classes,
  model,
  precision='float32',
  portable=False,
  conv_form='auto',
  views=_AS_IT_IS,
):
  """Builds the model and both ways to restore it in the default graph.

  Args:
    images: float32 tensor, [batch, size, size, depth], cropped and
      standardized.
    num_classes: number of classes.
    model: model.settings.Model.
    precision: type that the layers compute in; 'float32', 'bfloat16' or
      'float16'.
    portable: use only TensorFlow's own operations, for a graph that runs
      elsewhere.
    conv_form: how convolutions are computed, as `layers.conv2d` takes it.
    views: tuple of View; the logits are the weighted mean over them.

  Returns:
    InferenceGraph.
  """
  if len(views) > 1:
    images = tf.concat([_transformed(images, view) for view in views], 0)
  with layers.compute_in(precision):
    logits = cifar10.inference(
      images,
      num_classes,
      model,
      portable=portable,
      conv_form=conv_form,
    )
  if len(views) > 1:
    weights = [view.weight for view in views]
    by_view = tf.reshape(logits, [len(views), -1, num_classes])
    logits = tf.tensordot(weights, by_view, 1)
  return InferenceGraph(logits, cifar10.softmax(logits), restore.restorations())


def _transformed(images, view):
  """The View of images, float32 [batch, size, size, depth]."""
  size = images.shape.as_list()[1]
  if view.shift and size > 1:  # A single pixel, reflected, is all around.
    padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]], 'REFLECT')
    first = 1 - view.shift
    images = padded[:, first : first + size, first : first + size]
  return tf.reverse(images, [2]) if view.mirrored else images
