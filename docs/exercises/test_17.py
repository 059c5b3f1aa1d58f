"""The check of exercise 17."""

from checks import expect
import exercise_17
import numpy as np
import tensorflow.compat.v1 as tf


def test_the_rate_falls_after_350_epochs():
  step = tf.placeholder(tf.int64, [])
  with tf.Session() as session:
    for batch_size, num_towers in [(128, 1), (64, 2), (128, 2), (32, 1)]:
      rate = exercise_17.learning_rate(step, batch_size, num_towers)
      for epoch, expected in [(0, 0.1), (349, 0.1), (351, 0.01), (701, 0.001)]:
        steps = epoch * 50000 // (batch_size * num_towers)
        found = session.run(rate, {step: steps})
        expect(
            np.isclose(found, expected),
            'With %d x %d images a step, %d steps are %d epochs. The rate must '
            'be %g; it is %g.' %
            (num_towers, batch_size, steps, epoch, expected, found))
