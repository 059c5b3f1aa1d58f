"""Precision of variables that are at hand, without a checkpoint.

For validation while training goes on.
"""

import tensorflow.compat.v1 as tf

from cifar10.data import records as records_lib
from cifar10.infer import inference_graph
from cifar10.infer import ranking
from cifar10.store import checkpoints
from cifar10.util import session_settings

_BATCH_SIZE = 500


def create(data, settings):
  """The Validator of a run; None if it holds out no images.

  Args:
    data: datasets.DataSet.
  """
  if not data.held_out:
    return None
  return Validator(data.held_out_records(), data, settings)


class Validator:
  """The model in a graph and a session of its own, with averaged variables.

  Attributes:
    total: how many images there are.
    count: how many batches it has validated so far.
  """

  def __init__(self, records, data, settings):
    """Builds the model.

    Args:
      records: uint8 array, [n, record_bytes], of the images.
      data: datasets.DataSet that they are from.
    """
    self.total, self.count = len(records), 0
    self._batches = [
      records[i : i + _BATCH_SIZE] for i in range(0, self.total, _BATCH_SIZE)
    ]
    with tf.Graph().as_default() as graph:
      self._records, model = inference_graph.of_records(data, settings)
      self._correct = ranking.in_top_k(
        model.logits, records_lib.labels(self._records, data.layout), 1
      )
    self._variables = model.restorations.averaged.variables
    self._session = tf.Session(
      graph=graph, config=session_settings.config_proto(settings)
    )

  @property
  def names(self):
    """The names of the variables to validate, as in checkpoints."""
    return list(self._variables)

  def correct(self, values):
    """How many of the images the model labels right.

    Args:
      values: dict of arrays by `names`, or all variables of a checkpoint.

    Returns:
      int.
    """
    for name, variable in self._variables.items():
      value = values[checkpoints.held_as(name, values)]
      variable.load(value, self._session)
    correct = 0
    for batch in self._batches:
      correct += int(
        self._session.run(self._correct, {self._records: batch}).sum()
      )
      self.count += 1
    return correct

  def close(self):
    """Ends the session."""
    self._session.close()
