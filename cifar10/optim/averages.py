"""Moving averages, each on the device of its variable.

Otherwise all variables of a cluster would be sent to the worker.
"""

import tensorflow.compat.v1 as tf

from cifar10.util import graph_keys


def of_variables(averages, variables=None):
  """Operations that update a tf.train.ExponentialMovingAverage, by device.

  By default of the trained variables, and the frozen ones: evaluation knows of
  no freezing.
  """
  if variables is None:
    variables = tf.trainable_variables() + tf.get_collection(graph_keys.FROZEN)
  by_device = {}
  for variable in variables:
    by_device.setdefault(variable.device, []).append(variable)
  updates = []
  for device, found in by_device.items():
    with tf.device(device):
      updates.append(averages.apply(found))
  return updates


def of_statistics(global_step, settings, worker=None):
  """Operations that average the statistics of batches like the variables.

  Averages of the moving means and variances would lag behind. The list is to
  run before `global_step` counts the step; it is empty if other workers do so.
  """
  statistics = tf.get_collection(graph_keys.STATISTICS)
  if not statistics:
    return []
  decay = settings.moving_average_decay
  averages = tf.train.ExponentialMovingAverage(decay)
  # Only to create the variables of the averages.
  of_variables(averages, statistics)
  step = tf.to_float(global_step.read_value() + 1)
  decay = tf.minimum(decay, (1 + step) / (10 + step))
  # The statistics of frozen layers have no batches; they stay as they are.
  values = {variable.op.name: variable for variable in statistics}
  following = tf.get_collection(graph_keys.FOLLOWING_STATISTICS)
  batches = tf.get_collection(graph_keys.BATCH_STATISTICS)
  values.update(zip((variable.op.name for variable in following), batches))
  updates = []
  for variable in statistics:
    average = averages.average(variable)
    with tf.colocate_with(average):
      change = (average - values[variable.op.name]) * (1 - decay)
      updates.append(tf.assign_sub(average, change))
  return updates if worker is None or worker.averages_statistics else []
