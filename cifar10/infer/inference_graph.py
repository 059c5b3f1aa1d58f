"""The inference graph that evaluation, prediction, report and export share."""

import dataclasses
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.infer import restore
from cifar10.nets import layers
from cifar10.util import graph_keys
from cifar10.util import session_settings

# The least difference between the two largest probabilities of a sure answer;
# docs/techniques.md has the numbers.
_SURE = 0.6


class InferenceGraph(NamedTuple):
  """Handles of a model that runs without training."""

  logits: Any  # float32 tensor, [batch, classes].
  probabilities: Any  # float32 tensor, [batch, classes].
  savers: restore.Savers  # Of its variables.


def session(settings):
  """A session of the default graph, on the device of the settings."""
  use_gpu = settings.eval_device == 'gpu'
  return tf.Session(config=session_settings.config_proto(settings, use_gpu))


def build(images, data, settings, portable=False):
  """The InferenceGraph of images of `data`, in the default graph.

  Takes float32 images, [batch, size, size, depth], standardized. A portable
  graph is in float32, without --tta, and of TensorFlow's own operations only.
  """
  changes = {'precision': 'float32', 'tta': False} if portable else {}
  settings = dataclasses.replace(settings, classes=data.classes, **changes)
  with layers.compute_in(settings.compute_type):
    logits = networks.inference(images, settings, portable=portable)
  if settings.tta:
    logits = _seen_again(images, logits, settings, data.flip)
  probabilities = tf.nn.softmax(logits, name='softmax')
  return InferenceGraph(logits, probabilities, restore.savers())


def _seen_again(images, logits, settings, is_mirrored):
  """Logits, those of unsure answers replaced by a mean over copies.

  The copies are those of Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single
  GPU", arXiv 2404.00498: images shifted by a pixel, and, if `is_mirrored` as in
  training, mirrored ones, which keep their class.
  """
  two = tf.nn.top_k(tf.nn.softmax(logits, name='first_answer'), 2).values
  unsure = tf.where(two[:, 0] - two[:, 1] < _SURE)
  count = tf.shape(unsure)[0]
  # An operation may fail on an empty batch: take the first image in place of
  # none.
  rows = tf.concat([unsure[:, 0], [0]], 0)[:tf.maximum(count, 1)]
  copies, shares = _copies(tf.gather(images, rows), is_mirrored)
  # The network has added its losses and summaries before. In a scope of its
  # own, the names that TensorFlow numbers start again.
  added = graph_keys.unchanged('losses', tf.GraphKeys.SUMMARIES)
  with layers.compute_in(settings.compute_type) as scope, added:
    scope.reuse_variables()
    by_copy = networks.inference(tf.concat(copies, 0), settings)
  by_copy = tf.reshape(by_copy, [len(copies), -1, logits.shape[1]])
  own = (1 - sum(shares)) * tf.gather(logits, rows)
  mean = own + tf.tensordot(shares, by_copy, 1)
  return tf.tensor_scatter_nd_update(logits, unsure, mean[:count])


def _copies(images, is_mirrored):
  """Copies of images, [n, size, size, depth], and their shares in the mean."""
  size, shifted = images.shape.as_list()[1], [images] * 2
  if size > 1:  # A single pixel, reflected, is all around.
    padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]], 'REFLECT')
    shifted = [padded[:, 2:, 2:], padded[:, :size, :size]]
  if not is_mirrored:
    return shifted, [0.25, 0.25]
  mirrored = [tf.reverse(x, [2]) for x in (images, *shifted)]
  return mirrored + shifted, [0.25, 0.125, 0.125, 0.125, 0.125]
