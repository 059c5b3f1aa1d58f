"""Weights that training keeps at zero, or within a norm."""

import tensorflow.compat.v1 as tf

from cifar10.util import graph_keys


def without_zeros(gradients):
  """Gradients without those of weights that are zero, so that these stay.

  Han et al., "Learning both Weights and Connections for Efficient Neural
  Networks", arXiv 1506.02626.
  """
  weights = {v.op.name for v in _trained()}
  return [
    (gradient * tf.to_float(tf.not_equal(variable, 0)), variable)
    if variable.op.name in weights
    else (gradient, variable)
    for gradient, variable in gradients
  ]


def limit_norms(max_norm):
  """Operations that limit the norm of the weights of each unit; 0: none.

  Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
  Overfitting", 2014, section 5.1. They are in the collection MAX_NORM, too.
  """
  for var in _trained() if max_norm else ():
    # The last axis is that of the units; the first ones of a locally connected
    # layer are positions, each with units of its own.
    rank = var.shape.rank
    axes = list(range(max(0, rank - 4), rank - 1))
    with tf.colocate_with(var):
      limited = tf.clip_by_norm(var.read_value(), max_norm, axes)
      tf.add_to_collection(graph_keys.MAX_NORM, tf.assign(var, limited))
  return tf.get_collection(graph_keys.MAX_NORM)


def _trained():
  """The weights of all layers that are not frozen; parts of a whole count."""
  trained = {v.op.name for v in tf.trainable_variables()}
  return [
    part
    for var in tf.get_collection(tf.GraphKeys.WEIGHTS)
    for part in ([var] if isinstance(var, tf.Variable) else var)
    if part.op.name in trained
  ]
