"""Activation functions and their gradients, against their formulas."""

import math

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.nets import activations
from cifar10.nets import layers
from cifar10.nets.techniques import Techniques
from cifar10.settings import FIELDS
from cifar10.settings import Settings
from tests import graphs

_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805


def leaky(slope):
  return lambda x: x if x > 0 else slope * x


def elu(x):
  return x if x > 0 else math.expm1(x)


FORMULAS = {
    'relu': lambda x: max(x, 0.0),
    'leaky_relu': leaky(0.2),
    'rrelu': leaky((1 / 8 + 1 / 3) / 2),
    'prelu': leaky(0.25),
    'elu': elu,
    'selu': lambda x: _SCALE * (x if x > 0 else _ALPHA * math.expm1(x)),
    'gelu': lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    'tanh': math.tanh,
    'sigmoid': lambda x: 1 / (1 + math.exp(-x))
}

NAMES = FIELDS['activation'].metadata['choices']
X = np.linspace(-4, 4, 80).reshape(10, 8) + 0.01


# In training, rrelu is random: see below.
@pytest.mark.parametrize('name, is_training',
                         [(name, False) for name in NAMES] +
                         [(name, True) for name in NAMES if name != 'rrelu'])
def test_values_and_gradients_are_the_formulas(name, is_training):
  formula = np.vectorize(FORMULAS[name])
  x = tf.constant(X, tf.float32)
  y = activations.activate(x, name, is_training, name='conv1')
  found, slopes = graphs.run([y, tf.gradients(y, x)[0]])
  np.testing.assert_allclose(found, formula(X), rtol=1e-5, atol=1e-6)
  small = 1e-6
  expected = (formula(X + small) - formula(X - small)) / (2 * small)
  np.testing.assert_allclose(slopes, expected, rtol=1e-3, atol=1e-4)
  assert y.op.name == 'conv1'


@pytest.mark.parametrize('version', ['1.15.5', '2.21.0'])
def test_a_portable_gelu_has_the_same_values(monkeypatch, version):
  monkeypatch.setattr(tf, '__version__', version)
  x = tf.constant(X, tf.float32)
  with layers.build_options(is_portable=True):
    y = activations.activate(x, 'gelu', False, 'conv1')
  np.testing.assert_allclose(graphs.run(y),
                             np.vectorize(FORMULAS['gelu'])(X), atol=1e-6)
  assert y.op.name == 'conv1'
  types = {op.type for op in y.graph.get_operations()}
  # IdentityN carries the name of a gradient that only this process knows.
  assert 'IdentityN' not in types
  assert ('Erf' in types) == (version >= '2')


@pytest.mark.parametrize('slope', [0.0, 0.01, 1.0])
def test_leaky_relu_has_the_slope_of_the_settings(slope):
  settings = Settings(activation='leaky_relu', leaky_relu_slope=slope)
  x = tf.constant(X, tf.float32)
  y = Techniques(settings).activation(x, name='conv1')
  found, slopes = graphs.run([y, tf.gradients(y, x)[0]])
  np.testing.assert_allclose(found, np.where(X > 0, X, slope * X), rtol=1e-5)
  np.testing.assert_allclose(slopes, np.where(X > 0, 1, slope))


def test_rrelu_draws_its_slopes_in_training():
  x = tf.constant(-np.ones([100, 100]), tf.float32)
  y = activations.activate(x, 'rrelu', is_training=True, name='a')
  found, slopes = graphs.run([-y, tf.gradients(y, x)[0]])
  assert 1 / 8 <= found.min() < 0.13 and 0.33 < found.max() <= 1 / 3 + 1e-6
  assert found.mean() == pytest.approx((1 / 8 + 1 / 3) / 2, rel=0.01)
  np.testing.assert_allclose(slopes, found)
  above = tf.ones([10])
  np.testing.assert_array_equal(
      graphs.run(activations.activate(above, 'rrelu', True, 'b')), 1)


def test_the_slopes_of_prelu_are_trained_for_each_channel():
  x = tf.constant(-np.arange(8.0).reshape(2, 4), tf.float32)
  with tf.variable_scope('conv1'):
    y = activations.activate(x, 'prelu', is_training=True, name='a')
  (slopes,) = tf.trainable_variables()
  assert slopes.op.name == 'conv1/prelu_slopes'
  gradient = graphs.run(tf.gradients(y, slopes)[0])
  np.testing.assert_allclose(gradient, [-4, -6, -8, -10])


@pytest.mark.parametrize('name', ['relu', 'elu'])
def test_every_hidden_layer_has_it(name, graph):
  images = tf.random_normal([2, 24, 24, 3])
  networks.inference(images, Settings(activation=name), is_training=True)
  types = [operation.type for operation in graph.get_operations()]
  assert types.count(name.title()) == 4


@pytest.mark.parametrize('name', NAMES)
def test_it_computes_in_bfloat16_too(name):
  x = tf.constant(X, tf.bfloat16)
  y = activations.activate(x, name, is_training=False, name='conv1')
  assert (y.dtype, y.op.name) == (tf.bfloat16, 'conv1')
  found = graphs.run(tf.cast(y, tf.float32))
  expected = np.vectorize(FORMULAS[name])(X)
  np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.02)
