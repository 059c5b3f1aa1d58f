"""An ensemble of networks in one graph."""

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10.infer import inference_graph
from cifar10.infer import restore
from cifar10.util import session_settings


class Network(NamedTuple):
  """A trained network of an ensemble.

  Attributes:
    folder: the folder of its run.
    checkpoint: path of its checkpoint.
    settings: its settings.Settings.
  """

  folder: str
  checkpoint: str
  settings: Any


class Answers(NamedTuple):
  """The probabilities of classes for some records.

  Attributes:
    mean: float32 array, [n, classes], the mean of all networks.
    by_network: dict of arrays like it, by the number of the network; those that
      are lost have none.
  """

  mean: Any
  by_network: dict


class OneGraph:
  """Networks in one graph, each in a scope and on a device of its own.

  Attributes:
    classes: names of the classes, a tuple.
    layout: records.Layout of the records.
    folders: the folders of the networks, a list.
  """

  def __init__(self, data, networks):
    """Builds the graph and restores all networks.

    Args:
      data: datasets.DataSet of all of them.
      networks: list of Network.

    Raises:
      UserError: a checkpoint cannot be read or belongs to another model.
    """
    self.classes, self.layout = data.classes, data.layout
    self.folders = [network.folder for network in networks]
    settings = networks[0].settings
    use_gpu = settings.eval_device == 'gpu'
    with tf.Graph().as_default() as graph:
      self._records = tf.placeholder(tf.uint8, [None, data.layout.record_bytes])
      models = []
      for i, network in enumerate(networks):
        # If there are fewer GPUs, they share one, or the CPU.
        with tf.device('/gpu:%d' % i), tf.variable_scope('network_%d' % i):
          images = inference_graph.middles(
            self._records, data, network.settings
          )
          models.append(inference_graph.build(images, data, network.settings))
      self._each = [model.probabilities for model in models]
      self._mean = tf.add_n(self._each) / len(models)
      self._session = tf.Session(
        graph=graph,
        config=session_settings.config_proto(settings, use_gpu),
      )
      for network, model in zip(networks, models):
        scaffold = restore.fitting_scaffold(
          model.restorations,
          network.checkpoint,
          network.settings.use_moving_averages,
        )
        scaffold.saver.restore(self._session, network.checkpoint)

  def answers(self, records):
    """The Answers to records, a uint8 array [n, record_bytes], n above 0."""
    mean, each = self._session.run(
      [self._mean, self._each], {self._records: records}
    )
    return Answers(mean, dict(enumerate(each)))

  def probabilities(self, records):
    """The mean in `answers`."""
    return self.answers(records).mean

  def close(self):
    """Ends the session."""
    self._session.close()
