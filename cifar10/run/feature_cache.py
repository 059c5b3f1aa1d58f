"""The file of the outputs of frozen layers for all training images.

It is in --train_dir, beside a description of what it was computed from, and is
filled before the first step; see nets/frozen_layers.py.
"""

import contextlib
import hashlib
import os

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.data import feature_records
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.util import files


class FillingCreator(tf.train.SessionCreator):
  """Makes a session, and fills the file before the session's input reads it."""

  def __init__(self, creator, frozen, train_data):
    self._creator, self._frozen, self._train_data = creator, frozen, train_data

  def create_session(self):
    session = self._creator.create_session()
    fill(self._frozen, self._train_data, session)
    return session


def fill(frozen, train_data, session):
  """Computes the features, unless they are there from an earlier start.

  `frozen` is the frozen_layers.FrozenLayers, `train_data` the datasets.DataSet
  of the images; `session` holds the variables. Raises OSError if a file cannot
  be written; no features are left then.
  """
  data, settings = frozen.data, frozen.settings
  records = train_data.records_to_train_on()
  (path,) = data.train_files
  description_path = os.path.join(settings.train_dir,
                                  feature_records.DESCRIPTION_NAME)
  num_bytes = frozen.num_examples * data.layout.record_bytes
  description = _describe(frozen, train_data, records, session)
  if _is_filled(data, description_path, description, num_bytes):
    print(f'The outputs of the frozen layers are in {path}.')
    return
  # Before the outputs, so that it never describes others; and to make room.
  _remove(description_path, path)
  print(f'Computing the frozen layers up to {frozen.name} for '
        f'{settings.cache_frozen} versions of {len(records):,} images; the '
        f'outputs take {num_bytes / 1e6:.0f} MB in {path}.')
  with files.new_file(path) as output:
    for start in range(0, frozen.num_examples, settings.batch_size):
      end = min(start + settings.batch_size, frozen.num_examples)
      # All images, once for each version.
      batch = records[np.arange(start, end) % len(records)]
      features = session.run(frozen.outputs, {frozen.records: batch})
      encoded = feature_records.encode(features, batch, data.layout)
      output.write(encoded.tobytes())
  try:
    files.write_json(description_path, description)
  except OSError:
    _remove(description_path, path)
    raise


def _is_filled(data, description_path, description, num_bytes):
  """True if the file has the outputs of this description, undamaged."""
  (path,) = data.train_files
  with contextlib.suppress(OSError, UserError):
    if files.read_json(description_path) == description:
      records_lib.check_file(path, data.layout, len(data.classes))
      return os.path.getsize(path) == num_bytes
  return False


def _remove(*paths):
  for path in paths:
    if os.path.exists(path):
      os.remove(path)


def _describe(frozen, train_data, records, session):
  """Everything that the outputs depend on, a dict for JSON."""
  settings, layout = frozen.settings, train_data.layout
  weights = hashlib.sha256()
  for value in session.run(frozen.variables):
    weights.update(np.ascontiguousarray(value))
  return {
      'outputs': frozen.name,
      'versions': settings.cache_frozen,
      'images': hashlib.sha256(records).hexdigest(),
      'variables': weights.hexdigest(),
      'layout': [*layout[:-1], *layout.label_at],
      'flip': train_data.flip,
      **settings.of_groups('augmentation', 'model'),
      **settings.values(('precision', 'seed'))
  }
