"""Why training does not go on: what has happened to its input."""

import os
import time

import tensorflow.compat.v1 as tf

from cifar10.data import batches
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.run import watchdog
from cifar10.util import console

# What an error says of an operation of the input, see cifar10_input; the second
# one of an operation in a function of tf.data.
_IN_INPUT = ('{{node distorted_inputs/', '[[distorted_inputs/IteratorGetNext]]')

_READ_ERRORS = (
  tf.errors.DataLossError,
  tf.errors.NotFoundError,
  tf.errors.PermissionDeniedError,
)

_CHECK_SECS = 1  # Between looks at the sizes of the training files.


class InputDiagnosis(tf.train.SessionRunHook):
  """Looks at the input of a session that fails, or whose step does not end."""

  def __init__(self, data, reads_once):
    """Notes the sizes of the files.

    Args:
      data: datasets.DataSet that the input reads.
      reads_once: whether it needs no file once it has begun.
    """
    self._data = data
    self._reads_once = reads_once
    self.note_sizes()
    self._checked = time.monotonic()
    self._session = None

  def note_sizes(self):
    """Notes the sizes of the training files that are there."""
    self._sizes = {
      path: os.path.getsize(path)
      for path in self._data.train_files
      if os.path.exists(path)
    }

  def begin(self):
    # The last queue of the input is the one that steps take batches from.
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    self._num_ready = runners[-1].queue.size() if runners else tf.constant(1)
    # Others tell how much is read ahead, for as long as it takes to read it.
    counts = [tf.constant(0, tf.int64)]
    for op in tf.get_default_graph().get_operations():
      if op.name.endswith('distorted_inputs/shuffle_queue'):
        size = tf.raw_ops.QueueSizeV2(handle=op.outputs[0])
        counts.append(tf.cast(size, tf.int64))
      elif op.name.endswith('distorted_inputs/' + batches.PARTS):
        counts.append(
          tf.raw_ops.ReadVariableOp(resource=op.outputs[0], dtype=tf.int64)
        )
    self._num_filled = tf.add_n(counts)

  def after_create_session(self, session, coord):
    self._session = session

  def after_run(self, run_context, run_values):
    now = time.monotonic()
    if now - self._checked >= _CHECK_SECS and not self._reads_once:
      self._checked = now
      self._check_sizes()

  def filled(self):
    """How much the input has read ahead; -1 if it does not tell."""
    return watchdog.within(
      watchdog.LOOK_SECS, self._count(self._num_filled), -1
    )

  def missing(self):
    """What a step waits for, a str; None if it is not the input."""
    if watchdog.within(watchdog.LOOK_SECS, self._count(self._num_ready), 1):
      return None
    folder = os.path.dirname(self._data.train_files[0])
    nothing = 'no more come from %s' % folder
    return 'training images: %s' % (self._damage() or nothing)

  def _count(self, number):
    """A function that computes a number in the session; -1 if it cannot.

    It never returns if parameter servers do not answer.
    """

    def count():
      try:
        return self._session.run(number)
      except (RuntimeError, tf.errors.OpError):  # It is being made anew.
        return -1

    return count

  def explain(self, error):
    """What has caused an error: a str, or None if it is the program itself."""
    if isinstance(error, (UserError, OSError)):
      return str(error)
    if isinstance(error, tf.errors.DeadlineExceededError):
      return 'a step has taken longer than --operation_timeout_ms'
    if not isinstance(error, tf.errors.OpError):
      return None
    in_input = any(text in error.message for text in _IN_INPUT)
    if in_input or isinstance(error, _READ_ERRORS):
      return self._damage() or console.summary(error)
    return None

  def _check_sizes(self):
    """Checks that the training files have the sizes of the start.

    The reader passes over what is missing without a word.

    Raises:
      UserError: names the first file that has another one.
      OSError: a file is missing.
    """
    for path, before in self._sizes.items():
      now = os.path.getsize(path)
      if now != before:
        raise UserError(
          self._damage()
          or '%s: found %d bytes; expected %d, as when training began'
          % (path, now, before)
        )

  def _damage(self):
    """What is wrong with the training files now; None if nothing is.

    Reading them may take forever, where a network is gone.
    """
    return watchdog.within(watchdog.LOOK_SECS, self._check_files, None)

  def _check_files(self):
    for path in self._data.train_files:
      try:
        records.check_file(path, self._data.layout, len(self._data.classes))
      except (UserError, OSError) as error:
        return str(error)
    return None
