"""Predictions: the probabilities that a trained model computes for records."""

import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10.data import distortions
from cifar10.serving import inference_graph
from cifar10.serving import restore


class Predictor:
  """A trained model in a session, which computes probabilities."""

  def __init__(self, session, data, checkpoint, config):
    """Builds the model in the default graph and restores its variables.

    Args:
      session: tf.Session of the default graph.
      data: datasets.DataSet that the model was trained on.
      checkpoint: path of a checkpoint.
      config: config.Config.

    Raises:
      UserError: the checkpoint cannot be read or belongs to another model.
    """
    layout = data.layout
    self._session = session
    self._records = tf.placeholder(tf.uint8, [None, layout.record_bytes])
    with tf.device('/cpu:0'):
      images = distortions.central_crop(
        self._records, layout, cifar10_input.crop_size(layout)
      )
    self._graph = inference_graph.build(
      images, len(data.classes), config.model, config.session.precision
    )
    scaffold = restore.fitting_scaffold(
      self._graph.restorations,
      checkpoint,
      config.checkpoint.use_moving_averages,
    )
    scaffold.saver.restore(session, checkpoint)

  def probabilities(self, records):
    """The probability of each class for each record.

    Args:
      records: uint8 array, [n, record_bytes]; the labels are ignored.

    Returns:
      float32 array, [n, classes].
    """
    return self._session.run(
      self._graph.probabilities, {self._records: records}
    )
