"""Ranks of labels: classes in the order of their outputs, ties by their index.

`tf.nn.in_top_k` takes every class of a tie for the first one, so that a dead
network, whose outputs are all equal, would always be right.
"""

import numpy as np
import tensorflow.compat.v1 as tf


def in_top_k(logits, labels, k):
  """True for labels among the k classes with the largest logits: bool, [batch].

  Takes float32 logits, [batch, classes], and int32 labels, [batch]; k may be
  larger than the number of classes. With k = 1 it is argmax. A label that is
  not a class is never right, nor is one of a row that holds infinity or NaN.
  """
  best = tf.nn.top_k(logits, tf.minimum(k, tf.shape(logits)[1])).indices
  is_right = tf.reduce_any(tf.equal(best, labels[:, tf.newaxis]), axis=1)
  return is_right & tf.reduce_all(tf.is_finite(logits), axis=1)


def count_right(outputs, labels):
  """Number of rows of float outputs [n, classes] largest at their int labels.

  Ties and rows that are not finite are as in `in_top_k`.
  """
  is_finite = np.isfinite(outputs).all(axis=1)
  return int((is_finite & (outputs.argmax(axis=1) == labels)).sum())
