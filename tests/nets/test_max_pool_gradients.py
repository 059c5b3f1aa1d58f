"""Tests of the gradients below a max pooling."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.nets import layers
from cifar10.nets import max_pool_gradients
from cifar10.nets.techniques import Techniques
from cifar10.settings import Settings
from tests import graphs

# Small whole numbers: many windows have several equal maxima or none above 0,
# and sums of them are exact.
IMAGES = np.random.RandomState(1).randint(-3, 4, [4, 7, 6, 5])
BIASES = np.array([-1, 0, 1, 0, 2])


def pooled(x):
  return tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], padding='SAME')


def values(build, dtype):
  """What `build` makes of a layer's outputs; gradients of images and biases."""
  x, biases = (tf.constant(a, dtype) for a in (IMAGES, BIASES))
  y = build(x, biases)
  dy = np.random.RandomState(2).randint(-3, 4, y.shape.as_list())
  tensors = [y, *tf.gradients(y, [x, biases], tf.constant(dy, dtype))]
  return graphs.run([tf.cast(t, tf.float64) for t in tensors])


def layer(x, biases, portable=False, activation='relu'):
  """A convolution that changes nothing, biases and an activation function."""
  config = Settings(activation=activation, leaky_relu_slope=0.25)
  techniques = Techniques(config)
  kernel = tf.reshape(tf.eye(5, dtype=x.dtype), [1, 1, 5, 5])

  @layers.network
  def build(x):
    x = techniques.conv2d(x, kernel)
    return techniques.activation(techniques.bias_add(x, biases), 'conv1')

  with layers.build_options(is_portable=portable):
    return build(x)


# What follows a layer: the gradients that arrive at it come from one pooling,
# from two or from something else.
AFTER = {
    'pooling': pooled,
    'two poolings': lambda x: pooled(x) + 2 * pooled(x[:, ::-1])[:, ::-1],
    'a pooling and more': lambda x: pooled(x) + x[:, :4, :3],
    'a sum': lambda x: pooled(x + 1),
    'a difference of two layers': lambda x: pooled(x - tf.nn.relu(2 - x)),
    'no pooling': lambda x: 3 * x
}


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
@pytest.mark.parametrize('after', AFTER)
@pytest.mark.parametrize('activation', ['relu', 'leaky_relu'])
def test_gradients_are_those_of_the_operations_alone(dtype, after, activation):
  slope = {'relu': 0, 'leaky_relu': 0.25}[activation]
  follow = AFTER[after]
  found = values(lambda x, b: follow(layer(x, b, activation=activation)), dtype)

  def alone(x, biases):
    x = tf.nn.bias_add(x, biases)
    return follow(tf.nn.leaky_relu(x, slope) if slope else tf.nn.relu(x))

  rounded = tf.as_dtype(dtype).as_numpy_dtype
  for ours, theirs in zip(found, values(alone, 'float32')):
    np.testing.assert_array_equal(ours, theirs.astype(rounded).astype(float))


@pytest.mark.parametrize('portable', [True, False])
def test_they_are_computed_at_the_size_of_the_outputs(graph, portable):
  x, biases = tf.constant(IMAGES, tf.float32), tf.constant(BIASES, tf.float32)
  y = pooled(layer(x, biases, portable))
  tf.gradients(y, [x, biases])
  sizes = [
      operation.inputs[0].shape.as_list()[1:3]
      for operation in graph.get_operations()
      if operation.type in ('ReluGrad', 'BiasAddGrad')
  ]
  assert sizes == [[7, 6] if portable else [4, 3]] * 2


def test_the_gradients_differentiate_again(graph):
  x, biases = tf.constant(IMAGES, tf.float32), tf.constant(BIASES, tf.float32)
  y = pooled(layer(x, biases))
  slopes = tf.gradients(tf.square(y), biases)[0]
  curvature = tf.gradients(slopes, biases)[0]
  found, y = graphs.run([curvature, y])
  np.testing.assert_allclose(found, 2 * (y > 0).sum((0, 1, 2)))


def test_biases_may_be_those_of_the_second_axis(graph):
  with graph.gradient_override_map(max_pool_gradients.OVERRIDES):
    biases = tf.ones([7])
    y = tf.nn.bias_add(tf.constant(IMAGES, tf.float32), biases,
                       data_format='NCHW')
  found = graphs.run(tf.gradients(y, biases)[0])
  np.testing.assert_array_equal(found, [4 * 6 * 5] * 7)
