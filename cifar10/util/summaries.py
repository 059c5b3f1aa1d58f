"""Summaries, which TensorBoard displays, and the file that holds them.

Unlike tf.summary, these functions do not prefix tags with the name scope; like
it, they number a tag that is in the graph already.
"""

import contextlib
import itertools
import os
import socket
import time

import tensorflow.compat.v1 as tf

from cifar10.util import console

_MAX_IMAGES = 10


def scalar(tag, x):
  """Adds a summary of a float scalar to the collection of summaries."""
  _add(tf.raw_ops.ScalarSummary(tags=_unique(tag), values=x))


def histogram(tag, x):
  """Adds a histogram in which values that are not finite count as zero."""
  # At the first NaN, TensorFlow's own raises an error, before the check of the
  # loss can report that training diverged.
  x = tf.where(tf.is_finite(x), x, tf.zeros_like(x))
  _add(tf.raw_ops.HistogramSummary(tag=_unique(tag), values=x))


def images_and_labels(images, labels, classes):
  """Adds the first images of a batch, and a table of their class names.

  Takes float32 [batch, height, width, depth], int32 [batch], and names.
  """
  tag, of_labels = _unique('images'), _unique('labels')
  _add(tf.raw_ops.ImageSummary(tag=tag, tensor=images, max_images=_MAX_IMAGES))
  names = tf.gather(tf.constant(classes), labels[:_MAX_IMAGES])
  tags = tf.constant([f'{tag}/image/{i}' for i in range(_MAX_IMAGES)])
  tags = tags[:tf.size(names)]
  metadata = tf.SummaryMetadata(plugin_data={'plugin_name': 'text'})
  _add(
      tf.raw_ops.TensorSummaryV2(
          tag=of_labels, tensor=tf.stack([tags, names], axis=1),
          serialized_summary_metadata=metadata.SerializeToString()))


def _unique(tag):
  """The tag, numbered if an old program has it too: one tag is one summary."""
  with tf.name_scope(None):
    return tf.get_default_graph().unique_name(tag)


def _add(summary):
  tf.add_to_collection(tf.GraphKeys.SUMMARIES, summary)


_numbers = itertools.count()  # Of the event files of this process.


class EventFile(contextlib.AbstractContextManager):
  """A file of events that is written to at once; a context manager.

  Not tf.summary.FileWriter: its thread writes later, and loses events without
  an error when the disk is full. Here every method raises UserError then.
  """

  def __init__(self, directory):
    """Opens a new file in `directory`, which is made if it is missing."""
    os.makedirs(directory, exist_ok=True)
    # Two processes, or one process twice, may begin within a second.
    name = 'events.out.tfevents.%010d.%s.%d.%d' % (
        time.time(), socket.gethostname(), os.getpid(), next(_numbers))
    path = os.path.join(directory, name)
    self._problem = f'{path}: cannot be written'
    with console.naming(self._problem):
      self._records = tf.python_io.TFRecordWriter(path)
    self._write(tf.Event(file_version='brain.Event:2'))

  def __exit__(self, *error):
    with contextlib.suppress(tf.errors.OpError):  # Each event is written.
      self._records.close()

  def add_graph(self, graph):
    definition = graph.as_graph_def(add_shapes=True)
    self._write(tf.Event(graph_def=definition.SerializeToString()))

  def add_start(self, step):
    """Notes a session's start: TensorBoard drops older events from there on."""
    log = tf.SessionLog(status=tf.SessionLog.START)
    self._write(tf.Event(session_log=log, step=step))

  def add_summary(self, summary, step):
    """Adds a tf.Summary, or its bytes, of a global step."""
    if isinstance(summary, bytes):
      summary = tf.Summary.FromString(summary)
    self._write(tf.Event(summary=summary, step=step))

  def _write(self, event):
    event.wall_time = time.time()
    with console.naming(self._problem):
      self._records.write(event.SerializeToString())
      self._records.flush()
