"""Summaries, which TensorBoard displays.

Unlike tf.summary, these functions do not prefix tags with the name scope, so
that a summary operation can be in the scope of the graph that it belongs to.
"""

import contextlib

import tensorflow.compat.v1 as tf

_MAX_IMAGES = 10


def precision_tag(top_k=1, eval_data='test', averaged=True, tta=False):
  """The tag of a precision that the evaluator finds.

  The tutorial's tag, 'Precision @ 1', stands for the test images and the moving
  averages; the tags of other evaluations say how they differ.

  Args:
    top_k: among how many most probable classes the right one must be.
    eval_data: 'test'; 'train_eval' for the training images; or 'validation' for
      those that are held out.
    averaged: whether the model uses the moving averages of its variables.
    tta: whether it sees mirrored and shifted copies of each image.
  """
  tag = 'Precision @ %d' % top_k
  if eval_data != 'test':
    kind = {'train_eval': 'training', 'validation': 'held-out'}[eval_data]
    tag += ', %s images' % kind
  if not averaged:
    tag += ', variables without averages'
  return tag + ', mirrored and shifted copies' if tta else tag


def scalar(tag, x):
  """Adds a summary of a scalar to the collection of summaries.

  Args:
    tag: tag of the summary.
    x: float scalar tensor.
  """
  _add(tf.raw_ops.ScalarSummary(tags=tag, values=x))


def histogram(tag, x):
  """Adds a histogram in which values that are not finite count as zero.

  TensorFlow's own histogram raises an error at the first NaN, before the check
  of the loss can report that training diverged.

  Args:
    tag: tag of the summary.
    x: float tensor.
  """
  x = tf.where(tf.is_finite(x), x, tf.zeros_like(x))
  _add(tf.raw_ops.HistogramSummary(tag=tag, values=x))


def images_and_labels(images, labels, classes):
  """Adds the first images of a batch, and a table of their class names.

  Args:
    images: float32 tensor, [batch, height, width, depth].
    labels: int32 tensor, [batch].
    classes: names of the classes, in the order of their labels.
  """
  _add(
    tf.raw_ops.ImageSummary(tag='images', tensor=images, max_images=_MAX_IMAGES)
  )
  names = tf.gather(tf.constant(classes), labels[:_MAX_IMAGES])
  tags = tf.constant(['images/image/%d' % i for i in range(_MAX_IMAGES)])
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


@contextlib.contextmanager
def dropped():
  """Drops the summaries that the body adds."""
  summaries = tf.get_collection_ref(tf.GraphKeys.SUMMARIES)
  before = list(summaries)
  yield
  summaries[:] = before


def _add(summary):
  tf.add_to_collection(tf.GraphKeys.SUMMARIES, summary)
