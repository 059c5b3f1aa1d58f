"""The check of exercise 10."""

from checks import expect
import exercise_10
import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.nets import normalization


def test_evaluation_has_the_statistics_of_training():
  random = np.random.RandomState(1)
  x = tf.constant(random.normal(5, 3, [200, 4]), tf.float32)
  scale, mean, variance = normalization.variables(4)
  layer = normalization.BatchNormalization(scale, mean, variance, decay=0.9)
  weights = tf.get_variable('weights', initializer=tf.ones([4, 1]))
  loss = tf.reduce_mean(tf.square(tf.matmul(layer.outputs(x), weights)))
  step = exercise_10.train_op(loss)
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss)
    for _ in range(60):
      session.run(step)
    last, mean, variance = session.run([loss, mean, variance])
  expect(last < first, 'The steps must make the loss smaller.')
  expect(
      abs(mean - 5).max() < 1 and abs(variance - 9).max() < 3,
      'After 60 steps the moving mean must be near 5, the variance near 9; '
      'found %.1f and %.1f.' % (mean.mean(), variance.mean()))
