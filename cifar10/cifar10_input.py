"""From records on disk, through queues, to batches of images.

The tutorial's section "Model Inputs". A record travels

    filename queue -> reader -> shuffle queue -> batches of raw records
        -> preprocessing threads -> queue of ready batches

as raw bytes up to the preprocessing threads, which distort a whole batch at
once, each image in its own way. All of this runs on the CPU, wherever the model
runs, and there is one of each queue, however many towers take batches from it.
"""

import os
import sys

if not __package__:  # A program in this folder says `import cifar10_input`.
  from cifar10 import cifar10_input  # noqa: PLW0406

  sys.modules['cifar10_input'] = cifar10_input  # In place of this module.

import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.data import records as records_lib
from cifar10.data import shuffle_queue
from cifar10.data import sources
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.util import summaries
from cifar10.util import tutorial_flags

# Images of CIFAR-10 are cropped to this height and width, in pixels; those of
# other data sets in the same proportion, see `crop_size`.
IMAGE_SIZE = 24

# The tutorial's constants describing CIFAR-10. The code counts the records in
# the files; NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN also bounds the shuffle queue.
NUM_CLASSES = 10
NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN = 50000
NUM_EXAMPLES_PER_EPOCH_FOR_EVAL = 10000

NUM_PREPROCESS_THREADS = 16

# The tutorial's min_fraction_of_examples_in_queue: its queue waits for 20,000
# of 50,000 images. Here it only sets the number in the printed line;
# `examples_in_queue` sets the size of the queue.
MIN_FRACTION_OF_EXAMPLES_IN_QUEUE = 0.4

# The most bytes of records that are shuffled together; a smaller epoch is
# shuffled as a whole. (Departure from the tutorial, whose queue of 20,000
# records does not mix files that are sorted by class.)
_MAX_BYTES_IN_QUEUE = 1 << 30

_RECORDS_PER_READ = 1000
_MAX_BYTES_PER_READ = 1 << 24

_READY_BATCHES = 16
_MAX_BYTES_READY = 1 << 30


def read_cifar10(filename_queue):
  """Reads one record of CIFAR-10's binary format.

  The tutorial's reader, for programs of your own; the inputs below read many
  records at a time, with `read_records`. Call it once per parallel reader.

  Args:
    filename_queue: queue of file names.

  Returns:
    An object with
      height, width, depth: ints, 32, 32 and 3.
      key: string scalar, the file and the number of the record in it.
      label: int32, [1], 0 to 9.
      uint8image: uint8, [height, width, depth].
  """

  class CIFAR10Record:
    """The fields of one record."""

  result = CIFAR10Record()
  layout = records_lib.Layout()
  result.height, result.width, result.depth = layout[:3]
  reader = tf.FixedLengthRecordReader(layout.record_bytes)
  result.key, value = reader.read(filename_queue)
  record = records_lib.decode([value], layout)  # [1, record_bytes]
  result.label = records_lib.labels(record, layout)
  result.label.set_shape([1])
  depth_major = tf.reshape(record[:, layout.label_bytes:],
                           [result.depth, result.height, result.width])
  result.uint8image = tf.transpose(depth_major, [1, 2, 0])
  return result


def read_records(filename_queue, layout, at_most, kept=None):
  """Reads records of any layout, many at a time, as raw bytes.

  Args:
    filename_queue: queue of file names.
    layout: records.Layout.
    at_most: number of records, an int or int tensor; a read ends with its file.
    kept: for files to read in part, a dict from the path to the number of
      records, the first ones; None: read all files as a whole.

  Returns:
    uint8, [n, layout.record_bytes]; tf.errors.OutOfRangeError after the last
    record.
  """
  reader = tf.FixedLengthRecordReader(layout.record_bytes)
  keys, values = reader.read_up_to(filename_queue, tf.cast(at_most, tf.int64))
  values = records_lib.first_of_files(keys, values, kept or {})
  return records_lib.decode(values, layout)


def _generate_image_and_label_batch(image, label, min_queue_examples,
                                    batch_size, shuffle):
  """Makes batches of single images; as `read_cifar10`, for your own programs.

  Takes an image [height, width, depth], its label [1], and the number of images
  that the queue keeps at least. Returns the images, [batch_size, height, width,
  depth], and the labels, [batch_size].
  """
  capacity = min_queue_examples + 3 * batch_size
  if shuffle:
    images, labels = tf.train.shuffle_batch([image, label], batch_size,
                                            capacity, min_queue_examples,
                                            num_threads=NUM_PREPROCESS_THREADS)
  else:
    images, labels = tf.train.batch([image, label], batch_size,
                                    NUM_PREPROCESS_THREADS, capacity)
  tf.summary.image('images', images)
  return images, tf.reshape(labels, [batch_size])


