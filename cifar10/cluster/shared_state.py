"""The state that the tasks of a cluster share, on the parameter servers.

Small variables and queues that are in no checkpoint. They have their own
container, where every task finds them by name: in the session that trains, and
in sessions beside it, which no training step delays.
"""

import contextlib
import json
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

_NAME = 'shared'  # Also a container, whose name may hold no underscore.


@contextlib.contextmanager
def _in_container(ps_index=0):
  """The device and the container of the shared state."""
  device = f'/job:ps/task:{ps_index}/cpu:0'
  with tf.device(device), tf.container(_NAME), tf.name_scope(None):
    yield


class Progress(NamedTuple):
  """int64 variables; `steps` and `staleness` have one element per worker."""

  steps: Any  # Steps that the worker has taken since the chief started.
  # Steps of others between reading the variables and having the gradients, in
  # the worker's last step.
  staleness: Any
  last_step: Any  # The global step at which all workers end; a scalar.
  is_to_end: Any  # 1 once a task asks the workers to end early; a scalar.

  @property
  def initializer(self):
    """The operation that the chief runs at its start."""
    return tf.group(*(variable.initializer for variable in self))

  def is_initialized(self):
    """A bool tensor, True once a chief has started with these servers.

    The chief initializes the Progress last, after the variables of its run.
    """
    with _in_container():
      return tf.reduce_all([tf.is_variable_initialized(v) for v in self])


def progress(task, last_step):
  """Builds, or finds, the Progress of the workers of a cluster.

  The chief initializes its last step with `last_step`.
  """
  zeros = [0] * len(task.workers)
  values = Progress(zeros, zeros, last_step, 0)
  with _in_container():
    return Progress(*(_variable(field, tf.constant(value, tf.int64))
                      for field, value in values._asdict().items()))


def _variable(name, value):
  return tf.Variable(value, trainable=False, collections=[],
                     name=f'{_NAME}/{name}')


class Notice:
  """A value that one task writes and others read, as JSON."""

  def __init__(self, name, ps_index=0):
    with _in_container(ps_index):
      self._text = _variable(name, '')
      self._exists = tf.identity(tf.is_variable_initialized(self._text))

  def write(self, session, value):
    self._text.load(json.dumps(value), session)

  def read(self, session):
    """The value written last; None if there is none."""
    if not session.run(self._exists):
      return None
    return json.loads(session.run(self._text).decode('utf-8'))


# What a worker tells the parameter servers.
JOINS, LEAVES, FAILS = range(3)  # It leaves with an error if it fails.


def membership_queue(ps_index):
  """The tf.FIFOQueue on a parameter server where workers join and leave.

  It holds pairs of int32: the worker's number, and what it tells.
  """
  with _in_container(ps_index):
    return tf.FIFOQueue(-1, [tf.int32, tf.int32], shapes=[[], []],
                        shared_name='messages')
