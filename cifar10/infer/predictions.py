"""Predictions: the probabilities that a trained model computes for records.

The model is that of a run, restored from a checkpoint, or an export of
`cifar10_export`. Both kinds of predictors have `classes`, `layout` and
`probabilities`.
"""

import os
import warnings

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import settings as settings_lib
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import inference_graph
from cifar10.infer import restore
from cifar10.store import checkpoints


class Predictor:
  """A trained model in a session, which computes probabilities.

  Attributes:
    classes: names of the classes, a tuple.
    layout: records.Layout of the records.
  """

  def __init__(self, session, data, checkpoint, settings):
    """Builds the model in the default graph and restores its variables.

    Args:
      session: tf.Session of the default graph.
      data: datasets.DataSet that the model was trained on.
      checkpoint: path of a checkpoint.

    Raises:
      UserError: the checkpoint cannot be read or belongs to another model.
    """
    self.classes, self.layout = data.classes, data.layout
    self._session = session
    self._records, self._graph = inference_graph.of_records(data, settings)
    scaffold = restore.fitting_scaffold(
      self._graph.restorations,
      checkpoint,
      settings.use_moving_averages,
    )
    scaffold.saver.restore(session, checkpoint)

  def probabilities(self, records):
    """The probability of each class for each record.

    Args:
      records: uint8 array, [n, record_bytes]; the labels are ignored.

    Returns:
      float32 array, [n, classes].
    """
    if not len(records):  # TensorFlow's convolutions need at least one.
      return np.zeros([0, len(self.classes)], np.float32)
    return self._session.run(
      self._graph.probabilities, {self._records: records}
    )


class ExportedPredictor:
  """A SavedModel of `cifar10_export` in a session.

  Attributes:
    classes: names of the classes, a tuple.
    layout: records.Layout of the records.
  """

  def __init__(self, session, folder):
    """Loads the model into the default graph.

    Args:
      session: tf.Session of the default graph.
      folder: path of the folder of the SavedModel.

    Raises:
      UserError: it cannot be read, or was not written by `cifar10_export`.
    """
    self._session = session
    try:
      with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # The parser warns before it fails.
        signatures = tf.saved_model.loader.load(
          session, [tf.saved_model.SERVING], folder
        ).signature_def
    # A damaged file yields exceptions of many types, from the parser of the
    # file to the importer of the graph.
    except Exception as error:
      raise UserError(
        '%s: the SavedModel there cannot be loaded: %s'
        % (folder, (str(error).splitlines() or [type(error).__name__])[0])
      ) from error
    try:
      images = signatures['images']
      self._images = images.inputs['images'].name
      self._probabilities = images.outputs['probabilities'].name
      shape = images.inputs['images'].tensor_shape.dim
      _, size, _, channels = (dimension.size for dimension in shape)
      if size < 1 or channels not in (1, 3):
        raise ValueError('not the shape of square images')
      names = session.run(signatures['classes'].outputs['classes'].name)
      self.classes = tuple(name.decode('utf-8') for name in names)
      self.layout = records_lib.layout_for(size, channels, self.classes)
    except (
      AttributeError,
      KeyError,
      TypeError,
      ValueError,
      tf.errors.OpError,
    ) as error:
      raise UserError(
        '%s: not an export of cifar10_export; expected a SavedModel with the '
        'signatures images and classes' % folder
      ) from error

  def probabilities(self, records):
    """The probability of each class for each record.

    Args:
      records: uint8 array, [n, record_bytes]; the labels are ignored.

    Returns:
      float32 array, [n, classes].
    """
    if not len(records):
      return np.zeros([0, len(self.classes)], np.float32)
    height, width, depth, label_bytes, _ = self.layout
    planes = records[:, label_bytes:].reshape(-1, depth, height, width)
    images = planes.transpose(0, 2, 3, 1)
    return self._session.run(self._probabilities, {self._images: images})


def is_export(folder):
  """Whether a folder holds a SavedModel."""
  return os.path.isfile(os.path.join(folder, 'saved_model.pb'))


def load(session, settings, **optional):
  """The model in `checkpoint_dir`: an export, if one is there, or a run's.

  An export knows its classes and the size of its images, and computes as it was
  exported; it follows no setting that it holds itself.

  Args:
    session: tf.Session of the default graph.
    settings: settings.Settings.
    **optional: what `restore.describe` takes besides.

  Returns:
    Predictor or ExportedPredictor.

  Raises:
    UserError: there is no model, or it cannot be read; or a flag was given that
      an export cannot follow.
  """
  folder = settings.checkpoint_dir
  if is_export(folder):
    for name in settings_lib.with_policy('exported'):
      if settings.is_set(name):
        raise UserError(
          '--%s: %s is an export, which computes as it was exported; expected '
          'a run' % (name, folder)
        )
    return ExportedPredictor(session, folder)
  checkpoint = checkpoints.find(folder)
  data = restore.describe(settings, **optional)
  return Predictor(session, data, checkpoint, settings)
