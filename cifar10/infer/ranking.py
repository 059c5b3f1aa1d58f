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
  labels = labels[:, tf.newaxis]
  classes = tf.range(tf.shape(logits)[1])
  is_label = tf.equal(classes, labels)
  of_label = tf.reduce_sum(tf.where(is_label, logits, tf.zeros_like(logits)),
                           axis=1, keepdims=True)
  is_ahead = (logits > of_label) | (tf.equal(logits, of_label) &
                                    (classes < labels))
  rank = tf.reduce_sum(tf.cast(is_ahead, tf.int32), axis=1)
  is_known = tf.reduce_any(is_label, axis=1)
  return (rank < k) & is_known & tf.reduce_all(tf.is_finite(logits), axis=1)


def count_right(outputs, labels):
  """Number of rows of float outputs [n, classes] largest at their int labels.

  Ties and rows that are not finite are as in `in_top_k`.
  """
  is_finite = np.isfinite(outputs).all(axis=1)
  return int((is_finite & (outputs.argmax(axis=1) == labels)).sum())