def _cifar10(data_dir, eval_data):
  """The DataSet of CIFAR-10 in a folder.

  Raises ValueError if a file of the part `eval_data`, 'test' or 'train_eval',
  is missing.
  """
  classes = datasets.numbered_classes(NUM_CLASSES) or datasets.CLASSES
  data = datasets.in_folder(data_dir)._replace(classes=classes)
  for path in data.files(eval_data):
    if not os.path.exists(path):
      raise ValueError('Failed to find file: ' + path)
  return data


def _folder_and_size(data_dir, batch_size):
  """The folder and the batch size, also where `data_dir` is left out.

  Then, as in the tutorial's last form, the first argument is the batch size and
  the flag names the folder. Raises UserError if the folder is the default and
  belongs to another user.
  """
  if batch_size is None:
    data_dir, batch_size = None, data_dir
  if data_dir is None:
    settings = Settings(**tutorial_flags.chosen('data_dir'))
    datasets.check_owner(settings)
    data_dir = sources.SOURCES['cifar10'].folder_in(settings.data_dir)
  return data_dir, batch_size


def crop_size(layout, image_size=0):
  """Height and width of the crops, in pixels.

  With `image_size` 0, IMAGE_SIZE for each 32 pixels of the image's height.
  Raises UserError if --image_size or IMAGE_SIZE is larger than the images.
  """
  size = image_size or layout.height * IMAGE_SIZE // 32
  if size > min(layout.height, layout.width):
    name = '--image_size' if image_size else 'IMAGE_SIZE'
    raise UserError(f'{name}={image_size or IMAGE_SIZE}: larger than the '
                    f'images, which have {layout.height} x {layout.width} '
                    'pixels')
  return size


def distorted_inputs(data_dir=None, batch_size=None, data=None,
                     settings=Settings()):
  """Endless batches of distorted training images, shuffled anew each epoch.

  Args:
    data_dir: folder of CIFAR-10's files; it may be left out.
    batch_size: images in a batch.
    data: datasets.DataSet to read instead.
    settings: the distortions. With a seed, a single thread prepares the
      batches, so that they are the same in each run.

  Returns:
    images: float32, [batch_size, size, size, depth], each of mean 0 and
      variance 1.
    labels: int32, [batch_size].

  Raises:
    ValueError: a file of CIFAR-10 is missing.
  """
  data_dir, batch_size = _folder_and_size(data_dir, batch_size)
  data = data or _cifar10(data_dir, 'train_eval')
  # The tutorial's number, although the queue holds a whole epoch. (Departure:
  # no "This will take a few minutes", because it does not.)
  print(
      'Filling queue with %d %s images before starting to train.' %
      (data.examples_per_epoch * MIN_FRACTION_OF_EXAMPLES_IN_QUEUE, data.name))
  with tf.device('/cpu:0'), tf.name_scope('distorted_inputs'):
    records = shuffled_records(data, batch_size).dequeue()
    size = crop_size(data.layout, settings.image_size)
    labels = records_lib.labels(records, data.layout)
    with tf.control_dependencies([records_lib.assert_labels(labels, data)]):
      if distortions.are_changed(settings):
        images = distortions.distort(records, data, settings, size)
      else:
        count = tf.shape(records)[:1]
        # As tf.random_crop and tf.image.random_flip_left_right for one image.
        corner = [
            tf.random_uniform(count, 0, side - size + 1, dtype=tf.int32)
            for side in (data.layout.height, data.layout.width)
        ]
        flip = tf.random_uniform(count, 0, 2 if data.flip else 1, tf.int32)
        images = records_lib.crop(records, data.layout, size, corner, flip)
        # As tf.image.random_brightness and tf.image.random_contrast.
        per_image = tf.concat([count, [1, 1, 1]], 0)
        brightness = tf.random_uniform(per_image, -63, 63)
        contrast = tf.random_uniform(per_image, 0.2, 1.8)
        images = distortions.adjusted(images, brightness, contrast)
        images = tf.image.per_image_standardization(images)
    images.set_shape([batch_size, size, size, data.layout.depth])
    # Preprocessing threads: each crops, flips and distorts a batch at a time.
    is_seeded = settings.seed is not None
    images, labels = ready_batches(images, labels, batch_size,
                                   1 if is_seeded else NUM_PREPROCESS_THREADS)
    summaries.images_and_labels(images, labels, data.classes)
  return images, labels


