"""Towers: copies of the model, one for each GPU of a machine.

The tutorial's section "Training a Model Using Multiple GPU Cards". Each tower
shares its variables with the others and takes its own part of each batch.
"""

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.training import train_op
from cifar10.config import Config


class Towers(NamedTuple):
  """Handles of the towers of one machine.

  Attributes:
    prefetch: operation that takes the next batch to all towers; to be run
      once before the first step, and in each step.
    gradients: list of pairs (gradient, variable), averaged over the towers.
    losses: the means of the towers' losses, float32 scalar tensors, by the
      names that they have in the single-device trainer; the one that is
      minimized is 'total_loss'.
  """

  prefetch: Any
  gradients: list
  losses: dict


def build(images, labels, optimizer, num_classes, config):
  """Builds the towers, each with its own part of the batch.

  Args:
    images: float32 tensor, [config.examples_per_machine, size, size, depth].
    labels: int32 tensor, [config.examples_per_machine].
    optimizer: tf.train.Optimizer, to compute gradients with.
    num_classes: number of classes.
    config: Config.

  Returns:
    Towers.
  """
  with tf.name_scope('parts'):
    tower_images = tf.split(images, config.num_gpus)
    tower_labels = tf.split(labels, config.num_gpus)
  puts, gradients, losses = [], [], []
  for i in range(config.num_gpus):
    reuse = None if i == 0 else True
    with tf.device('/gpu:%d' % i), tf.variable_scope('', reuse=reuse):
      with tf.name_scope('%s_%d' % (cifar10.TOWER_NAME, i)) as tower:
        put, batch = staged([tower_images[i], tower_labels[i]], tower)
        puts.append(put)
        losses.append(tower_losses(*batch, num_classes, config))
        gradients.append(optimizer.compute_gradients(losses[i]['total_loss']))
  mean_losses = {
    name: mean([tower[name] for tower in losses], name) for name in losses[0]
  }
  return Towers(tf.group(*puts), average_gradients(gradients), mean_losses)


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


def tower_losses(images, labels, num_classes, config=Config()):
  """Builds the model of one tower, within its device and name scope.

  Args:
    images: float32 tensor, [batch, size, size, depth].
    labels: int32 tensor, [batch].
    num_classes: number of classes.
    config: Config.

  Returns:
    Scalar tensors by the names that they have outside of towers; the one to
    be minimized is 'total_loss'.
  """
  tower = tf.get_default_graph().get_name_scope() + '/'
  logits = cifar10.inference(
    images, num_classes, config.precision, config.top_layers
  )
  total_loss = cifar10.loss(logits, labels)
  losses = tf.get_collection('losses', tower) + [total_loss]
  return {loss.op.name[len(tower) :]: loss for loss in losses}


@train_op.box()
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
  with tf.name_scope(name, 'mean') as scope:
    return tf.multiply(tf.add_n(tensors), 1 / len(tensors), name=scope)
