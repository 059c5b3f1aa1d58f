"""Writes an event file, which TensorBoard displays."""

import contextlib
import os
import socket
import time

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import console


class EventFile:
  """An event file that is written to at once; a context manager.

  Not tf.summary.FileWriter: its thread writes later, and when the disk is full
  it logs lines of its own and loses events without an error.
  """

  def __init__(self, directory):
    """Opens a new file in `directory`, which is made if it is missing.

    Raises:
      OSError: the directory cannot be made.
      UserError: the file cannot be written.
    """
    os.makedirs(directory, exist_ok=True)
    # The process, because two may start within a second.
    name = 'events.out.tfevents.%010d.%s.%d' % (
      time.time(),
      socket.gethostname(),
      os.getpid(),
    )
    self._path = os.path.join(directory, name)
    with self._naming_the_file():
      self._records = tf.python_io.TFRecordWriter(self._path)
    self._write(tf.Event(file_version='brain.Event:2'))

  def __enter__(self):
    return self

  def __exit__(self, *error):
    with contextlib.suppress(tf.errors.OpError):  # Each event is written.
      self._records.close()

  def add_graph(self, graph):
    """Adds a tf.Graph."""
    definition = graph.as_graph_def(add_shapes=True)
    self._write(tf.Event(graph_def=definition.SerializeToString()))

  def add_summary(self, summary, step):
    """Adds a summary.

    Args:
      summary: tf.Summary, or its bytes.
      step: global step that it belongs to.

    Raises:
      UserError: the file cannot be written.
    """
    if isinstance(summary, bytes):
      summary = tf.Summary.FromString(summary)
    self._write(tf.Event(summary=summary, step=step))

  def _write(self, event):
    event.wall_time = time.time()
    with self._naming_the_file():
      self._records.write(event.SerializeToString())
      self._records.flush()

  @contextlib.contextmanager
  def _naming_the_file(self):
    try:
      yield
    except tf.errors.OpError as error:
      raise UserError(
        '%s: cannot be written: %s' % (self._path, console.summary(error))
      ) from error
