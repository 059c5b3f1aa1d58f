"""The graph of an update: learning rate, loss averages, gradients.

The tutorial's section "Model Training". What every trainer shares.
"""

import contextlib

import tensorflow.compat.v1 as tf

from cifar10.util import summaries

# The collection that holds the learning rate, for whoever reports it.
LEARNING_RATE = 'learning_rate'


@contextlib.contextmanager
def box():
  """The box `train` of TensorBoard's graph; also a decorator."""
  # With the slash it is the same one each time that it is entered.
  with tf.name_scope('train/'):
    yield


@box()
def learning_rate(global_step, config):
  """The learning rate at `global_step`: x 0.1 every 350 epochs, stepwise.

  The steps to a decay are as many as it takes to see 350 epochs of examples
  with the batches of all towers, so N towers decay N times as early.

  Args:
    global_step: integer variable, counts the steps.
    config: Config.

  Returns:
    float32 scalar tensor.
  """
  batches_per_epoch = config.examples_per_epoch / config.examples_per_step
  rate = tf.train.exponential_decay(
    config.learning_rate,
    global_step + config.step_offset,
    max(1, int(batches_per_epoch * config.num_epochs_per_decay)),
    config.learning_rate_decay_factor,
    staircase=True,
  )
  summaries.scalar('learning_rate', rate)
  tf.add_to_collection(LEARNING_RATE, rate)
  return rate


@box()
def average_losses(losses):
  """Keeps moving averages of `losses` and adds summaries of both.

  Args:
    losses: list of float32 scalar tensors. Their operations' names are those
      of the summaries and, with `/avg`, of the averages in checkpoints.

  Returns:
    The operation that updates the averages.
  """
  averages = tf.train.ExponentialMovingAverage(0.9, name='avg')
  with tf.device('/cpu:0'):
    update = averages.apply(losses)
  for loss in losses:
    name = 'losses/' + loss.op.name
    summaries.scalar(name + '_raw', loss)
    summaries.scalar(name, averages.average(loss))
  return update


@box()
def summarize(gradients):
  """Adds histograms of all variables and their gradients.

  Args:
    gradients: list of pairs (gradient, variable).
  """
  for gradient, variable in gradients:
    summaries.histogram(variable.op.name + '/values', variable.read_value())
    summaries.histogram(variable.op.name + '/gradients', gradient)


@box()
def update(optimizer, gradients, global_step, config):
  """Updates the variables, the global step, then the moving averages.

  Args:
    optimizer: tf.train.Optimizer.
    gradients: list of pairs (gradient, variable).
    global_step: integer variable, counts the steps.
    config: Config.

  Returns:
    The operation that does all of it.
  """
  if config.clip_norm:
    values, variables = zip(*gradients)
    values, _ = tf.clip_by_global_norm(values, config.clip_norm)
    gradients = list(zip(values, variables))
  applied = optimizer.apply_gradients(gradients)
  with tf.control_dependencies([applied]):
    # The step comes from the counting itself: where it is read by an operation
    # of its own, TensorFlow's graph optimizer may read it before.
    step = tf.assign_add(global_step, 1)
    averages = tf.train.ExponentialMovingAverage(
      config.moving_average_decay, num_updates=step
    )
    # Where the variables are; else they would all travel to the worker.
    updates = []
    for device, variables in _by_device(tf.trainable_variables()):
      with tf.device(device):
        updates.append(averages.apply(variables))
    return tf.group(*updates)


def _by_device(variables):
  """Pairs of a device and the list of its variables."""
  found = {}
  for variable in variables:
    found.setdefault(variable.device, []).append(variable)
  return found.items()
