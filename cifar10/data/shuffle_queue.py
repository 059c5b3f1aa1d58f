"""A queue that shuffles whole epochs."""

import tensorflow.compat.v1 as tf

_RAW_BATCHES = 4


class _QueueRunner(tf.train.QueueRunner):
  """Closes its queue after an error, so that nobody waits for more."""

  def _run(self, sess, enqueue_op, coord=None):
    try:
      super()._run(sess, enqueue_op, coord)
    except tf.errors.OpError:  # Raised only without a coordinator.
      sess.run(self.close_op)
      raise


def fill(queue, enqueue, num_threads=1):
  """Has threads of the session run `enqueue` until the queue is closed."""
  ended = tf.errors.OutOfRangeError, tf.errors.CancelledError
  tf.train.add_queue_runner(
      _QueueRunner(queue, [enqueue] * num_threads,
                   queue_closed_exception_types=ended))


def batches(read, element, epoch_size, batch_size):
  """A queue of batches of elements, epoch after epoch, shuffled.

  A RandomShuffleQueue draws at random from what it holds. To shuffle a whole
  epoch it must hold the whole epoch, so one thread takes turns:

                         shuffle queue            raw batches

      1. fill:   read    -->  |||||||||||||  one epoch
      2. empty:               |||||||||||||  -->  batch, batch, ..
      3. again:  read    -->  |  fewer than a batch are left, and go into the
                                 next epoch

  Each turn is a single operation of the graph, with two loops in it; its queue
  runner repeats it. Meanwhile training continues with the batches drawn before.

  Args:
    read: function of two int32 tensors, the numbers of elements of the epoch
      that have been read and that are left; returns the next ones, any number.
    element: type and shape of an element.
    epoch_size: number of elements that are shuffled together.

  Returns a tf.FIFOQueue with elements of [batch_size, ...].
  """
  dtype, shape = element
  queue = tf.RandomShuffleQueue(epoch_size + batch_size, 0, [dtype], [shape],
                                name='shuffle_queue')
  raw_batches = tf.FIFOQueue(_RAW_BATCHES, [dtype],
                             shapes=[[batch_size, *shape]], name='raw_batches')

  def read_some(num_read):
    elements = read(num_read, epoch_size - num_read)
    with tf.control_dependencies([queue.enqueue_many([elements])]):
      return num_read + tf.shape(elements)[0]

  def draw_batch(num_left):
    batch = queue.dequeue_many(batch_size)
    with tf.control_dependencies([raw_batches.enqueue([batch])]):
      return num_left - batch_size

  one_by_one = {'parallel_iterations': 1, 'back_prop': False}
  filled = tf.while_loop(lambda n: n < epoch_size, read_some, [tf.constant(0)],
                         **one_by_one)
  with tf.control_dependencies([filled]):
    num_left = queue.size()
  emptied = tf.while_loop(lambda n: n >= batch_size, draw_batch, [num_left],
                          **one_by_one)
  fill(raw_batches, emptied.op)
  return raw_batches
