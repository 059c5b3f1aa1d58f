"""The check of exercise 15."""

from checks import expect
import exercise_15
import tensorflow.compat.v1 as tf


def inputs():
  return tf.random_normal([8, 4], name='images')


def model(images):
  hidden = tf.get_variable('hidden', [4, 4])
  outputs = tf.get_variable('outputs', [4, 2])
  return tf.matmul(tf.matmul(images, hidden, name='units'), outputs,
                   name='logits')


def test_each_operation_is_on_its_device(graph):
  exercise_15.build(inputs, model)
  for name, expected in [('images', '/job:worker/task:3/device:CPU:0'),
                         ('units', '/job:worker/task:3/device:GPU:1'),
                         ('logits', '/job:worker/task:3/device:GPU:1'),
                         ('hidden', '/job:ps/task:0/device:CPU:0'),
                         ('outputs', '/job:ps/task:1/device:CPU:0')]:
    device = graph.get_operation_by_name(name).device
    expect(
        device == expected, '%s must be on %s; it is on %s.' %
        (name, expected, device or 'any device'))