def shuffled_records(data, batch_size):
  """A queue of batches of raw training records, shuffled anew each epoch.

      filename queue  -->  reader  -->  shuffle queue  -->  batches

  Returns a tf.FIFOQueue of uint8 [batch_size, record_bytes].
  """
  filenames, kept = data.files_to_train_on()
  filename_queue = tf.train.string_input_producer(filenames)
  in_queue = examples_in_queue(data, batch_size)

  def read(start, left):
    del start  # The reader keeps its place.
    at_most = _records_per_read(data.layout)
    # Small reads would take long to skip the part of a file that is left out.
    if not kept or in_queue < data.examples_per_epoch:
      at_most = tf.minimum(at_most, left)
    return read_records(filename_queue, data.layout, at_most, kept)

  return shuffle_queue.batches(read, (tf.uint8, [data.layout.record_bytes]),
                               in_queue, batch_size)


def examples_in_queue(data, batch_size):
  """The number of records that are shuffled together: an epoch, if it fits.

  For CIFAR-10, at most NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN. An exercise of the
  tutorial makes the queue smaller, so that the first step comes sooner.
  """
  most = _MAX_BYTES_IN_QUEUE // data.layout.record_bytes
  if data.classes in (datasets.CLASSES, datasets.numbered_classes(NUM_CLASSES)):
    most = min(most, NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN)
  return min(data.examples_per_epoch, max(batch_size, most))


def _records_per_read(layout):
  """Records that a reader takes at a time."""
  most = max(1, _MAX_BYTES_PER_READ // layout.record_bytes)
  return min(_RECORDS_PER_READ, most)


def ready_batches(images, labels, batch_size, num_threads):
  """Computes batches of at most `batch_size` images before they are needed.

  Up to `num_threads` threads do this, as far as memory allows. Takes and
  returns float32 images [batch, height, width, depth] and int32 labels [batch].
  """
  shape = images.shape
  image_bytes = 4 * shape[1:].num_elements()
  in_memory = max(1, _MAX_BYTES_READY // (batch_size * image_bytes))
  queue = tf.FIFOQueue(min(_READY_BATCHES, in_memory),
                       [images.dtype, labels.dtype], name='ready_batches')
  enqueue = queue.enqueue([images, labels])
  # Each thread holds a batch too.
  num_threads = min(num_threads, in_memory)
  shuffle_queue.fill(queue, enqueue, num_threads)
  images, labels = queue.dequeue()
  images.set_shape(shape)
  labels.set_shape(shape[:1])
  return images, labels


def inputs(eval_data, data_dir=None, batch_size=None, data=None,
           settings=Settings()):
  """Batches of undistorted images in the order of the files.

  Args:
    eval_data: True or 'test' for the test images, False or 'train_eval' for the
      training images.
    data_dir: folder of CIFAR-10's files; it may be left out.
    batch_size: images in a batch.
    data: datasets.DataSet to read instead, each image once: the last batch may
      be smaller, and tf.errors.OutOfRangeError follows it. None: CIFAR-10,
      again and again.
    settings: the size of the crops and their standardization.

  Returns:
    images: float32, [batch_size, size, size, depth]: the middle of each image,
      of mean 0 and variance 1 by default.
    labels: int32, [batch_size].

  Raises:
    ValueError: a file of CIFAR-10 is missing.
  """
  is_endless = data is None
  name = 'test' if eval_data in (True, 'test') else 'train_eval'
  data_dir, batch_size = _folder_and_size(data_dir, batch_size)
  data = data or _cifar10(data_dir, name)
  layout, size = data.layout, crop_size(data.layout, settings.image_size)
  with tf.device('/cpu:0'), tf.name_scope('inputs'):
    filename_queue = tf.train.string_input_producer(
        list(data.files(name)), num_epochs=None if is_endless else 1,
        shuffle=False)
    per_read = _records_per_read(layout)
    # Regroups the reads, which end with each file, into batches.
    queue = tf.FIFOQueue(batch_size + 2 * per_read, [tf.uint8],
                         [[layout.record_bytes]], name='batch')
    records = read_records(filename_queue, layout, per_read)
    shuffle_queue.fill(queue, queue.enqueue_many([records]))
    dequeue = queue.dequeue_many if is_endless else queue.dequeue_up_to
    records = dequeue(batch_size)
    images = distortions.central_crop(records, layout, size,
                                      settings.standardization)
    images.set_shape(
        [batch_size if is_endless else None, size, size, layout.depth])
    images, labels = ready_batches(images, records_lib.labels(records, layout),
                                   batch_size, num_threads=1)
    summaries.images_and_labels(images, labels, data.classes)
  return images, labels
