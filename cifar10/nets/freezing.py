"""Variables that stay as they are while others are trained."""

import re

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import graph_keys


def custom_getter(pattern):
  """A custom getter of a variable scope, which makes variables untrained.

  Frozen variables are part of the collections FROZEN and MODEL_VARIABLES.

  Args:
    pattern: regular expression for the beginning of a variable's name; empty
      for none.

  Returns:
    A function as tf.variable_scope takes it, or None.
  """
  if not pattern:
    return None

  def get(getter, name, *args, **kwargs):
    # What is not trained anyway needs no freezing.
    is_trained = kwargs.get('trainable') is not False
    if not (is_trained and re.match(pattern, name)):
      return getter(name, *args, **kwargs)
    variable = getter(name, *args, **dict(kwargs, trainable=False))
    # A partitioned variable is a sequence of its parts.
    parts = [variable] if isinstance(variable, tf.Variable) else list(variable)
    for collection in (graph_keys.FROZEN, tf.GraphKeys.MODEL_VARIABLES):
      known = {v.op.name for v in tf.get_collection(collection)}
      for part in parts:
        if part.op.name not in known:
          tf.add_to_collection(collection, part)
    return variable

  return get


def check(pattern):
  """Checks that some variables of the default graph are frozen, and not all.

  Args:
    pattern: that of --freeze; empty if none should be.

  Raises:
    UserError: none is, or nothing is left to train.
  """
  if not pattern:
    return
  for names, problem in (
    (tf.get_collection(graph_keys.FROZEN), 'no variable begins like that'),
    (tf.trainable_variables(), 'nothing is left to train'),
  ):
    if not names:
      trained = tf.trainable_variables() + tf.get_collection(graph_keys.FROZEN)
      layers = {variable.op.name.split('/')[0] for variable in trained}
      raise UserError(
        '--freeze=%s: %s; the layers are %s'
        % (pattern, problem, ', '.join(sorted(layers)))
      )
