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
  """A copy of an image, for --tta."""

  weight: float = 1.0  # Its share in the mean.
  mirrored: bool = False  # True: left and right change places.
  shift: int = 0  # Pixels that it moves down and to the right; -1, 0 or 1.


class InferenceGraph(NamedTuple):
  """Handles of a model that runs without training."""

  logits: Any  # float32 tensor, [batch, classes].
  probabilities: Any  # float32 tensor, [batch, classes].
  restorations: restore.Restorations  # Of its variables.


def of_records(records, data, settings):
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

  Takes float32 images, [batch, size, size, depth], cropped and standardized. A
  portable graph, which runs elsewhere, is in float32, without --tta, and of
  TensorFlow's own operations only.
  """
  changes = {'precision': 'float32', 'tta': False} if portable else {}
  settings = dataclasses.replace(settings, classes=data.classes, **changes)
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
  """The Views of each image, with --tta those of arXiv 2404.00498.

  Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU". Data sets whose
  mirrored images leave their class have no mirrored ones.
  """
  if not settings.tta:
    return [View()]
  mirrors = (False, True) if data.flip else (False,)
  shares = ((0, 0.5), (-1, 0.25), (1, 0.25))
  return [
      View(share / len(mirrors), mirrored, shift)
      for shift, share in shares
      for mirrored in mirrors
  ]


def _transformed(images, view):
  """The View of images, float32 [batch, size, size, depth]."""
  size = images.shape.as_list()[1]
  if view.shift and size > 1:  # A single pixel, reflected, is all around.
    padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]], 'REFLECT')
    first = 1 - view.shift
    images = padded[:, first:first + size, first:first + size]
  return tf.reverse(images, [2]) if view.mirrored else images
