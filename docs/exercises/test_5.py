"""The check of exercise 5."""

from checks import expect
import exercise_5
import numpy as np
import tensorflow.compat.v1 as tf

import cifar10


def test_two_towers_have_the_gradients_of_one(graph):
  images = tf.constant(
      np.random.RandomState(1).normal(size=[8, 24, 24, 3]), tf.float32)
  labels = tf.range(8)
  pairs = exercise_5.mean_gradients(images, labels, 2)
  for i in range(2):
    names = [op.name for op in graph.get_operations()]
    name = 'tower_%d/softmax_linear/softmax_linear' % i
    expect(name in names, 'There must be an operation %s.' % name)
    logits = graph.get_tensor_by_name(name + ':0')
    expect(
        logits.shape[0] == 4,
        'Tower %d must get 4 of the 8 images; it gets %s.' %
        (i, logits.shape[0]))
    expect(logits.device == '/device:GPU:%d' % i,
           'Tower %d must be on GPU %d.' % (i, i))
  expect(
      len(tf.trainable_variables()) == 10,
      'The towers must share the 10 variables.')
  gradients = [gradient for gradient, _ in pairs]
  variables = [variable for _, variable in pairs]
  expect(
      sorted(v.op.name for v in variables) == sorted(
          v.op.name for v in tf.trainable_variables()),
      'There must be one pair for each of the 10 variables; there are %d.' %
      len(pairs))
  tf.get_variable_scope().reuse_variables()
  with tf.name_scope('whole') as scope:
    loss = cifar10.loss(cifar10.inference(images), labels, scope)
    whole = tf.gradients(loss, variables)
  proto = tf.ConfigProto(allow_soft_placement=True)
  with tf.Session(config=proto) as session:
    session.run(tf.global_variables_initializer())
    results = session.run([gradients, whole])
  for variable, found, expected in zip(variables, *results):
    expect(
        np.allclose(found, expected, atol=1e-4),
        'The gradient of %s must be the mean of both towers, that of the '
        'whole batch.' % variable.op.name)
