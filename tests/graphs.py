"""Runs tensors of the default graph, for tests."""

import tensorflow.compat.v1 as tf


def run(tensors, feed=None):
  """The values of tensors in a session of their own, variables initialized."""
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    return session.run(tensors, feed)


def trained():
  """The trainable variables of the default graph, by their names."""
  return {v.op.name: v for v in tf.trainable_variables()}
