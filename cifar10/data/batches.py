"""The inputs besides the queues: --input=preloaded and --input=tf_data."""

import tensorflow.compat.v1 as tf

from cifar10.data import records as records_lib
from cifar10.data import shuffle_queue

_READ_BYTES = 1 << 18


def preloaded(data, batch_size, alternating):
  """Endless batches of records from one variable, shuffled anew each epoch.

  Returns uint8 [batch_size, layout.record_bytes]; and if `alternating`, int32
  [batch_size], 1 for the images to flip, else 0; otherwise None.
  """
  paths, kept = data.files_to_train_on()
  parts = [
      records_lib.decode([tf.read_file(path)], data.layout)[:kept.get(path)]
      for path in paths
  ]
  # The number of records is known only when the files are read.
  all_records = _local(tf.concat(parts, 0), name='preloaded',
                       validate_shape=False)
  all_records.set_shape([None, data.layout.record_bytes])
  num_examples = data.examples_per_epoch
  if alternating:  # The first epoch flips at random.
    flips = _local(lambda: tf.random_uniform([num_examples], 0, 2, tf.int32),
                   name='flips')

  def read_epoch(start, left):
    numbers = tf.range(start, start + left)  # All at once: the start is 0.
    if not alternating:
      return numbers
    # The next epoch mirrors each image that this one does not, and the other
    # way round: Jordan, arXiv 2404.00498, section 3.6.
    flip = flips.read_value()
    with tf.control_dependencies([flip]):
      swapped = tf.assign(flips, 1 - flip)
    with tf.control_dependencies([swapped]):
      return 2 * numbers + tf.identity(flip)

  drawn = shuffle_queue.batches(read_epoch, (tf.int32, []), num_examples,
                                batch_size).dequeue()
  if not alternating:
    return tf.gather(all_records, drawn), None
  return tf.gather(all_records, drawn // 2), drawn % 2


def _local(initial_value, **options):
  """A variable that each session initializes, in no checkpoint."""
  return tf.Variable(initial_value, trainable=False,
                     collections=[tf.GraphKeys.LOCAL_VARIABLES], **options)


def tf_data(data, epoch_size, batch_size, decode, num_threads):
  """Endless batches of decoded records, by tf.data.

  Shuffles `epoch_size` records together. Returns the tuple of tensors of
  `decode`, a function of uint8 records, [batch_size, layout.record_bytes].
  """
  paths, kept = data.files_to_train_on()
  counts = tf.constant([kept.get(path, -1) for path in paths], tf.int64)
  files = tf.data.Dataset.from_tensor_slices((tf.constant(paths), counts))
  files = files.shuffle(len(paths))

  @tf.autograph.experimental.do_not_convert
  def read(path, count):
    return tf.data.FixedLengthRecordDataset(path, data.layout.record_bytes,
                                            buffer_size=_READ_BYTES).take(count)

  records = files.flat_map(read)
  records = records.shuffle(epoch_size).repeat()
  records = records.batch(batch_size, drop_remainder=True)
  seed = tf.get_default_graph().seed

  @tf.autograph.experimental.do_not_convert
  def decode_strings(values):
    # A function has a graph, and TensorFlow warns if the seeds are the same.
    tf.set_random_seed(None if seed is None else seed + 1)
    return decode(records_lib.decode(values, data.layout))

  batches = records.map(
      decode_strings,
      num_parallel_calls=num_threads if num_threads > 1 else None)
  iterator = tf.data.make_initializable_iterator(batches)
  # A session runs these initializers with those of the local variables.
  tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
  return iterator.get_next()
