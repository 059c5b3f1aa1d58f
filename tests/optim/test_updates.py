"""The update: clipping, and the averages of what it changes."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.nets import normalization
from cifar10.settings import Settings
from tests import graphs


def update(gradients, loss=None, **settings):
  """A step of gradient descent at rate 1."""
  if loss is None:
    loss = tf.constant(0.0, name='total_loss')
  return cifar10.train(loss, tf.train.get_or_create_global_step(),
                       Settings(learning_rate=1.0, **settings), grads=gradients)


NORM = 25.25**0.5


@pytest.mark.parametrize(
    'name, expected',
    [('', [[3, -4, 0], [0.5]]), ('clip_value', [[1, -1, 0], [0.5]]),
     ('clip_norm_each', [[0.6, -0.8, 0], [0.5]]),
     ('clip_norm', [[3 / NORM, -4 / NORM, 0], [0.5 / NORM]]),])
def test_gradients_are_clipped(name, expected):
  a = tf.get_variable('a', [3], initializer=tf.zeros_initializer())
  b = tf.get_variable('b', [1], initializer=tf.zeros_initializer())
  gradients = [(tf.constant([3.0, -4.0, 0.0]), a), (tf.constant([0.5]), b)]
  train_op = update(gradients, **({name: 1.0} if name else {}))
  with graphs.session() as session:
    session.run(train_op)
    for value, wanted in zip(session.run([a, b]), expected):
      np.testing.assert_allclose(-value, wanted, rtol=1e-5)


@pytest.mark.parametrize('batch_norm_decay, used', [(0.5, 0.6), (0.75, 0.75)])
def test_the_averages_of_statistics_are_of_the_batches_and_count_the_step(
    batch_norm_decay, used):
  x = tf.placeholder(tf.float32, [None, 2])
  norm = normalization.BatchNormalization(*normalization.variables(2), 0.75)
  loss = tf.reduce_sum(norm.outputs(x), name='total_loss')
  train_op = update(None, loss, moving_average_decay=0.6,
                    batch_norm_decay=batch_norm_decay)
  variables = {v.op.name: v for v in tf.global_variables()}
  names = [
      'batch_normalization/moving_' + name + suffix
      for name in ('mean', 'variance')
      for suffix in ('', '/ExponentialMovingAverage')
  ]
  mean = average_mean = np.zeros(2)
  variance = average_variance = np.ones(2)
  with graphs.session() as session:
    for step in range(1, 30):
      values = np.random.RandomState(step).normal([1, 5], [2, 3], (50, 2))
      session.run(train_op, {x: values})
      of_batch = values.mean(axis=0), values.var(axis=0, ddof=1)
      mean = 0.75 * mean + 0.25 * of_batch[0]
      variance = 0.75 * variance + 0.25 * of_batch[1]
      decay = min(used, (1 + step) / (10 + step))
      average_mean = decay * average_mean + (1 - decay) * of_batch[0]
      average_variance = decay * average_variance + (1 - decay) * of_batch[1]
      np.testing.assert_allclose(
          session.run([variables[name] for name in names]),
          [mean, average_mean, variance, average_variance], rtol=1e-4)


def test_loss_averages_decay_by_a_tenth():
  a = tf.get_variable('a', initializer=[0.0])
  train_op = update([(tf.constant([-1.0]), a)],
                    tf.constant(2.0, name='total_loss'))
  (average,) = [v for v in tf.global_variables() if 'avg' in v.op.name]
  assert average.op.name == 'total_loss/avg'
  with graphs.session() as session:
    for expected in (0.2, 0.38):
      session.run(train_op)
      assert session.run(average) == pytest.approx(expected)
