"""Losses of pretraining and their gradients, against numpy formulas."""

import itertools
import math

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.nets import pretraining
from cifar10.settings import Settings
from tests import graphs
from tests import reference


def tied_layer(name, batch=3):
  """A layer of the model on random images of 8 x 8 pixels."""
  images = np.random.RandomState(0).normal(size=[batch, 8, 8, 3])
  networks.inference(tf.constant(images, tf.float32), Settings(), varied=True)
  return pretraining.TiedLayer(name)


def run(tensors):
  """Other values of all variables, biases too, by name; and tensors of them."""
  random = np.random.RandomState(1)
  values = {}
  with graphs.session() as session:
    for variable in tf.global_variables():
      value = random.normal(0, 0.1, variable.shape.as_list())
      variable.load(value.astype(np.float32), session)
      values[variable.op.name] = value.astype(np.float32).astype(np.float64)
    return values, session.run(tensors)


@pytest.mark.parametrize('name', ['conv1', 'conv2'])
def test_a_convolutional_layer_leads_up_and_down(name):
  layer = tied_layer(name)
  shape = layer.inputs.shape.as_list()
  units = np.random.RandomState(2).normal(size=shape[:3] + [64])
  up = layer.up(layer.inputs)
  down = layer.down(tf.constant(units, tf.float32))
  values, (inputs, up, down) = run([layer.inputs, up, down])
  kernel = values[name + '/weights']
  expected, backward, _ = reference.conv2d(inputs, kernel, units)
  np.testing.assert_allclose(up, expected + values[name + '/biases'], atol=1e-4)
  # A gradient takes the same way down.
  np.testing.assert_allclose(down, backward + values[name + '/visible_biases'],
                             atol=1e-4)


def test_a_hidden_layer_leads_up_and_down():
  settings = Settings(hidden_layers='6,5,4')
  names = pretraining.layer_names(settings)
  assert names == ['conv1', 'conv2', 'local3', 'local4', 'local5']
  networks.inference(tf.random_normal([3, 8, 8, 3]), settings)
  layer = pretraining.TiedLayer('local5')
  assert layer.inputs.shape.as_list() == [3, 5]
  up = layer.up(layer.inputs)
  down = layer.down(up)
  values, (inputs, up, down) = run([layer.inputs, up, down])
  weights = values['local5/weights']
  np.testing.assert_allclose(up, inputs @ weights + values['local5/biases'],
                             atol=1e-5)
  expected = up @ weights.T + values['local5/visible_biases']
  np.testing.assert_allclose(down, expected, atol=1e-5)


def dense(values):
  """Weights, biases and visible biases of local4."""
  return [
      values['local4/' + name]
      for name in ('weights', 'biases', 'visible_biases')
  ]


def sigmoid(x):
  return 1 / (1 + np.exp(-x))


def gradients(loss):
  """The gradients of local4's weights, biases and visible biases."""
  variables = graphs.trained()
  found = tf.gradients(loss, dense(variables))
  # Nothing below the layer is trained.
  assert tf.gradients(loss, [variables['local3/weights']]) == [None]
  return found


