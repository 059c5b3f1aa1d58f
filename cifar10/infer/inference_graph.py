"""The inference graph that evaluation, prediction, report and export share."""

import dataclasses
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10 import networks
from cifar10.data import distortions
from cifar10.infer import restore
from cifar10.nets import layers
from cifar10.util import session_settings


class InferenceGraph(NamedTuple):
  """Handles of a model that runs without training."""

  logits: Any  # float32 tensor, [batch, classes].
  probabilities: Any  # float32 tensor, [batch, classes].
  savers: restore.Savers  # Of its variables.


def session(settings):
  """A session of the default graph, on the device of the settings."""
  use_gpu = settings.eval_device == 'gpu'
  return tf.Session(config=session_settings.config_proto(settings, use_gpu))


def build_for_records(records, data, settings):
  """The InferenceGraph of the middles of images in records of `data`.

  Takes a uint8 tensor, [n, record_bytes].
  """
  size = cifar10_input.crop_size(data.layout, settings.image_size)
  with tf.device('/cpu:0'):
    images = distortions.central_crop(records, data.layout, size,
                                      settings.standardization)
  return build(images, data, settings)


def build(images, data, settings, portable=False):
  """The InferenceGraph of images of `data`, in the default graph.

  Takes float32 images, [batch, size, size, depth], standardized. A portable
  graph is in float32, without --tta, and of TensorFlow's own operations only.
  """
  changes = {'precision': 'float32', 'tta': False} if portable else {}
  settings = dataclasses.replace(settings, classes=data.classes, **changes)
  # Images of data sets that are mirrored in training keep their class.
  views, shares = _views(images, settings, data.flip)
  if len(views) > 1:
    images = tf.concat(views, 0)
  with layers.compute_in(settings.compute_type):
    logits = networks.inference(images, settings, portable=portable)
  if len(views) > 1:
    by_view = tf.reshape(logits, [len(views), -1, len(data.classes)])
    logits = tf.tensordot(shares, by_view, 1)
  probabilities = tf.nn.softmax(logits, name='softmax')
  return InferenceGraph(logits, probabilities, restore.savers())


def _views(images, settings, is_mirrored):
  """Copies of images, [n, size, size, depth], and their shares in the mean.

  With --tta those of Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU",
  arXiv 2404.00498: shifted by a pixel, and, if `is_mirrored`, mirrored.
  """
  if not settings.tta:
    return [images], [1.0]
  size, shifted = images.shape.as_list()[1], [images] * 3
  if size > 1:  # A single pixel, reflected, is all around.
    padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]], 'REFLECT')
    shifted[1:] = padded[:, 2:, 2:], padded[:, :size, :size]
  if not is_mirrored:
    return shifted, [0.5, 0.25, 0.25]
  views = [view for x in shifted for view in (x, tf.reverse(x, [2]))]
  return views, [0.25, 0.25, 0.125, 0.125, 0.125, 0.125]
