"""Predictions: the probabilities that trained models compute for records.

A model is one run or an ensemble of runs, restored from checkpoints, or an
export of `cifar10_export`. All predictors have `classes`, `layout`, the
records.Layout, `probabilities` and `close`.
"""

import os
from typing import Any, NamedTuple, Optional
import warnings

import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10 import settings as settings_lib
from cifar10.data import distortions
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.errors import first_line
from cifar10.infer import inference_graph
from cifar10.infer import ranking
from cifar10.infer import restore
from cifar10.store import checkpoints


class Network(NamedTuple):
  """A trained network, or one whose variables are loaded later."""

  settings: Any  # settings.Settings.
  checkpoint: Optional[str] = None  # Its path.


class Answers(NamedTuple):
  """The probabilities of the classes for n records."""

  mean: Any  # float32 array, [n, classes]: the mean of all networks.
  by_network: dict  # Arrays like it, by the numbers of networks; no lost ones.


class Predictor:
  """Networks in a graph and a session of their own, one or an ensemble."""

  def __init__(self, data, *networks):
    """Builds Networks of one data set, each on a device, and restores them.

    Raises UserError if a checkpoint cannot be read or belongs to another model.
    """
    self.classes, self.layout = data.classes, data.layout
    self.folders = [network.settings.checkpoint_dir for network in networks]
    with tf.Graph().as_default():
      self._records = tf.placeholder(tf.uint8, [None, data.layout.record_bytes])
      self._models = []
      for i, (settings, _) in enumerate(networks):
        size = cifar10_input.crop_size(data.layout, settings.image_size)
        # If there are fewer GPUs, they share one, or the CPU.
        with tf.device('/gpu:%d' % i), tf.variable_scope('network_%d' % i):
          with tf.device('/cpu:0'):
            images = distortions.central_crop(self._records, data.layout, size,
                                              settings.standardization)
          self._models.append(inference_graph.build(images, data, settings))
      self._each = [model.probabilities for model in self._models]
      self._mean = tf.add_n(self._each) / len(networks)
      self._session = inference_graph.session(networks[0].settings)
    self.close = self._session.close
    for model, (settings, checkpoint) in zip(self._models, networks):
      if checkpoint:
        restore.announce(checkpoint)
        saver = model.savers.choose(checkpoint, settings.use_moving_averages)
        saver.restore(self._session, checkpoint)

  @property
  def averages(self):
    """The variables of the only network, by the names of their averages."""
    (model,) = self._models
    return dict(model.savers.averaged.named)

  def load(self, values):
    """Loads arrays by the names of `averages`, or all of a checkpoint."""
    for name, variable in self.averages.items():
      variable.load(values[checkpoints.stored_name(name, values)],
                    self._session)

  def logits(self, records):
    """The only network's logits, float32 [n, classes]."""
    (model,) = self._models
    return self._session.run(model.logits, {self._records: records})

  def answers(self, records):
    """The Answers to uint8 records [n, record_bytes], n above 0."""
    mean, each = self._session.run((self._mean, self._each),
                                   {self._records: records})
    return Answers(mean, dict(enumerate(each)))

  def probabilities(self, records):
    """The mean probabilities of uint8 records, float32 [n, classes].

    The labels in the records are ignored; n is above 0.
    """
    return self._session.run(self._mean, {self._records: records})


class ExportedPredictor:
  """A SavedModel of `cifar10_export` in a session of its own."""

  def __init__(self, settings):
    """Loads the export in `checkpoint_dir`; UserError if it is not one."""
    folder = settings.checkpoint_dir
    restore.announce(folder)
    try:
      self._load(folder, settings)
    # A damaged file yields exceptions of many types, from the parser of the
    # file to the importer of the graph; so do signatures of other programs.
    except Exception as error:
      problem = ('not an export of cifar10_export, with the signatures images '
                 'and classes, or damaged')
      if 'Op type not registered' in str(error):
        problem = ('written with a newer TensorFlow, or by another program; '
                   f'expected an export with TensorFlow {tf.__version__}')
      raise UserError(f'{folder}: {problem}: {first_line(error)}') from error

  def _load(self, folder, settings):
    with tf.Graph().as_default(), warnings.catch_warnings():
      warnings.simplefilter('ignore')  # The parser warns before it fails.
      self._session = inference_graph.session(settings)
      signatures = tf.saved_model.loader.load(self._session,
                                              [tf.saved_model.SERVING],
                                              folder).signature_def
    images = signatures['images']
    self._images = images.inputs['images'].name
    self._probabilities = images.outputs['probabilities'].name
    shape = images.inputs['images'].tensor_shape.dim
    _, size, _, channels = (dimension.size for dimension in shape)
    if size < 1 or channels not in (1, 3):
      raise ValueError('not the shape of square images')
    names = self._session.run(signatures['classes'].outputs['classes'].name)
    self.classes = tuple(name.decode('utf-8') for name in names)
    self.layout = records_lib.layout_for(size, channels, self.classes)
    self.close = self._session.close

  def probabilities(self, records):
    """The probabilities of records, as Predictor.probabilities has them."""
    images = records_lib.images(records, self.layout)
    return self._session.run(self._probabilities, {self._images: images})


class Validator(Predictor):
  """The model of a run with averaged variables, and `total` images for it."""

  def __init__(self, records, data, settings):
    """Takes labeled images of `data`, uint8 [n, record_bytes]."""
    super().__init__(data, Network(settings))
    self._batches = records_lib.small_batches(records)
    self.total = len(records)

  def correct(self, values):
    """Number of images labeled right, with `values` as of `load`."""
    self.load(values)
    return sum(
        ranking.count_right(self.logits(batch),
                            records_lib.labels(batch, self.layout))
        for batch in self._batches)


def is_export(folder):
  """True if a folder holds a SavedModel."""
  return os.path.isfile(os.path.join(folder, 'saved_model.pb'))


def load(settings):
  """The predictor of the model in `checkpoint_dir`: an export, or else a run.

  Raises UserError if there is no model, it cannot be read, or a flag was given
  that an export, which computes as it was exported, cannot follow.
  """
  folder = settings.checkpoint_dir
  if not is_export(folder):
    network = Network(settings, checkpoints.find(folder))
    return Predictor(restore.describe_data(settings), network)
  for name in settings_lib.with_policy('exported'):
    if settings.is_set(name):
      raise UserError(
          f'--{name}: {folder} is an export, which computes as it was '
          'exported; expected a run')
  return ExportedPredictor(settings)
