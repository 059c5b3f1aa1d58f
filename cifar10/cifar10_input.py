"""From records on disk, through queues, to batches of images.

The tutorial's section "Model Inputs". A record travels

    filename queue -> reader -> shuffle queue -> batches of raw records
        -> preprocessing threads -> queue of ready batches

as raw bytes until the last stage, which distorts a whole batch at once, each
image in its own way. All of it lives on the CPU, whatever the model runs on,
and there is one of each queue, however many towers take batches from it.
"""

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.util import summaries

# CIFAR-10's images are cropped to this height and width, in pixels; those of
# other data sets in the same proportion.
IMAGE_SIZE = 24

NUM_PREPROCESS_THREADS = 16

# The tutorial shuffles among at least this share of the training images:
# 20,000 of CIFAR-10's 50,000.
MIN_FRACTION_OF_EXAMPLES_IN_QUEUE = 0.4

# Where a whole epoch is at most so many records, it is shuffled at once
# (departure from the tutorial, which mixes 20,000 with those that come after
# and so never mixes well what is sorted by class on disk).
_MAX_EPOCH_IN_QUEUE = 100000

_RECORDS_A_READ = 1000
_RAW_BATCHES = 4
_READY_BATCHES = 16


class Record(NamedTuple):
  """One example, as `read_cifar10` gives it.

  Attributes:
    height: rows of the image; 32 for CIFAR-10.
    width: columns of the image; 32.
    depth: colours of the image; 3.
    key: scalar string tensor, `file:record`.
    label: int32 tensor of shape [1]; 0 to 9.
    uint8image: uint8 tensor of shape [height, width, depth].
  """

  height: int
  width: int
  depth: int
  key: Any
  label: Any
  uint8image: Any


def read_cifar10(filename_queue, layout=datasets.Layout()):
  """Reads one example of CIFAR-10's binary format.

  For readings in parallel, call it as often: each call has its own reader.

  Args:
    filename_queue: queue of the names of the files to read.
    layout: how a record is laid out.

  Returns:
    A Record. Running its tensors raises tf.errors.OutOfRangeError when the
    queue is closed and the last record has been read.
  """
  reader = tf.FixedLengthRecordReader(layout.record_bytes)
  key, value = reader.read(filename_queue)
  records = _decode([value], layout)
  image = distortions.whole(records, layout)[0]
  label = tf.reshape(_labels(records, layout), [1])
  return Record(layout.height, layout.width, layout.depth, key, label, image)


def crop_size(layout):
  """Height and width that images of a datasets.Layout are cropped to."""
  return layout.height * IMAGE_SIZE // datasets.Layout().height


def distorted_inputs(data, batch_size, seeded=False):
  """Batches of distorted training images, without end, shuffled each epoch.

  Args:
    data: datasets.DataSet.
    batch_size: number of images in a batch.
    seeded: prepare batches one after the other, so that with a graph-level
      seed their order and contents are the same in each run.

  Returns:
    images: float32 tensor, [batch_size, size, size, depth], each
      image of mean 0 and variance 1.
    labels: int32 tensor, [batch_size].
  """
  layout, size = data.layout, crop_size(data.layout)
  num_examples = data.count(data.train_files)
  # The tutorial's line and number. The queue goes on to hold a whole epoch.
  print(
    'Filling queue with %d %s images before starting to train.'
    % (int(num_examples * MIN_FRACTION_OF_EXAMPLES_IN_QUEUE), data.name)
  )
  with tf.device('/cpu:0'), tf.name_scope('distorted_inputs'):
    raw_batches = _shuffled_batches(
      data.train_files, num_examples, batch_size, layout
    )
    records = raw_batches.dequeue()
    images, labels = _ready_batches(
      [
        distortions.distort(records, layout, size, data.flip),
        _labels(records, layout),
      ],
      num_threads=1 if seeded else NUM_PREPROCESS_THREADS,
    )
    images.set_shape([batch_size, size, size, layout.depth])
    labels.set_shape([batch_size])
    summaries.images_and_labels(images, labels, data.classes)
  return images, labels


