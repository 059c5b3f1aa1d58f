"""Frozen layers in a training graph whose input reads what they have computed.

With --cache_frozen=K a trainer distorts each training image K times, computes
the frozen convolutional layers for all of them before the first step, and keeps
the results in --train_dir. Steps read those and compute the other layers only.
"""

import contextlib
import os

import tensorflow.compat.v1 as tf

from cifar10.data import distortions
from cifar10.data import feature_records
from cifar10.errors import UserError
from cifar10.nets.techniques import Techniques
from cifar10.util import graph_keys
from cifar10.util import summaries

_CHANNELS = 64  # Of pool2, and it has a quarter of the height and width.


class FrozenLayers:
  """The convolutional layers of the default graph, and the file of features.

  Attributes:
    records: placeholder of records of images, uint8 [n, record_bytes].
    outputs: float32 tensor, their features; None before `inference`.
    variables: list of the variables of the layers; likewise.
    data: datasets.DataSet whose training file holds the features, as
      feature_records.
    num_examples: how many there are.
  """

  def __init__(self, data, settings, size):
    """Distorts what is fed, and joins the collection FROZEN_LAYERS.

    Args:
      data: datasets.DataSet to train on.
      settings: settings.Settings.
      size: height and width of the crops, in pixels.
    """
    self.settings = settings
    self.outputs = self.variables = None
    self.num_examples = settings.cache_frozen * data.examples_per_epoch
    self.records = tf.placeholder(tf.uint8, [None, data.layout.record_bytes])
    graph = tf.get_default_graph()
    self._seed_of_start = graph.seed
    # The distortions are the same ones whenever they are computed.
    tf.set_random_seed(settings.seed)
    with tf.device('/cpu:0'):
      self._images = distortions.distort(self.records, data, settings, size)
      self._images.set_shape([None, size, size, data.layout.depth])
    tf.set_random_seed(self._seed_of_start)
    side = -(-size // 4)
    self.data = data._replace(
      train_files=(
        os.path.join(settings.train_dir, feature_records.FILE_NAME),
      ),
      layout=feature_records.layout_for([side, side, _CHANNELS], data.layout),
    )
    tf.add_to_collection(graph_keys.FROZEN_LAYERS, self)

  def inference(self, features, build, num_classes):
    """Builds a network whose upper layers take features.

    Its convolutions are built on the images that are fed, without summaries.

    Args:
      features: float32 tensor, [batch, height, width, channels].
      build: a function such as `cifar10.inference`.
      num_classes: number of classes.

    Returns:
      logits: float32 tensor, [batch, num_classes].

    Raises:
      UserError: a convolutional layer is not frozen.
    """
    before = set(tf.global_variables())
    tf.set_random_seed(self.settings.seed)
    with contextlib.ExitStack() as below:
      below.enter_context(summaries.dropped())

      def substitute(pool2):
        below.close()
        tf.set_random_seed(self._seed_of_start)
        if self.outputs is None:  # In the first tower.
          self._note(pool2, before)
        return features

      return build(self._images, _Upper(self.settings, num_classes, substitute))

  def _note(self, pool2, before):
    """Notes the outputs of the layers, and their variables, which are new.

    Raises:
      UserError: one of them is not frozen.
    """
    self.outputs = tf.cast(pool2, tf.float32)
    self.variables = [v for v in tf.global_variables() if v not in before]
    trained = {v.op.name for v in tf.trainable_variables()}
    for variable in self.variables:
      if variable.op.name in trained:
        raise UserError(
          '--cache_frozen=%d: %s is not frozen; expected --freeze=conv, or '
          'more' % (self.settings.cache_frozen, variable.op.name)
        )


class _Upper(Techniques):
  """Techniques of a network whose upper layers take something else."""

  def __init__(self, settings, num_classes, substitute):
    """Takes a function that `pooled` calls for what it returns."""
    super().__init__(settings, is_training=True, num_classes=num_classes)
    self._substitute = substitute

  def pooled(self, pool2):
    return super().pooled(self._substitute(pool2))
