"""Frozen layers in a training graph whose input reads their outputs.

With --cache_frozen=K a trainer distorts each training image K times, computes
the frozen convolutional layers for all of them before the first step, and keeps
these features in --train_dir. Steps read them and compute the other layers.
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

  It takes the datasets.DataSet to train on and the size of crops, in pixels,
  and joins the collection FROZEN_LAYERS.

  Attributes:
    records: placeholder of records of images, uint8 [n, record_bytes].
    outputs: float32 tensor, their features; None before `inference`.
    variables: list of the variables of the layers; likewise.
    data: datasets.DataSet whose training file holds `num_examples` features,
      as feature_records.
  """

  def __init__(self, data, settings, size):
    self.settings = settings
    self.outputs = self.variables = None
    self.num_examples = settings.cache_frozen * data.examples_per_epoch
    self.records = tf.placeholder(tf.uint8, [None, data.layout.record_bytes])
    self._seed_of_start = tf.get_default_graph().seed
    # The distortions are the same ones whenever they are computed.
    tf.set_random_seed(settings.seed)
    with tf.device('/cpu:0'):
      self._images = distortions.distort(self.records, data, settings, size)
      self._images.set_shape([None, size, size, data.layout.depth])
    tf.set_random_seed(self._seed_of_start)
    side = -(-size // 4)
    path = os.path.join(settings.train_dir, feature_records.FILE_NAME)
    self.data = data._replace(
        train_files=(path,),
        layout=feature_records.layout_for([side, side, _CHANNELS], data.layout),
        counts=(self.num_examples, None),  # The file is made later.
        held_out=0,
        labelled=0)
    tf.add_to_collection(graph_keys.FROZEN_LAYERS, self)

  def inference(self, features, build, num_classes):
    """Builds a network whose upper layers take features; returns the logits.

    Its convolutions are built on the images that are fed, without summaries.
    `features` is float32 [batch, height, width, channels], `build` a function
    such as `cifar10.inference`. Raises UserError if a convolutional layer is
    not frozen.
    """
    before = set(tf.global_variables())
    tf.set_random_seed(self.settings.seed)
    with contextlib.ExitStack() as below:
      below.enter_context(summaries.dropped())

      def substitute(pool2):
        below.close()
        tf.set_random_seed(self._seed_of_start)
        if self.outputs is None:  # In the first tower.
          self.outputs = tf.cast(pool2, tf.float32)
          self.variables = [v for v in tf.global_variables() if v not in before]
          self._check_frozen()
        return features

      return build(self._images, _Upper(self.settings, num_classes, substitute))

  def _check_frozen(self):
    trained = {v.op.name for v in tf.trainable_variables()}
    for name in (variable.op.name for variable in self.variables):
      if name in trained:
        raise UserError(
            f'--cache_frozen={self.settings.cache_frozen}: {name} is not '
            'frozen; expected --freeze=conv, or more')


class _Upper(Techniques):
  """Techniques of a network whose upper layers take `substitute(pool2)`."""

  def __init__(self, settings, num_classes, substitute):
    super().__init__(settings, is_training=True, num_classes=num_classes)
    self._substitute = substitute

  def pooled(self, pool2):
    return super().pooled(self._substitute(pool2))
