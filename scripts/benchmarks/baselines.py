"""The two forms that benchmark.py compares: classical, and this project's."""

from unittest import mock

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10.model import layers
from tests import reference
import numpy as np
import tensorflow.compat.v1 as tf

CLASSICAL = 'classical'
ALL = (CLASSICAL, 'float32', 'bfloat16')
LOCAL = 'local'  # In float32, with locally connected layers.


def logits_of(images, form):
  """Builds the model in the classical form, in a precision, or LOCAL."""
  if form == CLASSICAL:
    with mock.patch.object(layers, 'banded_lrn', reference.tensorflow_lrn):
      return cifar10.inference(images)
  if form == LOCAL:
    return cifar10.inference(images, top_layers='local')
  return cifar10.inference(images, precision=form)


def train_on(images, labels, form, config):
  """Builds the trainer's step in the classical form or in a precision."""
  global_step = tf.train.get_or_create_global_step()
  total_loss = cifar10.loss(logits_of(images, form), labels)
  return cifar10.train(total_loss, global_step, config)


def batches(form, data, batch_size):
  """Builds the training input in the classical form or in ours."""
  if form == CLASSICAL:
    return reference.classical_distorted_inputs(
      data.train_files, data.count(data.train_files), batch_size
    )
  return cifar10_input.distorted_inputs(data, batch_size)


def test_batches(form, data, batch_size):
  """Builds the evaluation's input in the classical form or in ours."""
  if form == CLASSICAL:
    return reference.classical_inputs(data.test_files, batch_size)
  return cifar10_input.inputs(data, 'test', batch_size)


def fixed_batch(batch_size):
  """A batch that costs nothing: images [batch_size, 24, 24, 3] and labels."""
  with tf.device('/cpu:0'):
    images = tf.get_variable(
      'images',
      [batch_size, 24, 24, 3],
      initializer=tf.random_normal_initializer(),
      trainable=False,
    )
  return images, tf.constant(np.arange(batch_size) % 10, tf.int32)
