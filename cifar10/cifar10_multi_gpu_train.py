"""Trains the CIFAR-10 model on several GPUs of one machine.

    python cifar10_multi_gpu_train.py --num_gpus=2

Each GPU holds a tower, a copy of the model that shares its variables with the
others, and takes its own part of each batch. The gradients of all towers are
averaged and applied at once. Checkpoints are those of cifar10_train.py:
either program resumes what the other has begun.
"""

import os
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it imports TensorFlow without its start-up chatter.
from cifar10 import cifar10
from cifar10 import cli
from cifar10.data import datasets
from cifar10.training import hooks
from cifar10.training import session as session_lib
from cifar10.training import towers as towers_lib
from cifar10.training import train_op
import tensorflow.compat.v1 as tf


def build(data, config, global_step):
  """Builds the training graph.

  Args:
    data: datasets.DataSet.
    config: Config.
    global_step: integer variable, counts the steps.

  Returns:
    train_op: operation that takes one step with all towers, and takes the next
      batch to them meanwhile.
    towers: towers.Towers.
  """
  images, labels = cifar10.distorted_inputs(data, config)
  learning_rate = train_op.learning_rate(global_step, config)
  optimizer = tf.train.GradientDescentOptimizer(learning_rate)
  towers = towers_lib.build(
    images, labels, optimizer, len(data.classes), config
  )
  losses_averaged = train_op.average_losses(list(towers.losses.values()))
  train_op.summarize(towers.gradients)
  with tf.control_dependencies([losses_averaged]):
    updated = train_op.update(optimizer, towers.gradients, global_step, config)
  return tf.group(updated, towers.prefetch), towers


def train(config):
  """Trains until `config.max_steps`, or a signal.

  Args:
    config: Config.

  Raises:
    UserError: the data, the training directory or the loss is unusable.
  """
  data = datasets.prepare(config)
  config = session_lib.begin(config, data)
  if config is None:
    return
  _print_devices(config)
  with tf.Graph().as_default(), tf.device('/cpu:0'):
    tf.set_random_seed(config.seed)
    global_step = tf.train.get_or_create_global_step()
    train_op, towers = build(data, config, global_step)

    loss = towers.losses['total_loss']
    prefetch = hooks.PrefetchHook(towers.prefetch)
    with session_lib.training_session(config, train_op, loss, [prefetch]) as session:
      while not session.should_stop():
        session.run(train_op)


def _print_devices(config):
  found = len(tf.config.experimental.list_physical_devices('GPU'))
  print(
    'Training on %d tower(s), each with batches of %d: %d images a step.'
    % (config.num_gpus, config.batch_size, config.examples_per_step)
  )
  if found < config.num_gpus:
    print(
      'WARNING: --num_gpus=%d, but TensorFlow finds %d GPU(s) here. Towers '
      'without a GPU of their own run on %s, which is no faster than one.'
      % (config.num_gpus, found, "another one's" if found else 'the CPU')
    )


def main():
  """The console command."""
  cli.run(train, cli.TRAINER_FLAGS + ('num_gpus',), __doc__)


if __name__ == '__main__':
  main()
