"""What `inference` is made of: variables on the CPU, activation summaries."""

import tensorflow.compat.v1 as tf


def variable_on_cpu(name, shape, initializer):
  """A float32 variable in the memory of the CPU, where towers can share it.

  Args:
    name: name of the variable within the variable scope.
    shape: list of ints.
    initializer: initializer of the variable.
  """
  with tf.device('/cpu:0'):
    return tf.get_variable(name, shape, tf.float32, initializer)


def variable_with_weight_decay(name, shape, *, stddev, wd=None):
  """A variable drawn from a truncated normal distribution, decayed or not.

  Args:
    name: name of the variable within the variable scope.
    shape: list of ints.
    stddev: standard deviation of the distribution before truncation.
    wd: the L2 loss of the variable times `wd` is added to the collection
      'losses'; None adds nothing.
  """
  var = variable_on_cpu(
    name, shape, tf.truncated_normal_initializer(stddev=stddev)
  )
  if wd is not None:
    weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name='weight_loss')
    tf.add_to_collection('losses', weight_decay)
  return var


def histogram_summary(name, x):
  """Adds a histogram that passes over what is not a finite number.

  TensorFlow's own ends the session at the first NaN, with a message about a
  summary, before the loss can tell what happened.

  Args:
    name: tag of the summary.
    x: float tensor.
  """
  x = tf.where(tf.is_finite(x), x, tf.zeros_like(x))
  with tf.name_scope(None):
    tf.summary.histogram(name, x)


def activation_summary(x):
  """Adds a histogram of activations and the share of zeros among them.

  They are named after the variable scope, which bears no `tower_N/`. Of
  several towers the first one speaks for all.

  Args:
    x: float tensor, the output of the layer in whose variable scope this is
      called.
  """
  scope = tf.get_variable_scope()
  if scope.reuse:
    return
  histogram_summary(scope.name + '/activations', x)
  with tf.name_scope(None):
    tf.summary.scalar(scope.name + '/sparsity', tf.nn.zero_fraction(x))
