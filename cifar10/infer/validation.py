"""Validation: evaluates variables in memory, without a checkpoint."""

from cifar10.infer import predictions
from cifar10.infer import ranking

_BATCH_SIZE = 500


class Validator:
  """The model of a run with averaged variables, and labeled images for it.

  Attributes:
    total: number of images.
    count: number of batches that it has validated so far.
    names: names of the variables to validate, as in checkpoints, a list.
    close: ends its session.
  """

  def __init__(self, records, data, settings):
    """Builds the model of images of `data`, uint8 [n, record_bytes]."""
    self._model = predictions.Predictor(data, predictions.Network(settings))
    self._batches = predictions.batches(records, _BATCH_SIZE)
    self.total, self.count = len(records), 0
    self.names, self.close = list(self._model.averages), self._model.close

  def correct(self, values):
    """Number of images labeled right, with `values` as of Predictor.load."""
    self._model.load(values)
    correct = 0
    for batch in self._batches:
      labels = ranking.labels_of(batch, self._model.layout)
      correct += ranking.count_right(self._model.logits(batch), labels)
      self.count += 1
    return correct
