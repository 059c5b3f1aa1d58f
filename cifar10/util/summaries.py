"""Summaries: what TensorBoard shows of a run.

The operations of TensorFlow's own functions, with one difference: the tag is
what the caller says, whatever the name scope. So the operations can be in the
box of the graph that they belong to.
"""

import tensorflow.compat.v1 as tf

_IMAGES = 10


def scalar(tag, x):
  """Adds a scalar.

  Args:
    tag: tag of the summary.
    x: float scalar tensor.
  """
  _add(tf.raw_ops.ScalarSummary(tags=tag, values=x))


def histogram(tag, x):
  """Adds a histogram that passes over what is not a finite number.

  TensorFlow's own ends the session at the first NaN, with a message about a
  summary, before the loss can tell what happened.

  Args:
    tag: tag of the summary.
    x: float tensor.
  """
  x = tf.where(tf.is_finite(x), x, tf.zeros_like(x))
  _add(tf.raw_ops.HistogramSummary(tag=tag, values=x))


def images_and_labels(images, labels, classes):
  """Adds the first images of a batch, and a table of what they show.

  Args:
    images: float32 tensor, [batch, height, width, depth].
    labels: int32 tensor, [batch].
    classes: names of the classes, in the order of their labels.
  """
  _add(tf.raw_ops.ImageSummary(tag='images', tensor=images, max_images=_IMAGES))
  names = tf.gather(tf.constant(classes), labels[:_IMAGES])
  tags = tf.constant(['images/image/%d' % i for i in range(_IMAGES)])
  tags = tags[: tf.size(names)]
  metadata = tf.SummaryMetadata(
    plugin_data=tf.SummaryMetadata.PluginData(plugin_name='text')
  )
  _add(
    tf.raw_ops.TensorSummaryV2(
      tag='labels',
      tensor=tf.stack([tags, names], axis=1),
      serialized_summary_metadata=metadata.SerializeToString(),
    )
  )


def _add(summary):
  tf.add_to_collection(tf.GraphKeys.SUMMARIES, summary)
