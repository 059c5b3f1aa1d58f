"""From records on disk, through queues, to batches of images.

The tutorial's section "Model Inputs". A record travels

    filename queue -> reader -> shuffle queue -> batches of raw records
        -> preprocessing threads -> queue of ready batches

as raw bytes up to the last stage, which distorts a whole batch at once, each
image in its own way. All of this runs on the CPU, wherever the model runs, and
there is one of each queue, however many towers take batches from it.
"""

import re

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.data import distortions
from cifar10.data import feature_records
from cifar10.data import pipelines
from cifar10.data import records as records_lib
from cifar10.data import shuffle_queue
from cifar10.util import summaries

# Images of CIFAR-10 are cropped to this height and width, in pixels; those of
# other data sets in the same proportion, see `records.crop_size`.
IMAGE_SIZE = 24

# The tutorial's constants describing CIFAR-10. The numbers of examples are for
# readers: the code counts the records in the files.
NUM_CLASSES = 10
NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN = 50000
NUM_EXAMPLES_PER_EPOCH_FOR_EVAL = 10000

NUM_PREPROCESS_THREADS = 16

# The tutorial shuffles among at least this share of the training images:
# 20,000 of CIFAR-10's 50,000. Here only the printed line says so.
MIN_FRACTION_OF_EXAMPLES_IN_QUEUE = 0.4

# The most bytes of records that are shuffled together; a smaller epoch is
# shuffled as a whole. (Departure from the tutorial, which mixes 20,000 records
# with those that follow, and so never mixes well what is sorted by class on
# disk.)
_MAX_BYTES_IN_QUEUE = 1 << 30

_RECORDS_PER_READ = 1000
_MAX_BYTES_PER_READ = 1 << 24

_READY_BATCHES = 16
_MAX_BYTES_READY = 1 << 30


def read_cifar10(filename_queue, layout, at_most=_RECORDS_PER_READ, kept=None):
  """Reads records of CIFAR-10's binary format.

  Departure from the tutorial: many records at a time, as raw bytes. Call it
  once per parallel reader.

  Args:
    filename_queue: queue of the names of the files to read.
    layout: records.Layout.
    at_most: how many records to read, an int or int tensor. A read ends with
      the file, so it may return fewer.
    kept: how many records of each file to keep, its first ones: a dict by path.
      None: all.

  Returns:
    uint8 tensor, [n, layout.record_bytes]. Running it raises
    tf.errors.OutOfRangeError after the last record.
  """
  reader = tf.FixedLengthRecordReader(layout.record_bytes)
  keys, values = reader.read_up_to(filename_queue, tf.cast(at_most, tf.int64))
  for path, count in (kept or {}).items():
    values, keys = _first_records(values, keys, path, count)
  return records_lib.decode(values, layout)


def _first_records(values, keys, path, count):
  """Drops those records of a file that come after the first `count`.

  The key of a record is the path of its file, a colon, and its number.
  """
  number = tf.strings.to_number(
    tf.strings.regex_replace(keys, '.*:', ''), tf.int32
  )
  is_of_file = tf.strings.regex_full_match(
    keys, tf.constant(re.escape(path) + ':[0-9]+')
  )
  is_kept = tf.logical_or(tf.logical_not(is_of_file), number < count)
  return tf.boolean_mask(values, is_kept), tf.boolean_mask(keys, is_kept)


