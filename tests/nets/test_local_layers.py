"""Locally connected layers: their arithmetic, and the model with them."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import networks
from cifar10.nets import local_layers
from cifar10.settings import Settings
from tests import graphs
from tests import reference

# Besides the convolutions, which are the tutorial's.
VARIABLES = {
    'local3/weights': [6, 6, 3, 3, 64, 64],
    'local3/biases': [6, 6, 64],
    'local4/weights': [6, 6, 3, 3, 64, 32],
    'local4/biases': [6, 6, 32],
    'softmax_linear/weights': [1152, 10],
    'softmax_linear/biases': [10]
}


def random_pair(height, width, rows, columns, dtype=np.float64):
  """Images and weights."""
  random = np.random.RandomState(0)
  x = random.randn(2, height, width, 3)
  weights = random.randn(height, width, rows, columns, 3, 4)
  return x.astype(dtype), weights.astype(dtype)


# Height and width of the images, then of the windows.
SHAPES = [(5, 4, 3, 3), (4, 5, 3, 1), (3, 5, 1, 5), (2, 2, 5, 3)]


@pytest.mark.parametrize('shape', SHAPES)
def test_each_position_has_filters_of_its_own_and_exact_gradients(shape):
  values = random_pair(*shape)
  tensors = [tf.constant(value) for value in values]
  y = local_layers.locally_connected(*tensors)
  random = np.random.RandomState(1)
  dy = random.randn(*y.shape.as_list())
  found, gradients = graphs.run([y, tf.gradients(y, tensors, tf.constant(dy))])
  expected = reference.locally_connected(*values)
  assert y.shape.as_list() == list(expected.shape)
  np.testing.assert_allclose(found, expected, atol=1e-12)
  # The derivatives in random directions. The layer is linear in each of its
  # inputs, so the differences are exact.
  for i, gradient in enumerate(gradients):
    for _ in range(3):
      direction = random.randn(*gradient.shape)
      moved = list(values)
      moved[i] = direction
      slope = (reference.locally_connected(*moved) * dy).sum()
      assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-9)


LOCAL = Settings(top_layers='local')


def random_images(count):
  return tf.random_normal([count, 24, 24, 3], seed=2)


def test_the_model_has_the_variables_of_cuda_convnet():
  logits = networks.inference(random_images(2), LOCAL)
  assert logits.op.name == 'softmax_linear/softmax_linear'
  assert logits.shape.as_list() == [2, 10]
  shapes = {name: v.shape.as_list() for name, v in graphs.trained().items()}
  assert VARIABLES.items() <= shapes.items() and len(shapes) == 10
  assert sum(np.prod(shape) for shape in shapes.values()) == 2112970


def test_the_model_computes_what_its_layers_compute(graph):
  images = random_images(3)
  logits = networks.inference(images, LOCAL)
  tensors = [
      graph.get_tensor_by_name(name + ':0')
      for name in ('pool2', 'local3/local3', 'local4/local4')
  ]
  values, logits, (pool2, local3,
                   local4) = graphs.run([graphs.trained(), logits, tensors])

  def layer(x, name):
    y = reference.locally_connected(x, values[name + '/weights'])
    return np.maximum(y + values[name + '/biases'], 0)

  np.testing.assert_allclose(local3, layer(pool2, 'local3'), atol=1e-4)
  np.testing.assert_allclose(local4, layer(local3, 'local4'), atol=1e-4)
  expected = local4.reshape([3, 1152]).dot(values['softmax_linear/weights'])
  np.testing.assert_allclose(logits, expected, atol=1e-4)
  assert 0 < (local3 == 0).mean() < 1


def test_the_first_loss_is_the_entropy_and_the_decay_of_both_layers():
  logits = networks.inference(random_images(64), LOCAL)
  labels = tf.random_uniform([64], 0, 10, tf.int32, seed=3)
  losses = tf.get_collection('losses')
  assert [loss.op.name for loss in losses
         ] == ['local3/weight_loss', 'local4/weight_loss']
  total_loss = cifar10.loss(logits, labels)
  values, decay, total = graphs.run([graphs.trained(), losses, total_loss])
  for layer, found in zip(('local3', 'local4'), decay):
    weights = values[layer + '/weights'].astype(np.float64)
    assert weights.std() == pytest.approx(0.8796 * 0.04, rel=0.01)
    assert found == pytest.approx(0.004 * (weights**2).sum() / 2, rel=1e-4)
    assert (values[layer + '/biases'] == np.float32(0.1)).all()
  assert total - sum(decay) == pytest.approx(np.log(10), abs=0.05)
