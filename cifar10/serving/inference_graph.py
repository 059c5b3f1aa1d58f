"""The inference graph that evaluation, prediction, report and export share."""

from typing import Any, NamedTuple

from cifar10 import cifar10
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
