"""Trains the CIFAR-10 model on several GPUs of one machine.

    python cifar10_multi_gpu_train.py --num_gpus=2

Each GPU holds a tower, a copy of the model that shares its variables with the
others, and takes its own part of each batch. The gradients of all towers are
averaged and applied at once. Checkpoints are those of cifar10_train.py:
either program resumes what the other has begun.
"""

import os
import sys
from typing import Any, NamedTuple

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it imports TensorFlow without its start-up chatter.
from cifar10 import cifar10
from cifar10 import cli
from cifar10 import dataset
from cifar10 import hooks
from cifar10 import runs
from cifar10 import training
import tensorflow.compat.v1 as tf


class Towers(NamedTuple):
  """Handles of the training graph.

  Attributes:
    prefetch: operation that brings the first batch to all towers; to be run
      once in a session, before `train_op`.
    train_op: operation that takes one step with all towers, and brings the
      next batch to them meanwhile.
    loss: float32 scalar tensor, the mean of the towers' total losses.
  """

  prefetch: Any
  train_op: Any
  loss: Any


def staged(tensors, name):
  """Keeps a batch waiting on the current device.

  So the copy from the memory of the CPU to that of a GPU is no part of the
  step that needs it.

  Args:
    tensors: list of tensors of known shapes, the next batch.
    name: name of the place where they wait; another one for each tower.

  Returns:
    put: operation that takes the next batch to its place.
    got: list of tensors like `tensors`, the batch that waits there. Without
      one, running them waits for it.
  """
  put = tf.raw_ops.Stage(values=tensors, shared_name=name)
  got = tf.raw_ops.Unstage(dtypes=[t.dtype for t in tensors], shared_name=name)
  for tensor, like in zip(got, tensors):
    tensor.set_shape(like.shape)
  return put, got


def tower_losses(images, labels, num_classes, precision='float32'):
  """Builds the model of one tower, within its device and name scope.

  Args:
    images: float32 tensor, [batch, 24, 24, 3].
    labels: int32 tensor, [batch].
    num_classes: number of classes.
    precision: type to compute in, as `inference` takes it.

  Returns:
    Scalar tensors by the names that they have outside of towers; the one to
    be minimized is 'total_loss'.
  """
  tower = tf.get_default_graph().get_name_scope() + '/'
  logits = cifar10.inference(images, num_classes, precision)
  total_loss = cifar10.loss(logits, labels)
  losses = tf.get_collection('losses', tower) + [total_loss]
  return {loss.op.name[len(tower) :]: loss for loss in losses}


def average_gradients(tower_gradients):
  """Averages the gradients of each variable over all towers.

  This is where the towers wait for one another.

  Args:
    tower_gradients: for each tower, a list of pairs (gradient, variable); the
      variables are the same and in the same order.

  Returns:
    A list of pairs (averaged gradient, variable).
  """
  return [
    (mean([gradient for gradient, _ in pairs]), pairs[0][1])
    for pairs in zip(*tower_gradients)
  ]


def mean(tensors, name=None):
  """The mean of tensors of one shape."""
  return tf.multiply(tf.add_n(tensors), 1 / len(tensors), name=name)


def build(data, config, global_step):
  """Builds the towers and what they share.

  Args:
    data: dataset.DataSet.
    config: Config.
    global_step: integer variable, counts the steps.

  Returns:
    Towers.
  """
  images, labels = cifar10.distorted_inputs(data, config)
  tower_images = tf.split(images, config.num_gpus)
  tower_labels = tf.split(labels, config.num_gpus)
  learning_rate = training.learning_rate(global_step, config)
  optimizer = tf.train.GradientDescentOptimizer(learning_rate)

  puts, gradients, losses = [], [], []
  for i in range(config.num_gpus):
    reuse = None if i == 0 else True
    with tf.device('/gpu:%d' % i), tf.variable_scope('', reuse=reuse):
      with tf.name_scope('%s_%d' % (cifar10.TOWER_NAME, i)) as tower:
        put, batch = staged([tower_images[i], tower_labels[i]], tower)
        puts.append(put)
        losses.append(tower_losses(*batch, len(data.classes), config.precision))
        gradients.append(optimizer.compute_gradients(losses[i]['total_loss']))

  # Of the names that the single-device trainer has, for its checkpoints.
  mean_losses = {
    name: mean([tower[name] for tower in losses], name) for name in losses[0]
  }
  losses_averaged = training.average_losses(list(mean_losses.values()))
  with tf.control_dependencies([losses_averaged]):
    train_op = training.apply_gradients(
      optimizer, average_gradients(gradients), global_step, config
    )
  prefetch = tf.group(*puts)
  return Towers(
    prefetch, tf.group(train_op, prefetch), mean_losses['total_loss']
  )


def train(config):
  """Trains until `config.max_steps`, or a signal.

  Args:
    config: Config.

  Raises:
    UserError: the data, the training directory or the loss is unusable.
  """
  data = dataset.prepare(config)
  config = runs.begin(config, data)
  if config is None:
    return
  _print_devices(config)
  with tf.Graph().as_default(), tf.device('/cpu:0'):
    tf.set_random_seed(config.seed)
    global_step = tf.train.get_or_create_global_step()
    towers = build(data, config, global_step)

    prefetch = hooks.PrefetchHook(towers.prefetch)
    with runs.training_session(
      config, towers.train_op, towers.loss, [prefetch]
    ) as session:
      while not session.should_stop():
        session.run(towers.train_op)


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
