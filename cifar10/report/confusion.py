"""A checkpoint's answers to all test images, and what they tell."""

import dataclasses
from typing import Any, NamedTuple, Tuple

from cifar10.training import checkpoints
from cifar10 import cifar10_predict
from cifar10.data import datasets
from cifar10.serving import restore
from cifar10.util import session_settings
import numpy as np
import tensorflow.compat.v1 as tf

_BATCH_SIZE = 128
_KERNEL = 'conv1/weights'


class Answers(NamedTuple):
  """Answers to all n test images, in the order of the files.

  Attributes:
    step: global step of the checkpoint.
    classes: names of the classes.
    images: uint8 array [n, height, width, depth].
    labels: int array [n], the right classes.
    answers: int array [n], the most probable classes.
    confidences: float array [n], the probabilities of the answers.
  """

  step: int
  classes: Tuple[str, ...]
  images: Any
  labels: Any
  answers: Any
  confidences: Any

  @property
  def precision(self):
    """The share of right answers: precision @ 1."""
    return (self.labels == self.answers).mean()

  @property
  def confusion(self):
    """Int array [classes, classes]: images by right class and by answer."""
    size = len(self.classes)
    pairs = self.labels * size + self.answers
    return np.bincount(pairs, minlength=size**2).reshape(size, size)

  def most_confidently_wrong(self, most):
    """Indices of wrong answers, at most so many, the surest first."""
    wrong = np.flatnonzero(self.labels != self.answers)
    order = np.argsort(-self.confidences[wrong], kind='stable')
    return wrong[order[:most]]


def ask(checkpoint, config):
  """Asks the model of `checkpoint`, the averages of its variables, in float32.

  Args:
    checkpoint: path of the checkpoint.
    config: Config; names the data, which is not fetched.

  Returns:
    Answers.

  Raises:
    UserError: the data or the checkpoint is unusable.
  """
  config = dataclasses.replace(config, precision='float32')
  data = datasets.describe(config)
  layout = data.layout
  for path in data.test_files:
    datasets.check_file(path, layout, len(data.classes))
  records = np.concatenate(
    [np.fromfile(path, np.uint8) for path in data.test_files]
  ).reshape(-1, layout.record_bytes)
  with tf.Graph().as_default():
    graph = cifar10_predict.build(data, config)
    scaffold = restore.fitting_scaffold(
      graph.restorations, checkpoint, config
    )
    with tf.Session(config=session_settings.config_proto(config)) as session:
      scaffold.saver.restore(session, checkpoint)
      probabilities = np.concatenate(
        [
          session.run(
            graph.probabilities,
            {graph.records: records[start : start + _BATCH_SIZE]},
          )
          for start in range(0, len(records), _BATCH_SIZE)
        ]
      )
  planes = records[:, layout.label_bytes :].reshape(
    -1, layout.depth, layout.height, layout.width
  )
  return Answers(
    step=checkpoints.step(checkpoint),
    classes=data.classes,
    images=planes.transpose(0, 2, 3, 1),
    labels=layout.labels(records[:, : layout.label_bytes].astype(np.int64)),
    answers=probabilities.argmax(axis=1),
    confidences=probabilities.max(axis=1),
  )


def precision_and_recall(confusion):
  """Two float arrays [classes]; NaN where there is nothing to divide by.

  Of the answers that name a class, the share that is right; of the images of
  a class, the share that is answered so.
  """
  right = np.diag(confusion)
  with np.errstate(invalid='ignore'):
    return right / confusion.sum(axis=0), right / confusion.sum(axis=1)


def frequent_mistakes(confusion, most):
  """The most frequent mistakes: at most `most` of (label, answer, count)."""
  counts = confusion - np.diag(np.diag(confusion))
  order = np.argsort(-counts, axis=None, kind='stable')[:most]
  pairs = np.transpose(np.unravel_index(order, counts.shape)).tolist()
  return [(i, j, int(counts[i, j])) for i, j in pairs if counts[i, j]]


def first_filters(checkpoint):
  """The weights of conv1: float32 array [height, width, depth, filters].

  Raises:
    UserError: the checkpoint cannot be read or holds none.
  """
  averaged = _KERNEL + '/ExponentialMovingAverage'
  shapes = checkpoints.shapes(checkpoint)
  name = averaged if averaged in shapes else _KERNEL
  checkpoints.check_fits(checkpoint, {name: shapes.get(name)})
  return tf.train.load_variable(checkpoint, name)
