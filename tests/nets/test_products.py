"""The convolution whose gradient is a product for each weight."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.nets import layers
from cifar10.nets import products
from cifar10.util import processor
from cifar10.util import session_settings


def values_and_gradients(conv2d, images, kernel, dy):
  """What a convolution computes: its outputs and both gradients."""
  y = conv2d(images, kernel)
  return [y, *tf.gradients(y, [images, kernel], dy)]


@pytest.mark.parametrize('size', [(3, 3), (5, 2), (4, 1)])
def test_it_computes_what_tensorflows_does(size):
  rng = np.random.RandomState(0)
  with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32, [None, 7, 6, 4])
    kernel = tf.constant(rng.normal(size=[*size, 4, 5]), tf.float32)
    dy = rng.normal(size=[8, 7, 6, 5])
    found, expected = session.run([
        values_and_gradients(conv2d, x, kernel, tf.constant(dy, tf.float32))
        for conv2d in (
            products.conv2d,
            lambda x, k: tf.nn.conv2d(x, k, [1, 1, 1, 1], padding='SAME'))
    ], {x: rng.normal(size=[8, 7, 6, 4])})
  for value, other in zip(found, expected):
    np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-4)


AMX = {'avx512_bf16', 'amx_bf16'}


@pytest.mark.skipif(tf.__version__ < '2', reason='for TensorFlow 2')
@pytest.mark.parametrize('features, dtype, filters, size, expected',
                         [(AMX, 'bfloat16', 128, 7, True),
                          (AMX, 'bfloat16', 64, 7, False),
                          (AMX, 'bfloat16', 128, 15, False),
                          (AMX, 'float32', 128, 7, False),
                          ({'avx512_bf16'}, 'bfloat16', 128, 7, False),])
def test_auto_takes_it_where_it_is_faster(monkeypatch, features, dtype, filters,
                                          size, expected):
  monkeypatch.setattr(processor, 'features', lambda: features)
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: False)
  taken = []
  monkeypatch.setattr(products, 'conv2d', lambda *args: taken.append(args))
  with tf.Graph().as_default():
    layers.conv2d(tf.zeros([4, size, size, 128], dtype),
                  tf.zeros([3, 3, 128, filters], dtype))
  assert bool(taken) == expected
