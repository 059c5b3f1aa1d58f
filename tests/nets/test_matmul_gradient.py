"""The convolution with a product for the gradient of each place in a kernel."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.nets import layers
from cifar10.nets import matmul_gradient
from cifar10.util import processor
from cifar10.util import session_settings


def direct(x, kernel):
  return tf.nn.conv2d(x, kernel, [1, 1, 1, 1], padding='SAME')


def values_and_gradients(conv2d, images, kernel, dy):
  """What a convolution computes: its outputs and both gradients."""
  y = conv2d(images, kernel)
  return [y, *tf.gradients(y, [images, kernel], dy)]


@pytest.mark.parametrize('size', [(3, 3), (5, 2), (4, 1)])
def test_it_computes_what_tensorflows_does(size):
  rng = np.random.RandomState(0)
  dy = rng.normal(size=[8, 7, 6, 5])
  with tf.Graph().as_default() as graph, tf.Session() as session:
    x = tf.placeholder(tf.float32, [None, 7, 6, 4])
    kernel = tf.constant(rng.normal(size=[*size, 4, 5]), tf.float32)
    results = []
    for conv2d in (matmul_gradient.conv2d, direct):
      results.append(
          values_and_gradients(conv2d, x, kernel, tf.constant(dy, tf.float32)))
      types = {op.type for op in graph.get_operations()}
      assert ('Conv2DBackpropFilter' in types) == (conv2d is direct)
    found, expected = session.run(results, {x: rng.normal(size=[8, 7, 6, 4])})
  for value, other in zip(found, expected):
    np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-4)


SHAPES = {'size': 7, 'kernel': [3, 3, 128, 128], 'dtype': 'bfloat16'}


@pytest.mark.parametrize('changes', [
    {}, {'size': 15}, {'kernel': [3, 3, 64, 128]}, {'kernel': [3, 3, 128, 64]},
    {'kernel': [5, 5, 128, 128]}, {'dtype': 'float32'}, {'conv': 'direct'},
    {'has_gpu': True}, {'features': {'avx512_bf16'}}, {'version': '1.15.5'}
], ids=str)  # yapf: disable
def test_auto_takes_it_where_it_was_measured_to_be_faster(monkeypatch, changes):
  case = dict(SHAPES, conv='auto', has_gpu=False, version='2.21.0',
              features={'avx512_bf16', 'amx_bf16'})
  case.update(changes)
  taken = []
  monkeypatch.setattr(tf, '__version__', case['version'])
  monkeypatch.setattr(processor, 'features', lambda: case['features'])
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: case['has_gpu'])
  monkeypatch.setattr(matmul_gradient, 'conv2d',
                      lambda *args: taken.append(args))
  with tf.Graph().as_default():
    kernel = tf.zeros(case['kernel'], case['dtype'])
    images = tf.zeros([4, case['size'], case['size'], case['kernel'][2]],
                      case['dtype'])
    with layers.build_options(conv=case['conv']):
      layers.conv2d(images, kernel)
  assert bool(taken) == (not changes)
