"""Moving averages, each on the device of its variable.

Otherwise all variables of a cluster would be sent to the worker.
"""

import tensorflow.compat.v1 as tf

from cifar10.util import graph_keys


def apply(averages, variables):
  """Updates the averages of variables.

  Args:
    averages: tf.train.ExponentialMovingAverage.
    variables: list of variables.

  Returns:
    The operation that does.
  """
  updates = []
  for device, found in _by_device(variables):
    with tf.device(device):
      updates.append(averages.apply(found))
  return tf.group(*updates)


def of_statistics(global_step, decay):
  """Keeps the statistics that go with the moving averages of the variables.

  They are averages of the means and variances of batches, with the same decay.
  Averages of the moving means and variances would lag behind those.

  Args:
    global_step: integer variable, the steps before this one.
    decay: that of the averages of the variables.

  Returns:
    List of operations, to run before `global_step` counts the step.
  """
  statistics = tf.get_collection(graph_keys.STATISTICS)
  if not statistics:
    return []
  averages = tf.train.ExponentialMovingAverage(decay)
  for device, variables in _by_device(statistics):
    with tf.device(device):
      averages.apply(variables)  # Only for the variables.
  step = tf.to_float(global_step.read_value() + 1)
  decay = tf.minimum(decay, (1 + step) / (10 + step))
  # Those of frozen layers have no batches; they stay as they are.
  values = {variable.op.name: variable for variable in statistics}
  for variable, value in zip(
    tf.get_collection(graph_keys.FOLLOWING_STATISTICS),
    tf.get_collection(graph_keys.BATCH_STATISTICS),
  ):
    values[variable.op.name] = value
  updates = []
  for variable in statistics:
    average = averages.average(variable)
    with tf.colocate_with(average):
      change = (average - values[variable.op.name]) * (1 - decay)
      updates.append(tf.assign_sub(average, change))
  return updates


def _by_device(variables):
  """Pairs of a device and the list of its variables."""
  found = {}
  for variable in variables:
    found.setdefault(variable.device, []).append(variable)
  return found.items()
