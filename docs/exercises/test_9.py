"""The check of exercise 9."""

import os

from checks import expect
import exercise_9
import tensorflow.compat.v1 as tf

import cifar10


def test_the_convolutions_are_those_of_the_model():
  folder = os.path.join(os.path.dirname(cifar10.__file__), 'zoo', 'tutorial')
  path = tf.train.latest_checkpoint(folder)
  cifar10.inference(tf.zeros([1, 24, 24, 3]), num_classes=3)
  variables = tf.trainable_variables()
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    before = session.run(variables)
    error = 'none'
    try:
      exercise_9.restore_convolutions(session, path)
    except (tf.errors.OpError, ValueError) as raised:
      error = type(raised).__name__
    expect(
        error == 'none', 'Restore only conv1 and conv2, by the names of their '
        'averages in the checkpoint; this raises %s.' % error)
    after = session.run(variables)
  for variable, old, new in zip(variables, before, after):
    name, expected = variable.op.name, old
    if name.startswith('conv'):
      average = name + '/ExponentialMovingAverage'
      expected = tf.train.load_variable(path, average)
    expect((new == expected).all(), '%s must %s.' %
           (name, 'stay as it is' if expected is old else 'be restored'))
