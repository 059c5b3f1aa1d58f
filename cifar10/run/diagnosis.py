"""Diagnosis of training that fails or stalls: the state of its input."""

import os
import time

import tensorflow.compat.v1 as tf

from cifar10.data import batches
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.run import watchdog
from cifar10.util import console

# Errors of the input hold one of these, see cifar10_input: behind `{{` or, on
# TensorFlow 1.15.5, `[[`; the second one if it is in a function of tf.data.
_IN_INPUT = ('node distorted_inputs/', '[[distorted_inputs/IteratorGetNext]]')

_READ_ERRORS = (tf.errors.DataLossError, tf.errors.NotFoundError,
                tf.errors.PermissionDeniedError)

_CHECK_SECS = 1  # Between looks at the sizes of the training files.


class InputDiagnosis(tf.train.SessionRunHook):
  """Looks at the input of a session that fails, or whose step does not end.

  A look at files may take forever where a network is gone, and one at the
  session where parameter servers do not answer: each has a time limit.
  """

  def __init__(self, data, reads_once):
    """Takes the datasets.DataSet; `reads_once` if no step needs its files."""
    self._data, self._reads_once = data, reads_once
    self.note_sizes()
    self._checked = time.monotonic()
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
        (part,) = op.outputs
        counts.append(tf.raw_ops.ReadVariableOp(resource=part, dtype=tf.int64))
    self._num_filled = tf.add_n(counts)

  def note_sizes(self):
    """Notes the sizes of the training files that are there."""
    paths = filter(os.path.exists, self._data.train_files)
    self._sizes = {path: os.path.getsize(path) for path in paths}

  def after_create_session(self, session, coord):
    self._session = session

  def after_run(self, run_context, run_values):
    now = time.monotonic()
    if now - self._checked >= _CHECK_SECS and not self._reads_once:
      self._checked = now
      self._check_sizes()

  def filled(self):
    """Number of images that the input has read ahead; -1 if unknown."""
    return self._count(self._num_filled)

  def missing(self):
    """Names what a step waits for; None if it is not the input."""
    if self._count(self._num_ready):
      return None
    folder = os.path.dirname(self._data.train_files[0])
    reason = self._damage() or f'no more come from {folder}'
    return f'training images: {reason}'

  def _count(self, number):
    """Computes a number in the session; -1 if it cannot, or takes too long."""

    def count():
      try:
        return self._session.run(number)
      except (RuntimeError, tf.errors.OpError):  # It is being made anew.
        return -1

    return watchdog.within(watchdog.LOOK_SECS, count, -1)

  def explain(self, error):
    """The cause of an error in words; None if it is the program itself."""
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
    """Raises UserError or OSError if a training file has changed or is gone.

    The reader skips missing records silently.
    """
    for path, before in self._sizes.items():
      now = os.path.getsize(path)
      if now != before:
        raise UserError(self._damage() or
                        f'{path}: found {now} bytes; expected {before}, as '
                        'when training began')

  def _damage(self):
    """The problem with the training files now; None if there is none."""
    return watchdog.within(watchdog.LOOK_SECS, self._check_files, None)

  def _check_files(self):
    for path in self._data.train_files:
      try:
        records.check_file(path, self._data.layout, len(self._data.classes))
      except (UserError, OSError) as error:
        return str(error)
    return None