def inputs(data, eval_data, batch_size):
  """Batches of whole images in the order of the files, each image once.

  Args:
    data: datasets.DataSet.
    eval_data: 'test' or 'train_eval'.
    batch_size: number of images in a batch; the last batch may have fewer.

  Returns:
    images: float32 tensor, [at most batch_size, size, size, depth], the middle
      of each image, of mean 0 and variance 1.
    labels: int32 tensor, [at most batch_size].
    Running them raises tf.errors.OutOfRangeError behind the last batch.
  """
  layout, size = data.layout, crop_size(data.layout)
  with tf.device('/cpu:0'), tf.name_scope('inputs'):
    filename_queue = tf.train.string_input_producer(
      list(data.files(eval_data)), num_epochs=1, shuffle=False
    )
    reader = tf.FixedLengthRecordReader(layout.record_bytes)
    _, values = reader.read_up_to(filename_queue, _RECORDS_A_READ)
    # Gathers the reads, which end with each file, to batches.
    records = tf.train.batch(
      [_decode(values, layout)],
      batch_size,
      capacity=batch_size + 2 * _RECORDS_A_READ,
      enqueue_many=True,
      allow_smaller_final_batch=True,
    )
    images, labels = _ready_batches(
      [
        distortions.central_crop(records, layout, size),
        _labels(records, layout),
      ],
      num_threads=1,
    )
    images.set_shape([None, size, size, layout.depth])
    labels.set_shape([None])
    summaries.images_and_labels(images, labels, data.classes)
  return images, labels


def _labels(records, layout):
  """The labels of raw records, int32 [n]."""
  return layout.labels(tf.cast(records[:, : layout.label_bytes], tf.int32))


def _decode(values, layout):
  """String tensor [n] to uint8 tensor [n, record_bytes]."""
  records = tf.decode_raw(values, tf.uint8)
  return tf.reshape(records, [-1, layout.record_bytes])


def _shuffled_batches(filenames, num_examples, batch_size, layout):
  """A queue of batches of raw records, an epoch after the other.

  The shuffle queue is filled with a whole epoch and then drawn empty, so each
  epoch is a random order of all examples, however they lie on disk. What is
  left of an epoch below a batch goes into the next one.

  Returns:
    A queue with elements of uint8 [batch_size, record_bytes].
  """
  epoch = num_examples
  if num_examples > _MAX_EPOCH_IN_QUEUE:
    epoch = int(MIN_FRACTION_OF_EXAMPLES_IN_QUEUE * num_examples)
    epoch = max(epoch, _MAX_EPOCH_IN_QUEUE)
  filename_queue = tf.train.string_input_producer(list(filenames))
  reader = tf.FixedLengthRecordReader(layout.record_bytes)
  shuffle_queue = tf.RandomShuffleQueue(
    capacity=epoch + batch_size,
    min_after_dequeue=0,
    dtypes=[tf.uint8],
    shapes=[[layout.record_bytes]],
    name='shuffle_queue',
  )
  raw_batches = tf.FIFOQueue(
    _RAW_BATCHES,
    [tf.uint8],
    shapes=[[batch_size, layout.record_bytes]],
    name='raw_batches',
  )

  def fill(filled):
    wanted = tf.minimum(_RECORDS_A_READ, epoch - filled)
    _, values = reader.read_up_to(filename_queue, tf.cast(wanted, tf.int64))
    put = shuffle_queue.enqueue_many([_decode(values, layout)])
    with tf.control_dependencies([put]):
      return filled + tf.size(values)

  def draw(left):
    put = raw_batches.enqueue([shuffle_queue.dequeue_many(batch_size)])
    with tf.control_dependencies([put]):
      return left - batch_size

  filled = _while(lambda filled: filled < epoch, fill, tf.constant(0))
  with tf.control_dependencies([filled]):
    in_queue = shuffle_queue.size()
  drawn = _while(lambda left: left >= batch_size, draw, in_queue)
  tf.train.add_queue_runner(tf.train.QueueRunner(raw_batches, [drawn.op]))
  return raw_batches


def _while(condition, body, value):
  """tf.while_loop over one scalar, one iteration at a time."""
  return tf.while_loop(
    condition, body, [value], parallel_iterations=1, back_prop=False
  )


def _ready_batches(tensors, num_threads):
  """Computes `tensors` ahead of their use, in threads of their own."""
  queue = tf.FIFOQueue(
    _READY_BATCHES, [t.dtype for t in tensors], name='ready_batches'
  )
  enqueue = queue.enqueue(tensors)
  tf.train.add_queue_runner(
    tf.train.QueueRunner(queue, [enqueue] * num_threads)
  )
  return queue.dequeue()
