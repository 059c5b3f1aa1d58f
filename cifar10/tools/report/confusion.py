"""Predictions for all test images, and the confusion matrix they make."""

from typing import Any, NamedTuple, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.store import checkpoints
from cifar10.util import session_settings

_BATCH_SIZE = 128


class TestPredictions(NamedTuple):
  """A checkpoint's predictions for all n test images, in the files' order.

  Attributes:
    step: global step of the checkpoint.
    classes: names of the classes.
    images: uint8 array, [n, height, width, depth].
    labels: int array, [n], the true classes.
    predicted: int array, [n], the most probable classes.
    confidences: float array, [n], the probabilities of `predicted`.
  """

  step: int
  classes: Tuple[str, ...]
  images: Any
  labels: Any
  predicted: Any
  confidences: Any

  @property
  def precision(self):
    """The fraction of correct predictions: precision @ 1."""
    return (self.labels == self.predicted).mean()

  @property
  def confusion_matrix(self):
    """Counts of images by true class and predicted class.

    An int array, [classes, classes].
    """
    size = len(self.classes)
    pairs = self.labels * size + self.predicted
    return np.bincount(pairs, minlength=size**2).reshape(size, size)

  def most_confident_mistakes(self, count):
    """The wrong predictions with the highest probabilities.

    Args:
      count: the largest number of predictions to return.

    Returns:
      int array, [at most count], indices of images; the highest probability
      first.
    """
    wrong = np.flatnonzero(self.labels != self.predicted)
    order = np.argsort(-self.confidences[wrong], kind='stable')
    return wrong[order[:count]]


def predict_test_images(checkpoint, settings):
  """Predicts the classes of all test images.

  The model uses the moving averages of its variables, if the checkpoint has
  them.

  Args:
    checkpoint: path of the checkpoint.
    settings: its data set is not downloaded if it is missing

  Returns:
    TestPredictions.

  Raises:
    UserError: the data or the checkpoint is missing or damaged, or a
      probability is not a finite number.
  """
  # Now: a trainer may delete the checkpoint while images are predicted.
  step = checkpoints.step(checkpoint)
  data = datasets.describe(settings)
  layout = data.layout
  for path in data.test_files:
    records_lib.check_file(path, layout, len(data.classes))
  records = records_lib.load(data.test_files, layout)
  proto = session_settings.config_proto(settings)
  with tf.Graph().as_default(), tf.Session(config=proto) as session:
    predictor = predictions.Predictor(session, data, checkpoint, settings)
    probabilities = np.concatenate(
      [
        predictor.probabilities(records[start : start + _BATCH_SIZE])
        for start in range(0, len(records), _BATCH_SIZE)
      ]
    )
  odd = ~np.isfinite(probabilities).all(axis=1)
  if odd.any():
    raise UserError(
      '%s: computes no finite probabilities for %d of %d images'
      % (checkpoint, odd.sum(), len(odd))
    )
  planes = records[:, layout.label_bytes :].reshape(
    -1, layout.depth, layout.height, layout.width
  )
  return TestPredictions(
    step=step,
    classes=data.classes,
    images=planes.transpose(0, 2, 3, 1),
    labels=layout.labels(records[:, : layout.label_bytes].astype(np.int64)),
    predicted=probabilities.argmax(axis=1),
    confidences=probabilities.max(axis=1),
  )


def precision_and_recall(matrix):
  """Precision and recall of each class.

  Precision is the fraction of the predictions of a class that are correct,
  recall the fraction of the images of a class that are predicted as it.

  Args:
    matrix: confusion matrix, int array, [classes, classes].

  Returns:
    precision: float array, [classes]; NaN for a class never predicted.
    recall: float array, [classes]; NaN for a class without images.
  """
  correct = np.diag(matrix)
  with np.errstate(invalid='ignore'):
    return correct / matrix.sum(axis=0), correct / matrix.sum(axis=1)


def frequent_mistakes(matrix, count):
  """The pairs of classes that are confused most often.

  Args:
    matrix: confusion matrix, int array, [classes, classes].
    count: the largest number of pairs to return.

  Returns:
    List of tuples (true class, predicted class, number of images), the most
    frequent first.
  """
  counts = matrix - np.diag(np.diag(matrix))
  order = np.argsort(-counts, axis=None, kind='stable')[:count]
  pairs = np.transpose(np.unravel_index(order, counts.shape)).tolist()
  return [(i, j, int(counts[i, j])) for i, j in pairs if counts[i, j]]
