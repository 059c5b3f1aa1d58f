"""Predictions for all test images, and the confusion matrix they make."""

import contextlib
from typing import Any, NamedTuple, Tuple

import numpy as np

from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.infer import restore
from cifar10.store import checkpoints


class TestPredictions(NamedTuple):
  """A checkpoint's predictions for all n test images, in the files' order."""

  step: int  # Of the checkpoint.
  classes: Tuple[str, ...]
  images: Any  # uint8 array, [n, height, width, depth].
  labels: Any  # int array, [n], the true classes.
  predicted: Any  # int array, [n], the most probable classes.
  confidences: Any  # float array, [n], the probabilities of `predicted`.

  @property
  def precision(self):
    """The fraction of correct predictions: precision @ 1."""
    return (self.labels == self.predicted).mean()

  @property
  def confusion_matrix(self):
    """Counts of images, int [true classes, predicted classes]."""
    size = len(self.classes)
    pairs = self.labels * size + self.predicted
    return np.bincount(pairs, minlength=size**2).reshape(size, size)

  def most_confident_mistakes(self, count):
    """At most `count` indices of wrong predictions, the most probable first."""
    wrong = np.flatnonzero(self.labels != self.predicted)
    order = np.argsort(-self.confidences[wrong], kind='stable')
    return wrong[order[:count]]


def predict_test_images(checkpoint, settings):
  """The TestPredictions of a checkpoint, with its averages if it has them.

  A missing data set is not downloaded. Raises UserError if the data or the
  checkpoint is missing or damaged, or a probability is not a finite number.
  """
  # Now: a trainer may delete the checkpoint while images are predicted.
  step = checkpoints.step(checkpoint)
  data = restore.describe_data(settings)
  layout, records = data.layout, data.test_records()
  network = predictions.Network(settings, checkpoint)
  with contextlib.closing(predictions.Predictor(data, network)) as predictor:
    batches = records_lib.small_batches(records, most=128)
    probabilities = np.concatenate([*map(predictor.probabilities, batches)])
  odd = ~np.isfinite(probabilities).all(axis=1)
  if odd.any():
    raise UserError(
        f'{checkpoint}: computes no finite probabilities for {odd.sum()} of '
        f'{len(odd)} images')
  return TestPredictions(step=step, classes=data.classes,
                         images=records_lib.images(records, layout),
                         labels=records_lib.labels(records, layout),
                         predicted=probabilities.argmax(axis=1),
                         confidences=probabilities.max(axis=1))


def frequent_mistakes(matrix, count):
  """The pairs of classes that are confused most often, in that order.

  A list of at most `count` tuples (true class, predicted class, images).
  """
  counts = matrix - np.diag(np.diag(matrix))
  order = np.argsort(-counts, axis=None, kind='stable')[:count]
  pairs = np.transpose(np.unravel_index(order, counts.shape)).tolist()
  return [(i, j, int(counts[i, j])) for i, j in pairs if counts[i, j]]
