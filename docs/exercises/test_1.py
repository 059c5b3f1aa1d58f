"""The check of exercise 1."""

from checks import expect
import exercise_1
import numpy as np
import tensorflow.compat.v1 as tf


def test_probabilities(graph):
  images = np.random.RandomState(1).normal(size=[4, 24, 24, 3])
  probabilities = exercise_1.probabilities(images.astype(np.float32))
  logits = graph.get_tensor_by_name('softmax_linear/softmax_linear:0')
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    scores, found = session.run([logits, probabilities])
    huge = session.run(probabilities, {logits: 4 * [[1000.0] + 9 * [0.0]]})
  expect(
      np.allclose(found.sum(1), 1, atol=1e-4),
      'The probabilities of an image must add up to 1; they add up to %.3f.' %
      found[0].sum())
  powers = np.exp(scores)
  expect(np.allclose(found, powers / powers.sum(1, keepdims=True), atol=1e-4),
         'They must be the softmax of the logits: exp(logit) / their sum.')
  expect(
      np.allclose(huge, [[1] + 9 * [0]]),
      'The softmax of the logits 1000, 0, 0, .. is 1, 0, 0, ..; found %s.' %
      huge[0][:3])
