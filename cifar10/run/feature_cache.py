"""The file of what frozen layers compute of all training images.

It is kept in --train_dir, with a description of what it was computed from, and
filled before the first step; see nets/frozen_layers.py.
"""

import hashlib
import os

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.data import feature_records
from cifar10.data import records as records_lib
from cifar10.errors import Stopped
from cifar10.errors import UserError
from cifar10.run import signals as signals_lib
from cifar10.util import files
from cifar10.util import graph_keys


def of_graph(data):
  """The FeatureCache of the default graph; None if its input reads images.

  Args:
    data: datasets.DataSet to train on.
  """
  found = tf.get_collection(graph_keys.FROZEN_LAYERS)
  return FeatureCache(found[0], data) if found else None


class FeatureCache:
  """The file of a run.

  Attributes:
    data: datasets.DataSet whose training file it is.
  """

  def __init__(self, frozen, data):
    """Takes the layers and the images.

    Args:
      frozen: frozen_layers.FrozenLayers.
      data: datasets.DataSet to train on.
    """
    self._frozen, self._images = frozen, data
    self.data = frozen.data
    (self._path,) = self.data.train_files
    self._text = os.path.join(
      os.path.dirname(self._path), feature_records.DESCRIPTION_NAME
    )

  def fill(self, session, signals):
    """Computes the features, unless they are there from an earlier start.

    Args:
      session: tf.Session in which the variables have their values.
      signals: list of the signals that have come, see signals.py.

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
    settings = self._frozen.settings
    print(
      'Computing the frozen layers for %d versions of %s images; the outputs '
      'take %.0f MB in %s.'
      % (
        settings.cache_frozen,
        format(len(records), ','),
        self._num_bytes / 1e6,
        self._path,
      )
    )
    with files.new_file(self._path) as output:
      for start in range(0, self._frozen.num_examples, settings.batch_size):
        if signals:
          raise Stopped(signals_lib.stopped_by(signals))
        output.write(self._features(session, records, start).tobytes())
    try:
      files.write_json(self._text, description)
    except OSError:
      self._remove()
      raise

  @property
  def _num_bytes(self):
    layout = self.data.layout
    return self._frozen.num_examples * layout.record_bytes

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

  def _features(self, session, records, start):
    """The next records of features: those of all images, K times."""
    frozen = self._frozen
    end = min(start + frozen.settings.batch_size, frozen.num_examples)
    batch = records[np.arange(start, end) % len(records)]
    features = session.run(frozen.outputs, {frozen.records: batch})
    return feature_records.encode(features, batch, self.data.layout)

  def _describe(self, session, records):
    """What the outputs depend on, a dict for JSON."""
    settings, layout = self._frozen.settings, self._images.layout
    weights = hashlib.sha256()
    for value in session.run(self._frozen.variables):
      weights.update(np.ascontiguousarray(value))
    return {
      'versions': settings.cache_frozen,
      'images': hashlib.sha256(records).hexdigest(),
      'variables': weights.hexdigest(),
      'layout': [*layout[:-1], *layout.label_at],
      'flip': self._images.flip,
      **settings.of_groups('augmentation', 'model'),
      **settings.values(('input_dropout', 'conv_dropout', 'precision', 'seed')),
    }
