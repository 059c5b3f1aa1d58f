"""Runs tensors of the default graph, for tests."""

import tensorflow.compat.v1 as tf


def session():
  """A session of the default graph, whose variables are initialized."""
  found = tf.Session()
  found.run(tf.global_variables_initializer())
  return found


def run(tensors, feed=None):
  """The values of tensors in a session of their own, variables initialized."""
  with session() as opened:
    return opened.run(tensors, feed)


def read_frozen(path):
  """The GraphDef in the file of a frozen graph."""
  graph_def = tf.GraphDef()
  with open(str(path), 'rb') as content:
    graph_def.ParseFromString(content.read())
  return graph_def


def run_frozen(graph_def, given, output='probabilities'):
  """Runs a frozen graph with {name of an input: value}."""
  given = {name + ':0': value for name, value in given.items()}
  with tf.Graph().as_default(), tf.Session() as session:
    tf.import_graph_def(graph_def, name='')
    return session.run(output + ':0', given)


def trained():
  """The trainable variables of the default graph, by their names."""
  return {v.op.name: v for v in tf.trainable_variables()}
