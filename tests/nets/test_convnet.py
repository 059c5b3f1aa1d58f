"""Both builders of the tutorial's layers: to be read, and to be varied."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import networks
from cifar10.nets import variable_scope
from cifar10.settings import Settings


def built(varied, precision, values=None):
  """A step of training, and its operations by name and type.

  Returns them, the variables before the step, and after it; with `values` as
  those before it.
  """
  settings = cifar10.with_constants(Settings(precision=precision, batch_size=4))
  random = np.random.RandomState(1)
  with tf.Graph().as_default() as graph:
    images = tf.constant(random.normal(size=[4, 24, 24, 3]), tf.float32)
    with variable_scope.training_scope(settings):
      logits = networks.inference(images, settings, is_training=True,
                                  varied=varied)
    step = tf.train.get_or_create_global_step()
    train_op = cifar10.train(cifar10.loss(logits, [3, 0, 9, 3]), step, settings)
    variables = tf.global_variables()
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      before = session.run({v.op.name: v for v in variables})
      for variable in variables if values else ():
        variable.load(values[variable.op.name], session)
      found, _ = session.run([logits, train_op])
      after = session.run({v.op.name: v for v in variables})
  # Rows are reshaped to rows where the number of layers varies.
  operations = {(op.name, op.type)
                for op in graph.get_operations()
                if '/Reshape' not in op.name}
  return operations, found, before, after


@pytest.mark.parametrize('precision', [
    'float32', *(pytest.param(name, marks=pytest.mark.slow)
                 for name in ('bfloat16', 'float16'))])  # yapf: disable
def test_at_the_defaults_they_are_equal_to_the_bit(precision):
  operations, logits, before, after = built(False, precision)
  others, varied, _, varied_after = built(True, precision, before)
  assert operations == others
  np.testing.assert_array_equal(logits, varied)
  assert list(after) == list(varied_after)
  for name, value in after.items():
    np.testing.assert_array_equal(value, varied_after[name], name)
    assert name.endswith(('/avg', 'averages')) or (value != before[name]).any()


@pytest.mark.parametrize('changes', [
    {'activation': 'elu'}, {'normalization': 'none'}, {'hidden_layers': '384'},
    {'columns': 2}, {'top_layers': 'local'}, {'dropout': 0.5},
    {'network': 'airbench'}
], ids=str)  # yapf: disable
def test_the_literal_one_is_taken_unless_a_setting_departs(
    monkeypatch, changes):
  taken = []

  def inference(images, num_classes):
    taken.append(num_classes)
    return tf.get_variable('logits', [2, num_classes]) + tf.reduce_sum(images)

  monkeypatch.setattr(cifar10, 'inference', inference)

  def build(settings, **optional):
    with tf.Graph().as_default():
      networks.inference(tf.zeros([2, 32, 32, 3]), settings, **optional)

  build(Settings(), is_training=True)
  build(Settings(conv='direct'), portable=True)
  build(Settings(dropout=0.5))
  assert taken == [10] * 3
  build(Settings(**changes), is_training=True)
  assert taken == [10] * 3
