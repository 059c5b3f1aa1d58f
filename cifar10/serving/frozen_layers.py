"""The frozen layers of a run, computed once for all training images.

With --cache_frozen=K a trainer distorts each training image K times, computes
the frozen convolutional layers for all of them before the first step, and keeps
the results in --train_dir. Steps read those and compute the other layers only.
"""

import hashlib
import os

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.data import distortions
from cifar10.data import feature_records
from cifar10.data import records as records_lib
from cifar10.errors import Stopped
from cifar10.errors import UserError
from cifar10.training import signals as signals_lib
from cifar10.training import train_dir
from cifar10.util import files
from cifar10.util import summaries


def create(data, config):
  """The FrozenLayers of a run; None without --cache_frozen.

  Call it in the variable scope of the model, before `cifar10.inference`.

  Args:
    data: datasets.DataSet to train on.
    config: config.Config.

  Raises:
    UserError: a convolutional layer is not frozen.
  """
  if not config.transfer.cache_frozen:
    return None
  return FrozenLayers(data, config)


class FrozenLayers:
  """The convolutional layers in the training graph, and their outputs on disk.

  Attributes:
    data: datasets.DataSet whose training file holds the outputs, as
      feature_records.
    num_examples: how many there are.
  """

  def __init__(self, data, config):
    """Builds the layers in the default graph."""
    self._images, self._config = data, config
    self._versions = config.transfer.cache_frozen
    self._batch_size = config.input.batch_size
    self.num_examples = self._versions * data.examples_per_epoch
    before = set(tf.global_variables())
    graph = tf.get_default_graph()
    seed_of_start = graph.seed
    # They are the same ones whenever they are computed.
    tf.set_random_seed(config.optimization.seed)
    with summaries.dropped(), tf.device('/gpu:0'):
      self._records, pooled = self._build()
    tf.set_random_seed(seed_of_start)
    self._pooled = tf.cast(pooled, tf.float32)
    self._variables = [v for v in tf.global_variables() if v not in before]
    trained = {v.op.name for v in tf.trainable_variables()}
    for variable in self._variables:
      if variable.op.name in trained:
        raise UserError(
          '--cache_frozen=%d: %s is not frozen; expected --freeze=conv, or '
          'more' % (self._versions, variable.op.name)
        )
    folder = config.run.train_dir
    self._path = os.path.join(folder, train_dir.FROZEN_LAYERS)
    self._text = os.path.join(folder, train_dir.FROZEN_LAYERS_TEXT)
    self.data = data._replace(
      train_files=(self._path,),
      layout=feature_records.layout_for(
        pooled.shape.as_list()[1:], data.layout
      ),
    )

  def _build(self):
    """A placeholder for records, and the outputs for them, distorted."""
    data, config = self._images, self._config
    records = tf.placeholder(tf.uint8, [None, data.layout.record_bytes])
    size = records_lib.crop_size(data.layout, config.model.image_size)
    with tf.device('/cpu:0'):
      images = distortions.distort(
        records,
        data.layout,
        size,
        data.flip,
        distortions.names(config.augmentation.augment),
        config.augmentation.max_shift,
      )
      images.set_shape([None, size, size, data.layout.depth])
    pooled = cifar10.convolutions(
      images,
      config.model,
      config.regularization,
      conv_form=config.session.conv,
    )
    return records, pooled

  def fill(self, session, signals):
    """Computes the outputs, unless they are there from an earlier start.

    Args:
      session: tf.Session in which the variables have their values.
      signals: list of the signals that have come, see training/signals.py.

    Raises:
      OSError: they cannot be written; nothing is left of them.
      Stopped: a signal came; nothing is left, either.
    """
    records = self._images.records_to_train_on()
    description = self._describe(session, records)
    if self._is_kept(description):
      print('The outputs of the frozen layers are in %s.' % self._path)
      return
    # First, so that a description never stands beside other outputs, and there
    # is room for the new ones.
    self._remove()
    print(
      'Computing the frozen layers for %d versions of %s images; the outputs '
      'take %.0f MB in %s.'
      % (
        self._versions,
        format(len(records), ','),
        self._num_bytes / 1e6,
        self._path,
      )
    )
    with files.new_file(self._path) as output:
      for start in range(0, self.num_examples, self._batch_size):
        if signals:
          raise Stopped(signals_lib.stopped_by(signals))
        output.write(self._outputs(session, records, start).tobytes())
    try:
      files.write_json(self._text, description)
    except OSError:
      self._remove()
      raise

  @property
  def _num_bytes(self):
    return self.num_examples * self.data.layout.record_bytes

  def _is_kept(self, description):
    """Whether whole outputs are there, of what a dict describes."""
    try:
      if files.read_json(self._text) != description:
        return False
      records_lib.check_file(
        self._path, self.data.layout, len(self.data.classes)
      )
    except (OSError, UserError):
      return False
    return os.path.getsize(self._path) == self._num_bytes

  def _remove(self):
    """Deletes the outputs and their description."""
    for path in (self._text, self._path):
      if os.path.exists(path):
        os.remove(path)

  def _outputs(self, session, records, start):
    """The next records of features: those of all images, K times."""
    end = min(start + self._batch_size, self.num_examples)
    batch = records[np.arange(start, end) % len(records)]
    pooled = session.run(self._pooled, {self._records: batch})
    return feature_records.encode(pooled, batch, self.data.layout)

  def _describe(self, session, records):
    """What the outputs depend on, a dict for JSON."""
    config, layout = self._config, self._images.layout
    weights = hashlib.sha256()
    for value in session.run(self._variables):
      weights.update(np.ascontiguousarray(value))
    return {
      'versions': self._versions,
      'images': hashlib.sha256(records).hexdigest(),
      'variables': weights.hexdigest(),
      'layout': [*layout[:-1], *layout.label_at],
      'flip': self._images.flip,
      **config.flat(['augmentation', 'model']),
      'input_dropout': config.regularization.input_dropout,
      'conv_dropout': config.regularization.conv_dropout,
      'precision': config.session.precision,
      'seed': config.optimization.seed,
    }
