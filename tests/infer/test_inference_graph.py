"""The inference graph: the model, its probabilities, and its precision."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.infer import inference_graph
from cifar10.settings import Settings
from tests import graphs

PRODUCTS = ('Conv2D', 'MatMul', 'BatchMatMul', 'BatchMatMulV2')

DATA = datasets.in_folder('nowhere')


def images(count=3):
  return tf.random_normal([count, 24, 24, 3], seed=2)


@pytest.mark.parametrize('precision', ['float32', 'bfloat16', 'float16'])
def test_products_have_the_given_precision(graph, precision):
  model = inference_graph.build(images(), DATA,
                                Settings(precision=precision, conv='direct'))
  assert model.logits.dtype == model.probabilities.dtype == tf.float32
  types = [
      operation.inputs[0].dtype.name
      for operation in graph.get_operations()
      if operation.type in PRODUCTS and 'norm' not in operation.name
  ]
  assert types == [precision] * 5
  # The scope that calls it keeps its own type.
  assert tf.get_variable_scope().dtype == tf.float32


@pytest.mark.parametrize('flip, size', [(True, 24), (False, 2), (True, 1)])
def test_tta_is_the_mean_of_copies_where_the_answer_is_unsure(
    flip, size, monkeypatch):
  least = tf.placeholder(tf.float32, [])
  monkeypatch.setattr(inference_graph, '_SURE', least)
  data = datasets.in_folder('nowhere')._replace(flip=flip)
  pixels = np.random.RandomState(1).randn(3, size, size, 3).astype(np.float32)
  placeholder = tf.placeholder(tf.float32, [None, size, size, 3])
  with tf.variable_scope('model'):
    seen = inference_graph.build(placeholder, data, Settings(tta=True))
  assert len(tf.get_collection('losses')) == 2  # Of local3 and local4, once.
  with tf.variable_scope('model', reuse=True):
    plain = inference_graph.build(placeholder, data, Settings())
  padded = np.pad(pixels, ((0, 0), (1, 1), (1, 1), (0, 0)), 'reflect')
  with graphs.session() as session:

    def logits(images):
      found = session.run(plain.logits, {placeholder: images})
      if not flip:
        return found
      mirrored = session.run(plain.logits, {placeholder: images[:, :, ::-1]})
      return (found + mirrored) / 2

    up, down = padded[:, 2:, 2:], padded[:, :-2, :-2]
    mean = logits(pixels) / 2 + logits(up) / 4 + logits(down) / 4
    own, probabilities = session.run(plain[:2], {placeholder: pixels})
    _, second, first = np.sort(probabilities)[:, -3:].T
    margins = np.sort(first - second)
    for limit in 0, margins[:2].mean(), margins[1:].mean(), 1.1:
      expected = np.where((first - second < limit)[:, np.newaxis], mean, own)
      found = session.run(seen.logits, {placeholder: pixels, least: limit})
      np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
