"""The check of exercise 12."""

from checks import expect
import exercise_12
import tensorflow.compat.v1 as tf

import cifar10


def test_the_upper_layers_learn_and_the_convolutions_do_not():
  logits = cifar10.inference(tf.random_normal([4, 24, 24, 3], seed=1))
  loss = cifar10.loss(logits, tf.range(4))
  global_step = tf.train.get_or_create_global_step()
  step = exercise_12.train_upper_layers(loss, global_step)
  variables = tf.trainable_variables()
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    before = session.run(variables)
    session.run(step)
    after, count = session.run([variables, global_step])
  for variable, old, new in zip(variables, before, after):
    is_frozen = variable.op.name.startswith('conv')
    expect((old == new).all() == is_frozen, 'A step must %s %s.' %
           ('not change' if is_frozen else 'change', variable.op.name))
  expect(count == 1, 'A step must add 1 to global_step.')
