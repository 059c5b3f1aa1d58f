"""The input that the settings choose: the tutorial's queues or another one."""

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10 import networks
from cifar10.data import batches
from cifar10.data import distortions
from cifar10.data import feature_records
from cifar10.data import records as records_lib
from cifar10.nets import frozen_layers
from cifar10.util import graph_keys
from cifar10.util import summaries


def distorted_inputs(settings, data):
  """Batches of a DataSet for one step of all towers of a machine.

  Returns:
    images: float32, [examples_per_machine, size, size, depth]; with
      --cache_frozen the outputs of the frozen layers, for `networks.inference`.
    labels: int32, [examples_per_machine].
  """
  if settings.cache_frozen:
    return _features(settings, data)
  if settings.input == 'queues':
    return cifar10.distorted_inputs(settings, data)
  return loaded_inputs(settings, data)


def loaded_inputs(settings, data):
  """Batches of a DataSet by --input=preloaded or tf_data."""
  print(f'Loading {data.examples_per_epoch} {data.name} images before starting '
        'to train.')
  batch_size, layout = settings.examples_per_machine, data.layout
  size = cifar10_input.crop_size(layout, settings.image_size)
  num_threads = _num_threads(settings)

  def decode(records, flip=None):
    labels = records_lib.labels(records, layout)
    with tf.control_dependencies([records_lib.assert_labels(labels, data)]):
      images = distortions.distort(records, data, settings, size, flip)
    images.set_shape([batch_size, size, size, layout.depth])
    return images, labels

  with tf.device('/cpu:0'), tf.name_scope(graph_keys.INPUT_SCOPE):
    if settings.input == 'tf_data':
      epoch_size = cifar10_input.examples_in_queue(data, batch_size)
      images, labels = batches.tf_data(data, epoch_size, batch_size, decode,
                                       num_threads)
      num_threads = 1
    else:
      is_alternating = 'alternating_flip' in distortions.names(settings.augment)
      images, labels = decode(
          *batches.preloaded(data, batch_size, data.flip and is_alternating))
    images, labels = cifar10_input.ready_batches(images, labels, batch_size,
                                                 num_threads)
    summaries.images_and_labels(images, labels, data.classes)
  return images, labels


def distorted_pairs(settings, data):
  """Batches of training images from the queues, each image distorted twice.

  Returns float32 [2 * batch_size, size, size, depth], and int32 numbers [2 *
  batch_size], the same for both distortions of an image.
  """
  batch_size, layout = settings.batch_size, data.layout
  size = cifar10_input.crop_size(layout, settings.image_size)
  with tf.device('/cpu:0'), tf.name_scope(graph_keys.INPUT_SCOPE):
    records = cifar10_input.shuffled_records(data, batch_size).dequeue()
    images = distortions.distort(tf.concat([records, records], 0), data,
                                 settings, size)
    images.set_shape([2 * batch_size, size, size, layout.depth])
    numbers = tf.tile(tf.range(batch_size), [2])
    return cifar10_input.ready_batches(images, numbers, 2 * batch_size,
                                       _num_threads(settings))


def _features(settings, data):
  """Batches of the outputs of frozen layers, shuffled."""
  size = cifar10_input.crop_size(data.layout, settings.image_size)
  build = networks.varied_network(settings)
  feature_data = frozen_layers.FrozenLayers(data, settings, size, build).data
  batch_size = settings.examples_per_machine
  with tf.device('/cpu:0'), tf.name_scope(graph_keys.INPUT_SCOPE):
    records = cifar10_input.shuffled_records(feature_data, batch_size).dequeue()
    labels = records_lib.labels(records, feature_data.layout)
    check = records_lib.assert_labels(labels, feature_data)
    with tf.control_dependencies([check]):
      features = feature_records.features(records, feature_data.layout)
    features.set_shape(
        [batch_size, *feature_records.shape(feature_data.layout)])
    return cifar10_input.ready_batches(features, labels, batch_size,
                                       _num_threads(settings))


def _num_threads(settings):
  return cifar10_input.NUM_PREPROCESS_THREADS if settings.seed is None else 1
