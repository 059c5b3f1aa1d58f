"""What the model is made of: normalization and activations."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.model import layers
from tests import reference

ALPHA = 0.001 / 9.0


@pytest.fixture(autouse=True)
def graph():
  with tf.Graph().as_default() as graph:
    yield graph


def values_and_gradients(normalize, x, dy):
  """What `normalize` makes of `x`, and of `dy` on the way back."""
  x = tf.constant(x)
  y = normalize(x)
  with tf.Session() as session:
    return session.run([y, tf.gradients(y, x, tf.constant(dy))[0]])


def random_pair(scale, channels, dtype=np.float32):
  random = np.random.RandomState(channels)
  shape = [3, 5, 7, channels]
  return (
    (scale * random.randn(*shape)).astype(dtype),
    random.randn(*shape).astype(dtype),
  )


# Of the sizes that activations have, much smaller, and where the sum over the
# neighbours outweighs the one beside it.
@pytest.mark.parametrize('scale', [1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize('channels', [3, 64])
def test_banded_normalization_is_tensorflows(scale, channels):
  x, dy = random_pair(scale, channels)
  ours, our_gradients = values_and_gradients(
    lambda x: layers.banded_lrn(x, 4, ALPHA, 'norm'), x, dy
  )
  theirs, their_gradients = values_and_gradients(
    lambda x: tf.nn.lrn(x, 4, 1.0, ALPHA, 0.75), x, dy
  )
  np.testing.assert_allclose(ours, theirs, rtol=1e-5)
  largest = np.abs(their_gradients).max()
  np.testing.assert_allclose(
    our_gradients, their_gradients, rtol=1e-4, atol=1e-5 * largest
  )


@pytest.mark.parametrize('scale', [1.0, 30.0])
@pytest.mark.parametrize('depth_radius', [0, 1, 4])
def test_banded_normalization_is_exact_in_float64(scale, depth_radius):
  x, dy = random_pair(scale, 16, np.float64)
  ours, gradients = values_and_gradients(
    lambda x: layers.banded_lrn(x, depth_radius, ALPHA, 'norm'), x, dy
  )

  def expected(x):
    return reference.local_response_norm(x, depth_radius, ALPHA)

  np.testing.assert_allclose(ours, expected(x), rtol=1e-12)
  # The slope in a random direction, by central differences.
  direction = np.random.RandomState(0).randn(*x.shape)
  step = 1e-5 * scale
  difference = expected(x + step * direction) - expected(x - step * direction)
  slope = (difference * dy).sum() / (2 * step)
  assert (gradients * direction).sum() == pytest.approx(slope, rel=1e-7)


def test_banded_normalization_takes_any_batch_size():
  x, _ = random_pair(1.0, 64)
  images = tf.placeholder(tf.float32, [None, 5, 7, 64])
  y = layers.banded_lrn(images, 4, ALPHA, 'norm')
  assert y.shape.as_list() == [None, 5, 7, 64]
  with tf.Session() as session:
    for count in (1, 3):
      found = session.run(y, {images: x[:count]})
      expected = reference.local_response_norm(x[:count], 4, ALPHA)
      np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize('has_gpu', [True, False])
def test_the_normalization_is_the_one_that_is_fast_here(
  graph, monkeypatch, has_gpu
):
  monkeypatch.setattr(layers.sessions, 'has_gpu', lambda: has_gpu)
  y = layers.local_response_norm(tf.ones([1, 2, 2, 64]), 4, ALPHA, 'norm1')
  assert y.op.name == 'norm1'
  assert y.op.type == ('LRN' if has_gpu else 'Reshape')
  norms = [o for o in graph.get_operations() if o.type == 'LRN']
  for norm in norms:
    assert norm.get_attr('depth_radius') == 4
    assert norm.get_attr('bias') == 1
    assert norm.get_attr('alpha') == pytest.approx(ALPHA)
    assert norm.get_attr('beta') == 0.75


@pytest.mark.parametrize(
  'dtype, rounding', [(tf.bfloat16, 2.0**-8), (tf.float16, 2.0**-11)]
)
def test_half_precision_is_normalized_in_float32(dtype, rounding):
  x, _ = random_pair(30.0, 64)
  half = tf.cast(tf.constant(x), dtype)
  y = layers.local_response_norm(half, 4, ALPHA, 'norm')
  assert y.dtype == dtype
  with tf.Session() as session:
    found, x = session.run([tf.cast(y, tf.float32), tf.cast(half, tf.float32)])
  expected = reference.local_response_norm(x.astype(np.float64), 4, ALPHA)
  # Rounded once, at the end.
  np.testing.assert_allclose(found, expected, rtol=1.01 * rounding, atol=1e-7)


def test_activations_are_summarized_of_some_images():
  x = np.zeros([40, 10], np.float32)
  x[:16, :4] = 2
  with tf.variable_scope('layer'):
    layers.activation_summary(tf.constant(x))
  with tf.Session() as session:
    summary = tf.Summary.FromString(session.run(tf.summary.merge_all()))
  values = {value.tag: value for value in summary.value}
  assert values['layer/activations'].histo.num == 160
  assert values['layer/activations'].histo.sum == 128
  assert values['layer/sparsity'].simple_value == pytest.approx(0.6)
