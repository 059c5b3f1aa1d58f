"""The check of exercise 4."""

from checks import expect
import exercise_4
import tensorflow.compat.v1 as tf

import cifar10

IMAGES = [1, 24, 24, 3]


def test_both_kinds_of_values_are_restored(tmp_path):
  path = str(tmp_path / 'model.ckpt')
  cifar10.inference(tf.zeros(IMAGES))
  variables = tf.trainable_variables()
  averages = tf.train.ExponentialMovingAverage(cifar10.MOVING_AVERAGE_DECAY)
  averages.apply(variables)
  with tf.Session() as session:
    for tensor in variables:
      session.run(tf.assign(tensor, tf.fill(tensor.shape, 1.0)))
      average = averages.average(tensor)
      session.run(tf.assign(average, tf.fill(tensor.shape, 2.0)))
    tf.train.Saver().save(session, path)
  for use_averages, expected, what in [(True, 2, 'its average'),
                                       (False, 1, 'its own value')]:
    with tf.Graph().as_default(), tf.Session() as session:
      cifar10.inference(tf.zeros(IMAGES))
      exercise_4.restore(session, path, use_averages)
      for variable in tf.trainable_variables():
        expect((session.run(variable) == expected).all(),
               'With use_averages=%s, %s must get %s.' %
               (use_averages, variable.op.name, what))