def test_an_autoencoder_gives_its_inputs_back():
  layer = tied_layer('local4', 5)
  loss = pretraining.autoencoder_loss(layer, tf.sigmoid, lambda x: x * 0.5)
  values, (x, found, grads) = run([layer.inputs, loss, gradients(loss)])
  weights, biases, visible = dense(values)
  units = sigmoid(0.5 * x @ weights + biases)
  error = units @ weights.T + visible - x
  assert found == pytest.approx((error**2).sum(axis=1).mean() / 2, rel=1e-4)
  to_units = error @ weights * units * (1 - units)
  for grad, expected in zip(grads,
                            ((0.5 * x.T @ to_units + error.T @ units) / 5,
                             to_units.mean(axis=0), error.mean(axis=0))):
    np.testing.assert_allclose(grad, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize('activation', ['sigmoid', 'relu'])
def test_contrastive_divergence_is_the_gradient_of_an_rbm(
    activation, monkeypatch):
  numpy_means = {'sigmoid': sigmoid, 'relu': lambda x: np.log1p(np.exp(x))}
  means = {'sigmoid': tf.sigmoid, 'relu': tf.nn.softplus}[activation]
  # Samples that can be foretold.
  monkeypatch.setitem(pretraining._UNITS, activation, lambda x:
                      (means(x), tf.sin(x)))
  layer = tied_layer('local4', 5)
  loss = pretraining.rbm_loss(layer, activation)
  values, (x, found, grads) = run([layer.inputs, loss, gradients(loss)])
  weights, biases, visible = dense(values)
  means = numpy_means[activation]
  before = means(x @ weights + biases)
  back = np.sin(x @ weights + biases) @ weights.T + visible
  after = means(back @ weights + biases)
  distance = ((back - x)**2).sum(axis=1).mean() / 2
  assert found == pytest.approx(distance, rel=1e-4)
  for grad, expected in zip(grads, ((back.T @ after - x.T @ before) / 5,
                                    (after - before).mean(axis=0),
                                    (back - x).mean(axis=0))):
    np.testing.assert_allclose(grad, expected, rtol=1e-3, atol=1e-3)


def test_a_convolutional_rbm_averages_over_positions(monkeypatch):
  monkeypatch.setitem(pretraining._UNITS, 'relu', lambda x:
                      (tf.nn.relu(x), tf.nn.relu(x)))
  layer = tied_layer('conv2')
  loss = pretraining.rbm_loss(layer, 'relu')
  grad = tf.gradients(loss, graphs.trained()['conv2/weights'])[0]
  values, (x, grad) = run([layer.inputs, grad])
  weights, biases = values['conv2/weights'], values['conv2/biases']

  def up(inputs):
    linear, _, _ = reference.conv2d(inputs, weights, np.zeros_like(x))
    return np.maximum(linear + biases, 0)

  before = up(x)
  _, back, positive = reference.conv2d(x, weights, before)
  back = back + values['conv2/visible_biases']
  _, _, negative = reference.conv2d(back, weights, up(back))
  positions = x.size / 64
  np.testing.assert_allclose(grad, (negative - positive) / positions, rtol=1e-3,
                             atol=1e-4)


def test_samples_have_their_means():
  x = np.array([-2.0, -0.5, 0.0, 1.0, 3.0])
  count = 40000
  repeated = tf.constant(np.tile(x, [count, 1]), tf.float32)
  binary, rectified = graphs.run(
      [pretraining._binary(repeated),
       pretraining._rectified(repeated)])
  means, samples = binary
  assert set(samples.ravel()) == {0.0, 1.0}
  np.testing.assert_allclose(means[0], sigmoid(x), rtol=1e-5)
  error = 4 * 0.5 / math.sqrt(count)
  np.testing.assert_allclose(samples.mean(axis=0), sigmoid(x), atol=error)
  means, samples = rectified
  np.testing.assert_allclose(means[0], np.log1p(np.exp(x)), rtol=1e-5)
  # The mean of a rectified normal distribution.
  deviation = np.sqrt(sigmoid(x))
  scaled = x / deviation
  density = np.exp(-(scaled**2) / 2) / math.sqrt(2 * math.pi)
  share = np.array([0.5 * (1 + math.erf(s / math.sqrt(2))) for s in scaled])
  np.testing.assert_allclose(samples.mean(axis=0),
                             x * share + deviation * density, atol=2 * error)


def test_the_margin_wants_real_images_to_score_higher_by_one():
  real = np.array([[2.0], [0.5], [-1.0]], np.float32)
  corrupted = np.array([[0.5], [0.0], [1.0]], np.float32)
  loss = pretraining.margin_loss(tf.constant(real), tf.constant(corrupted))
  assert graphs.run(loss) == pytest.approx((0 + 0.5 + 3) / 3)


@pytest.mark.parametrize(
    'labels', [[0, 1, 0, 2, 1, 0], [0, 1, 2, 3, 4, 5], [3, 3, 3, 3, 3, 3]])
def test_pairs_of_a_label_are_near_and_others_apart(labels):
  # The distance of the first two is 0, of others below and above the margin.
  outputs = np.random.RandomState(0).normal(0, 0.5, [6, 3])
  outputs[1] = outputs[0]
  near, far = [], []
  for first, second in itertools.combinations(range(6), 2):
    is_same = labels[first] == labels[second]
    (near if is_same else far).append((first, second))
  expected, gradient = 0.0, np.zeros_like(outputs)
  for first, second in near:
    between = outputs[first] - outputs[second]
    expected += between @ between / len(near)
    gradient[first] += 2 * between / len(near)
    gradient[second] -= 2 * between / len(near)
  for first, second in far:
    between = outputs[first] - outputs[second]
    distance = np.sqrt(between @ between)
    expected += max(0, 1 - distance)**2 / len(far)
    if 0 < distance < 1:
      push = 2 * (1 - distance) / distance * between / len(far)
      gradient[first] -= push
      gradient[second] += push
  distances = [np.linalg.norm(outputs[i] - outputs[j]) for i, j in far + near]
  assert min(distances) == 0 and any(0 < d < 1 for d in distances)
  assert max(distances) > 1
  given = tf.constant(outputs, tf.float32)
  loss = pretraining.contrastive_loss(given, tf.constant(labels, tf.int32))
  found, found_gradient = graphs.run([loss, tf.gradients(loss, given)[0]])
  assert found == pytest.approx(expected, rel=1e-5)
  np.testing.assert_allclose(found_gradient, gradient, rtol=1e-4, atol=1e-5)
