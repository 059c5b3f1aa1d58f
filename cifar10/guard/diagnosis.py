"""Diagnosis of training that fails or stalls: the state of its input."""

import os
import time

import tensorflow.compat.v1 as tf

from cifar10.data import records
from cifar10.errors import UserError
from cifar10.util import console
from cifar10.util import graph_keys
from cifar10.util import time_limits

# Errors of the input hold one of these, see cifar10_input: after `{{` or, on
# TensorFlow 1.15.5, `[[`; the second one if it is in a function of tf.data.
_IN_INPUT = (f'node {graph_keys.INPUT_SCOPE}/',
             f'[[{graph_keys.INPUT_SCOPE}/IteratorGetNext]]')

_READ_ERRORS = (tf.errors.DataLossError, tf.errors.NotFoundError,
                tf.errors.PermissionDeniedError)

_CHECK_SECS = 1  # Between checks of the sizes of the training files.
LOOK_SECS = 5  # Limit of the search for a cause.


class InputDiagnosis(tf.train.SessionRunHook):
  """Looks at the input of a session that fails, or whose step does not end.

  A check of files or of the session may take forever where a network or a
  parameter server is gone: each has a time limit.
  """

  def __init__(self, run):
    """Takes the trainer.Run whose graph is the default graph."""
    # The outputs of frozen layers are the input, if there are some.
    (source,) = tf.get_collection(graph_keys.FROZEN_LAYERS) or [run]
    self._data, self._sizes = source.data, {}
    self._reads_once = run.settings.input == 'preloaded'
    self._session, self._checked = None, time.monotonic()
    # The last queue of the input is the one that steps take batches from.
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    self._num_ready = runners[-1].queue.size() if runners else tf.constant(1)

  def after_create_session(self, session, coord):
    self._session = session
    if not self._sizes:
      paths = filter(os.path.exists, self._data.train_files)
      self._sizes = {path: os.path.getsize(path) for path in paths}

  def after_run(self, run_context, run_values):
    now = time.monotonic()
    if now - self._checked >= _CHECK_SECS and not self._reads_once:
      self._checked = now
      self._check_sizes()

  def missing(self):
    """Names the images that a step waits for; None if it has its images."""

    def count():
      try:
        return self._session.run(self._num_ready)
      except (RuntimeError, tf.errors.OpError):  # It is being made anew.
        return -1

    if time_limits.within(LOOK_SECS, count, -1):
      return None
    folder = os.path.dirname(self._data.train_files[0])
    reason = self._damage() or f'no more come from {folder}'
    return f'training images: {reason}'

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
    return time_limits.within(LOOK_SECS, self._check_files, None)

  def _check_files(self):
    for path in self._data.train_files:
      try:
        records.check_file(path, self._data.layout, len(self._data.classes))
      except (UserError, OSError) as error:
        return str(error)
    return None
