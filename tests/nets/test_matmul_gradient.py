"""The convolution with a product for the gradient of each place in a kernel."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.nets import layers
from cifar10.nets import matmul_gradient
from cifar10.util import processor
from cifar10.util import session_settings
from tests import graphs
from tests import reference


@pytest.mark.parametrize('size', [(3, 3), (5, 2), (4, 1)])
def test_it_agrees_with_the_direct_algorithm(graph, size):
  rng = np.random.RandomState(0)
  values = [
      rng.normal(size=shape)
      for shape in ([8, 7, 6, 4], [*size, 4, 5], [8, 7, 6, 5])
  ]
  x = tf.placeholder(tf.float32, [None, 7, 6, 4])
  kernel, dy = (tf.constant(value, tf.float32) for value in values[1:])
  y = matmul_gradient.conv2d(x, kernel)
  found = graphs.run([y, *tf.gradients(y, [x, kernel], dy)], {x: values[0]})
  for value, expected in zip(found, reference.conv2d(*values)):
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4)
  types = {operation.type for operation in graph.get_operations()}
  assert 'Conv2DBackpropFilter' not in types


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
  kernel = tf.zeros(case['kernel'], case['dtype'])
  images = tf.zeros([4, case['size'], case['size'], case['kernel'][2]],
                    case['dtype'])
  with layers.build_options(conv=case['conv']):
    layers.conv2d(images, kernel)
  assert bool(taken) == (not changes)
