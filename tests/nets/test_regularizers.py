"""Penalties on the weights of all layers."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_multi_gpu_train
from cifar10.nets import variable_scope
from cifar10.optim import towers
from cifar10.settings import Settings


def total_loss(config):
  images = tf.random_normal([4, 24, 24, 3], seed=2)
  labels = tf.constant([0, 1, 2, 3])
  with variable_scope.training_scope(config):
    logits = cifar10.inference(images)
  return cifar10.loss(logits, labels)


def weights():
  return [v for v in tf.trainable_variables() if v.op.name.endswith('weights')]


PENALTIES = {
    'none': lambda w: 0 * w,
    'l1': lambda w: 0.01 * np.abs(w),
    'l2': lambda w: 0.02 * w**2 / 2,
    'l1_l2': lambda w: 0.01 * np.abs(w) + 0.02 * w**2 / 2
}


@pytest.mark.parametrize('name', sorted(PENALTIES))
def test_the_penalty_joins_the_loss(name):
  config = Settings(regularizer=name, l1_scale=0.01, l2_scale=0.02)
  total = total_loss(config)
  (entropy,) = [
      loss for loss in tf.get_collection('losses') if 'entropy' in loss.op.name
  ]
  assert len(weights()) == 5
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    values, found, of_labels = session.run([weights(), total, entropy])
  expected = sum(PENALTIES[name](w.astype(np.float64)).sum() for w in values)
  assert found - of_labels == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_the_tutorials_decay_is_of_two_layers():
  total_loss(Settings())
  names = {loss.op.name for loss in tf.get_collection('losses')}
  assert names == {'cross_entropy', 'local3/weight_loss', 'local4/weight_loss'}


def test_each_tower_has_the_whole_penalty():
  config = Settings(regularizer='l2')
  found = []
  with variable_scope.training_scope(config):
    for i in range(2):
      with towers.tower('tower', i) as scope:
        images = tf.random_normal([4, 24, 24, 3], seed=i)
        loss = cifar10_multi_gpu_train.tower_loss(scope, images,
                                                  tf.constant([0, 1, 2, 3]),
                                                  config)
        found.append(towers.named_losses(scope, loss))
  with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
    session.run(tf.global_variables_initializer())
    first, second = session.run(found)
  names = {'cross_entropy', 'regularization_loss', 'total_loss'}
  assert set(first) == set(second) == names
  assert first['regularization_loss'] == second['regularization_loss'] > 0
