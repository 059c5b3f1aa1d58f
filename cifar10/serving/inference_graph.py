"""The inference graph that evaluation, prediction, report and export share."""

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10.data import distortions
from cifar10.model import layers
from cifar10.serving import restore


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
  layout = data.layout
  records = tf.placeholder(tf.uint8, [None, layout.record_bytes])
  with tf.device('/cpu:0'):
    images = distortions.central_crop(
      records, layout, cifar10_input.crop_size(layout)
    )
  return records, build(
    images,
    len(data.classes),
    config.model,
    config.session.precision,
    conv_form=config.session.conv,
  )


def build(
  images,
  num_classes,
  model,
  precision='float32',
  portable=False,
  conv_form='auto',
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

  Returns:
    InferenceGraph.
  """
  with layers.compute_in(precision):
    logits = cifar10.inference(
      images,
      num_classes,
      model,
      portable=portable,
      conv_form=conv_form,
    )
  return InferenceGraph(
    logits, cifar10.softmax(logits), restore.build(cifar10.MOVING_AVERAGE_DECAY)
  )
