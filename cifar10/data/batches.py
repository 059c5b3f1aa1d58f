"""Two ways from records on disk to batches, besides the queues.

TensorFlow's guides call them "preloaded data" and "tf.data".
"""

import tensorflow.compat.v1 as tf

from cifar10.data import records as records_lib
from cifar10.data import shuffle_queue

_READ_BYTES = 1 << 18

# The variable that counts what `batches_by_tf_data` has read.
PARTS = 'parts_read'


def batches_of_preloaded(data, batch_size, alternating):
  """Endless batches of records from one variable, shuffled anew each epoch.

  Args:
    data: datasets.DataSet.
    batch_size: number of records in a batch.
    alternating: whether to say which images to flip.

  Returns:
    records: uint8 tensor, [batch_size, layout.record_bytes].
    flip: int32 tensor, [batch_size], of 0 and 1; None if not `alternating`.
  """
  all_records, num_examples = preloaded(data), data.examples_per_epoch
  flips = alternating_flips(num_examples) if alternating else None

  def read_epoch(start, left):
    # All at once, so it starts at 0.
    numbers = tf.range(start, start + left)
    return 2 * numbers + flips() if alternating else numbers

  drawn = shuffle_queue.batches(
    read_epoch, (tf.int32, []), num_examples, batch_size
  ).dequeue()
  if not alternating:
    return tf.gather(all_records, drawn), None
  return tf.gather(all_records, drawn // 2), drawn % 2


def preloaded(data):
  """All records to train on, in one variable.

  Args:
    data: datasets.DataSet.

  Returns:
    tf.Variable, uint8 [n, layout.record_bytes]. It is local: each session reads
    the files at its start, and no checkpoint holds it.
  """
  paths, kept = data.files_to_train_on()
  parts = [
    records_lib.decode([tf.read_file(path)], data.layout)[: kept.get(path)]
    for path in paths
  ]
  return tf.Variable(
    tf.concat(parts, 0),
    trainable=False,
    collections=[tf.GraphKeys.LOCAL_VARIABLES],
    # Its shape is known only when the files are read.
    validate_shape=False,
    name='preloaded',
  )


def alternating_flips(num_examples):
  """Which images to flip: at random first, then every other time.

  So two epochs together show each image both ways: Jordan, arXiv 2404.00498,
  section 3.6.

  Args:
    num_examples: how many images there are.

  Returns:
    Function that makes an operation for the next epoch: int32 tensor,
    [num_examples], of 0 and 1.
  """
  flips = tf.Variable(
    lambda: tf.random_uniform([num_examples], 0, 2, tf.int32),
    trainable=False,
    collections=[tf.GraphKeys.LOCAL_VARIABLES],
    name='flips',
  )

  def next_epoch():
    flip = flips.read_value()
    with tf.control_dependencies([flip]):
      update = tf.assign(flips, 1 - flip)
    with tf.control_dependencies([update]):
      return tf.identity(flip)

  return next_epoch


def batches_by_tf_data(data, epoch_size, batch_size, decode, num_threads):
  """Endless batches of decoded records, by tf.data.

  Args:
    data: datasets.DataSet.
    epoch_size: how many records are shuffled together.
    batch_size: number of records in a batch.
    decode: function of uint8 records, [batch_size, layout.record_bytes], that
      returns a tuple of tensors.
    num_threads: how many batches are decoded at the same time.

  Returns:
    Tensors as `decode` returns them: the next batch, whenever they run.
  """
  paths, kept = data.files_to_train_on()
  counts = tf.constant([kept.get(path, -1) for path in paths], tf.int64)
  files = tf.data.Dataset.from_tensor_slices((tf.constant(paths), counts))
  records = (
    files.shuffle(len(paths))
    .flat_map(_counting_reader(data.layout.record_bytes))
    .shuffle(epoch_size)
    .repeat()
    .batch(batch_size, drop_remainder=True)
  )
  seed = tf.get_default_graph().seed

  def decode_strings(values):
    # A function has a graph, and TensorFlow warns if the seeds are the same.
    tf.set_random_seed(None if seed is None else seed + 1)
    return decode(records_lib.decode(values, data.layout))

  batches = records.map(
    decode_strings, num_parallel_calls=num_threads if num_threads > 1 else None
  )
  iterator = tf.data.make_initializable_iterator(batches)
  # With the local variables, at the start of each session.
  tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
  return iterator.get_next()


def _counting_reader(record_bytes):
  """Reads files in parts, and counts these in the variable `PARTS`.

  So the watchdog can tell an input that reads from one that hangs.

  Args:
    record_bytes: size of a record.

  Returns:
    Function of the path of a file and the number of records to read, -1 for
    all, that returns a tf.data.Dataset of strings.
  """
  per_part = max(1, _READ_BYTES // record_bytes)
  parts_read = tf.Variable(
    tf.constant(0, tf.int64),
    trainable=False,
    collections=[tf.GraphKeys.LOCAL_VARIABLES],
    use_resource=True,  # Functions of tf.data take no other.
    name=PARTS,
  )

  def counted(values):
    with tf.control_dependencies([parts_read.assign_add(1).op]):
      return tf.identity(values)

  def read(path, count):
    records = tf.data.FixedLengthRecordDataset(
      path, record_bytes, buffer_size=_READ_BYTES
    ).take(count)
    parts = records.batch(per_part).map(counted)
    return parts.flat_map(tf.data.Dataset.from_tensor_slices)

  return read
