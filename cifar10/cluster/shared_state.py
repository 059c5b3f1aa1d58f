"""The state that the tasks of a cluster share, on the parameter servers.

Small variables and queues that are in no checkpoint. They have their own
container, where every task finds them by name: in the session that trains, and
in sessions beside it, which no training step delays.
"""

import contextlib
import json
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

_NAME = 'shared'  # Letters only: TensorFlow allows no underscore.


@contextlib.contextmanager
def _in_container(ps_index=0):
  """The device and the container of the shared state."""
  device = '/job:ps/task:%d/cpu:0' % ps_index
  with tf.device(device), tf.container(_NAME), tf.name_scope(None):
    yield


class Progress(NamedTuple):
  """How far the workers are: int64 variables, an element for each worker.

  Attributes:
    steps: steps that the worker has taken since the chief started.
    staleness: for the worker's last step, how many steps others took after it
      read the variables and before it had its gradients.
    last_step: the global step at which all workers end; a scalar.
  """

  steps: Any
  staleness: Any
  last_step: Any

  @property
  def initializer(self):
    """The operation that the chief runs at its start."""
    return tf.group(*(variable.initializer for variable in self))

  def is_initialized(self):
    """A bool tensor: whether a chief has started with these servers.

    The chief initializes the Progress last, after the variables of its run.
    """
    with _in_container():
      return tf.reduce_all([tf.is_variable_initialized(v) for v in self])


def progress(task, last_step):
  """Builds, or finds, the Progress of the workers of a cluster.

  Args:
    task: cluster_spec.Task.
    last_step: what the chief initializes it with.
  """
  zeros = [0] * len(task.workers)
  with _in_container():
    return Progress(
      *(
        tf.Variable(
          tf.constant(value, tf.int64),
          trainable=False,
          collections=[],
          name='%s/%s' % (_NAME, field),
        )
        for field, value in zip(Progress._fields, (zeros, zeros, last_step))
      )
    )


class Notice:
  """A text that one task writes and the others read."""

  def __init__(self, name):
    with _in_container():
      self._text = tf.Variable(
        '', trainable=False, collections=[], name='%s/%s' % (_NAME, name)
      )
      self._new_text = tf.placeholder(tf.string, [])
      self._write = tf.assign(self._text, self._new_text)
      exists = tf.is_variable_initialized(self._text)
      self._exists = tf.identity(exists)

  def write(self, session, value):
    """Writes `value`, anything that JSON can hold."""
    session.run(self._write.op, {self._new_text: json.dumps(value)})

  def read(self, session):
    """The value written last; None if there is none."""
    if not session.run(self._exists):
      return None
    return json.loads(session.run(self._text).decode('utf-8'))


def left(ps_index):
  """The queue on a parameter server where workers say that they leave.

  A worker adds its number. If it is started again it joins, and adds the
  complement, `~number`.

  Args:
    ps_index: which parameter server; each has a queue.

  Returns:
    tf.FIFOQueue of int32 scalars.
  """
  with _in_container(ps_index):
    return tf.FIFOQueue(-1, [tf.int32], shapes=[[]], shared_name='left')