def distorted_inputs(
  data,
  batch_size,
  seeded=False,
  augment=distortions.TUTORIAL,
  max_shift=distortions.MAX_SHIFT,
  source='queues',
  image_size=0,
):
  """Endless batches of distorted training images, shuffled anew each epoch.

  Args:
    data: datasets.DataSet.
    batch_size: number of images in a batch.
    seeded: prepare batches in a single thread, so that with a graph-level seed
      their order and contents are the same in each run.
    augment, max_shift: the distortions, as `distortions.distort` takes them;
      'alternating_flip' remembers preloaded records, and flips others at
      random.
    source: where the batches come from: 'queues', the tutorial's; 'preloaded',
      a variable that holds all records; or 'tf_data', a tf.data.Dataset.
    image_size: as `records.crop_size` takes it.

  Returns:
    images: float32 tensor, [batch_size, size, size, depth], each image of
      mean 0 and variance 1.
    labels: int32 tensor, [batch_size].
  """
  layout, size = data.layout, records_lib.crop_size(data.layout, image_size)
  in_memory = _batches_in_memory(batch_size, (size, size, layout.depth))
  num_threads = _num_threads(seeded, in_memory)

  def decode(records, flip=None):
    return _decoded(
      records,
      data,
      lambda: distortions.distort(
        records, layout, size, data.flip, augment, max_shift, flip
      ),
    )

  _print_start(data, source)
  with tf.device('/cpu:0'), tf.name_scope('distorted_inputs'):
    epoch_size = _epoch_in_queue(data.examples_per_epoch, layout, batch_size)
    if source == 'tf_data':
      batch = pipelines.batches_by_tf_data(
        data, epoch_size, batch_size, decode, num_threads
      )
      num_threads = 1
    elif source == 'preloaded':
      batch = decode(
        *pipelines.batches_of_preloaded(
          data, batch_size, data.flip and 'alternating_flip' in augment
        )
      )
    else:
      records = _shuffled_records(
        *data.files_to_train_on(), layout, epoch_size, batch_size
      )
      batch = decode(records.dequeue())
    images, labels = _ready_batches(*batch, in_memory, num_threads)
    images.set_shape([batch_size, size, size, layout.depth])
    labels.set_shape([batch_size])
    summaries.images_and_labels(images, labels, data.classes)
  return images, labels


def pooled_inputs(frozen, batch_size, seeded=False):
  """Endless batches of the outputs of frozen layers, shuffled.

  Args:
    frozen: serving.frozen_layers.FrozenLayers, which keeps them as records.
    batch_size: number of examples in a batch.
    seeded: as `distorted_inputs` takes it.

  Returns:
    pooled: float32 tensor, [batch_size, height, width, channels], outputs of
      cifar10.convolutions.
    labels: int32 tensor, [batch_size].
  """
  layout = frozen.data.layout
  epoch_size = _epoch_in_queue(frozen.num_examples, layout, batch_size)
  in_memory = _batches_in_memory(batch_size, feature_records.shape(layout))
  # Errors of the input are known by the name of this scope.
  with tf.device('/cpu:0'), tf.name_scope('distorted_inputs'):
    records = _shuffled_records(
      frozen.data.train_files, {}, layout, epoch_size, batch_size
    ).dequeue()
    batch = _decoded(
      records, frozen.data, lambda: feature_records.features(records, layout)
    )
    pooled, labels = _ready_batches(
      *batch, in_memory, _num_threads(seeded, in_memory)
    )
    pooled.set_shape([batch_size, *feature_records.shape(layout)])
    labels.set_shape([batch_size])
  return pooled, labels


