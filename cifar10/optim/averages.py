"""Moving averages, each computed on the device of its variable.

Otherwise the variables of a cluster would all be sent to the worker.
"""

import tensorflow.compat.v1 as tf

from cifar10.util import graph_keys


def updates(averages, variables=None):
  """Operations that update a tf.train.ExponentialMovingAverage, by device.

  The default of `variables` is the trained and the frozen ones: evaluation does
  not know which are frozen.
  """
  if variables is None:
    variables = tf.trainable_variables() + tf.get_collection(graph_keys.FROZEN)
  by_device = {}
  for variable in variables:
    by_device.setdefault(variable.device, []).append(variable)
  operations = []
  for device, found in by_device.items():
    with tf.device(device):
      operations.append(averages.apply(found))
  return operations


def statistics_updates(global_step, settings, worker=None):
  """Operations that update averages of the statistics of batches.

  Averages of the moving means and variances would lag behind. They cover as
  many batches as these at least: with a decay of 0, not the last one alone. Run
  them before `global_step` counts the step. The list is empty if another worker
  does it.
  """
  statistics = tf.get_collection(graph_keys.STATISTICS)
  if not statistics:
    return []
  decay = max(settings.moving_average_decay, settings.batch_norm_decay)
  averages = tf.train.ExponentialMovingAverage(decay)
  # Only to create the variables of the averages.
  updates(averages, statistics)
  step = tf.to_float(global_step.read_value() + 1)
  decay = tf.minimum(decay, (1 + step) / (10 + step))
  # The statistics of frozen layers have no batches, and stay as they are.
  values = {variable.op.name: variable for variable in statistics}
  following = tf.get_collection(graph_keys.FOLLOWING_STATISTICS)
  batches = tf.get_collection(graph_keys.BATCH_STATISTICS)
  values.update(zip((variable.op.name for variable in following), batches))
  operations = []
  for variable in statistics:
    average = averages.average(variable)
    with tf.colocate_with(average):
      change = (average - values[variable.op.name]) * (1 - decay)
      operations.append(tf.assign_sub(average, change))
  return operations if worker is None or worker.averages_statistics else []
