"""Frozen layers in a training graph whose input reads their outputs.

With --cache_frozen=K a trainer distorts each training image K times, computes
the frozen layers for all of them before the first step, and keeps these
features in --train_dir. Steps read them and compute the other layers.
"""

import contextlib
import itertools
import os

import tensorflow.compat.v1 as tf

from cifar10.data import distortions
from cifar10.data import feature_records
from cifar10.errors import UserError
from cifar10.nets import techniques
from cifar10.nets import variable_scope
from cifar10.util import graph_keys


class FrozenLayers:
  """The frozen layers of the default graph, and the file of their features.

  These are the layers below the first variable that is trained and the first
  dropout. The object joins the collection FROZEN_LAYERS.

  Attributes:
    name: of their outputs, such as pool2.
    records: placeholder of records of images, uint8 [n, record_bytes].
    outputs, variables: their features, float32, and their variables; None
      before `inference`.
    data: DataSet whose training file holds `num_examples` feature_records.
  """

  def __init__(self, data, settings, size, build):
    """Takes the DataSet to train on, and the size of crops, in pixels.

    `build` is the function of images and Techniques that builds the network.
    Raises UserError if its first layer is not frozen.
    """
    self.settings = settings
    self.outputs = self.variables = None
    self.num_examples = settings.cache_frozen * data.examples_per_epoch
    self._build, self._num_classes = build, len(data.classes)
    shape = [None, size, size, data.layout.depth]
    # Number of the last layer whose outputs are the same in each step, where
    # the images are 0; and whether a later layer has been built.
    self._last_fixed, self._varies = -1, False
    with tf.Graph().as_default(), variable_scope.training_scope(settings):
      self._build_with(self._find_last, tf.placeholder(tf.float32, shape))
      if not self._last_fixed:
        raise UserError(
            f'--cache_frozen={settings.cache_frozen}: '
            f'{tf.trainable_variables()[0].op.name} is not frozen; expected '
            '--freeze=conv1, or more')
    self.records = tf.placeholder(tf.uint8, [None, data.layout.record_bytes])
    seed_of_start = tf.get_default_graph().seed
    # The distortions are the same ones whenever they are computed.
    tf.set_random_seed(settings.seed)
    with tf.device('/cpu:0'):
      self._images = distortions.distort(self.records, data, settings, size)
      self._images.set_shape(shape)
    tf.set_random_seed(seed_of_start)
    path = os.path.join(settings.train_dir, feature_records.FILE_NAME)
    layout = feature_records.layout_for(self._shape, data.layout)
    counts = self.num_examples, None  # The file is made later.
    self.data = data._replace(train_files=(path,), layout=layout, counts=counts,
                              held_out=0, labelled=0)
    tf.add_to_collection(graph_keys.FROZEN_LAYERS, self)

  def _build_with(self, function, images):
    """Builds the network with `_TappedTechniques`; returns its logits."""
    return self._build(
        images, _TappedTechniques(self.settings, self._num_classes, function))

  def _find_last(self, x, kind):
    """Notes the last layer whose outputs `x` are the same in each step."""
    self._varies |= bool(tf.trainable_variables())
    if not self._varies:
      self._last_fixed += 1
      self.name = x.op.name.split('/')[0]
      self._shape = x.shape.as_list()[1:]
    self._varies |= getattr(self.settings, kind) > 0
    return x

  def inference(self, features):
    """Builds the network; returns the logits.

    The frozen layers take the images of `records`, and add no summaries; the
    others take `features`, float32 [batch, height, width, channels].
    """
    before, calls = set(tf.global_variables()), itertools.count()
    with contextlib.ExitStack() as below:
      below.enter_context(graph_keys.unchanged(tf.GraphKeys.SUMMARIES))

      def substitute(outputs, kind):
        if next(calls) != self._last_fixed:
          return outputs
        below.close()
        if self.outputs is None:  # In the first tower.
          self.outputs = tf.cast(outputs, tf.float32)
          self.variables = [v for v in tf.global_variables() if v not in before]
        shape = [-1, *outputs.shape.as_list()[1:]]
        return tf.cast(tf.reshape(features, shape), outputs.dtype)

      return self._build_with(substitute, self._images)


class _TappedTechniques(techniques.Techniques):
  """Techniques that pass the inputs of each dropout through a function.

  The function takes the images, then the outputs of each layer but the last,
  and the setting's name of their dropout, see `Techniques.dropout`.
  """

  def __init__(self, settings, num_classes, function):
    super().__init__(settings, is_training=True, num_classes=num_classes)
    self._function = function

  def dropout(self, x, kind):
    return super().dropout(self._function(x, kind), kind)