def _batches_in_memory(batch_size, shape):
  """How many batches may be computed before they are needed, at most.

  Args:
    batch_size: number of examples in a batch.
    shape: shape of an example, which is of float32.
  """
  batch_bytes = 4 * batch_size * int(np.prod(shape))
  return max(1, _MAX_BYTES_READY // batch_bytes)


def _num_threads(seeded, in_memory):
  # Each of them holds a batch too.
  return 1 if seeded else min(NUM_PREPROCESS_THREADS, in_memory)


def _print_start(data, source):
  """Says what is read before training starts."""
  num_examples = data.examples_per_epoch
  if source == 'queues':
    # The tutorial's line and number, although the queue holds a whole epoch.
    num_examples = int(num_examples * MIN_FRACTION_OF_EXAMPLES_IN_QUEUE)
    print(
      'Filling queue with %d %s images before starting to train.'
      % (num_examples, data.name)
    )
  else:
    print(
      'Loading %d %s images before starting to train.'
      % (num_examples, data.name)
    )


def _decoded(records, data, decode):
  """Decodes a batch of records, once their labels are found to be known.

  Args:
    records: uint8 tensor, [batch, record_bytes].
    data: datasets.DataSet that they belong to.
    decode: function that returns their images.

  Returns:
    What `decode` returns, and labels, an int32 tensor, [batch].
  """
  labels = records_lib.labels(records, data.layout)
  # The files were checked before; they may have been overwritten since.
  are_known = tf.reduce_all(labels < len(data.classes))
  with tf.control_dependencies([tf.Assert(are_known, ['unknown label'])]):
    return decode(), labels


def inputs(data, eval_data, batch_size, image_size=0):
  """Batches of undistorted images in the order of the files, each image once.

  Args:
    data: datasets.DataSet.
    eval_data: 'test' or 'train_eval'.
    batch_size: number of images in a batch; the last batch may have fewer.
    image_size: as `records.crop_size` takes it.

  Returns:
    images: float32 tensor, [at most batch_size, size, size, depth], the middle
      of each image, of mean 0 and variance 1.
    labels: int32 tensor, [at most batch_size].
    Running them raises tf.errors.OutOfRangeError after the last batch.
  """
  layout, size = data.layout, records_lib.crop_size(data.layout, image_size)
  with tf.device('/cpu:0'), tf.name_scope('inputs'):
    filename_queue = tf.train.string_input_producer(
      list(data.files(eval_data)), num_epochs=1, shuffle=False
    )
    per_read = _records_per_read(layout)
    # Regroups the reads, which end with each file, into batches.
    records = tf.train.batch(
      [read_cifar10(filename_queue, layout, per_read)],
      batch_size,
      capacity=batch_size + 2 * per_read,
      enqueue_many=True,
      allow_smaller_final_batch=True,
    )
    images, labels = _ready_batches(
      distortions.central_crop(records, layout, size),
      records_lib.labels(records, layout),
      _batches_in_memory(batch_size, (size, size, layout.depth)),
      num_threads=1,
    )
    images.set_shape([None, size, size, layout.depth])
    labels.set_shape([None])
    summaries.images_and_labels(images, labels, data.classes)
  return images, labels


def _epoch_in_queue(num_examples, layout, batch_size):
  """How many of an epoch's records are shuffled together."""
  most = max(batch_size, _MAX_BYTES_IN_QUEUE // layout.record_bytes)
  return min(num_examples, most)


def _records_per_read(layout):
  """How many records a reader takes at a time."""
  most = max(1, _MAX_BYTES_PER_READ // layout.record_bytes)
  return min(_RECORDS_PER_READ, most)


def _shuffled_records(files, kept, layout, epoch_size, batch_size):
  """A queue of batches of raw records, epoch after epoch, shuffled.

      filename queue  -->  read_cifar10  -->  shuffle_queue.batches

  Args:
    files: paths of the files of records.
    kept: as `read_cifar10` takes it.
    layout: records.Layout.
    epoch_size: how many records are shuffled together: all of an epoch, if
      the memory allows.
    batch_size: number of records in a batch.

  Returns:
    tf.FIFOQueue with elements of uint8 [batch_size, record_bytes].
  """
  filename_queue = tf.train.string_input_producer(list(files))

  def read_some(start, left):
    del start  # The reader knows.
    at_most = tf.minimum(_records_per_read(layout), left)
    return read_cifar10(filename_queue, layout, at_most, kept)

  return shuffle_queue.batches(
    read_some, (tf.uint8, [layout.record_bytes]), epoch_size, batch_size
  )


def _ready_batches(images, labels, in_memory, num_threads):
  """Computes batches before they are needed, in threads of their own."""
  queue = tf.FIFOQueue(
    min(_READY_BATCHES, in_memory),
    [images.dtype, labels.dtype],
    name='ready_batches',
  )
  enqueue = queue.enqueue([images, labels])
  tf.train.add_queue_runner(
    tf.train.QueueRunner(queue, [enqueue] * num_threads)
  )
  return queue.dequeue()
