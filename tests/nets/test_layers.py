"""The layers of the model: variables, normalization, summaries."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.nets import activations
from cifar10.nets import layers
from cifar10.util import session_settings
from tests import graphs
from tests import reference

ALPHA = 0.001 / 9.0


def values_and_gradients(normalize, x, dy):
  """The outputs of `normalize` for `x`, and its gradients for `dy`."""
  x = tf.constant(x)
  y = normalize(x)
  return graphs.run([y, tf.gradients(y, x, tf.constant(dy))[0]])


def random_pair(scale, channels, dtype=np.float32):
  random = np.random.RandomState(channels)
  shape = [3, 5, 7, channels]
  return ((scale * random.randn(*shape)).astype(dtype),
          random.randn(*shape).astype(dtype))


# Activations of usual size, much smaller ones, and ones whose weighted sum of
# squares outweighs the bias.
@pytest.mark.parametrize('scale', [1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize('depth_radius', [0, 1, 4])
def test_banded_normalization_is_exact_in_float64(scale, depth_radius):
  x, dy = random_pair(scale, 16, np.float64)
  ours, gradients = values_and_gradients(
      lambda x: layers.banded_lrn(x, depth_radius, 1.0, ALPHA, 'norm'), x, dy)

  def expected(x):
    return reference.local_response_norm(x, depth_radius, ALPHA)

  np.testing.assert_allclose(ours, expected(x), rtol=1e-12)
  # The derivative in a random direction, by central differences.
  direction = np.random.RandomState(0).randn(*x.shape)
  step = 1e-5 * scale
  difference = expected(x + step * direction) - expected(x - step * direction)
  slope = (difference * dy).sum() / (2 * step)
  assert (gradients * direction).sum() == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize('has_gpu, portable', [(True, False), (False, False),
                                               (False, True)])
def test_cpus_get_the_banded_normalization_unless_it_must_be_portable(
    graph, monkeypatch, has_gpu, portable):
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: has_gpu)
  with layers.build_options(is_portable=portable):
    y = layers.lrn(tf.ones([1, 2, 2, 64]), 4, 1.0, ALPHA, 0.75, 'norm1')
  assert y.op.name == 'norm1'
  types = [operation.type for operation in graph.get_operations()]
  assert types.count('LRN') == (y.op.type == 'LRN') == (has_gpu or portable)


# `bits` of the significand, with the one that is not stored. Where the sums are
# in bfloat16, squares and sums are rounded, too, or even cut off, and the
# outputs have a power of -0.75 of them.
@pytest.mark.parametrize('dtype, bits, portable, has_bfloat16, roundings',
                         [('bfloat16', 8, False, True, 1 + 0.75 * 3),
                          ('bfloat16', 8, False, False, 1),
                          ('bfloat16', 8, True, True, 1),
                          ('float16', 11, False, True, 1),
                          ('float16', 11, True, True, 1)])
@pytest.mark.parametrize('is_training', [True, False])
def test_half_precision_is_normalized_in_float32_and_rounded(
    monkeypatch, dtype, bits, portable, has_bfloat16, roundings, is_training):
  monkeypatch.setattr(session_settings, 'cpu_has_bfloat16',
                      lambda: has_bfloat16)
  x, dy = (tf.cast(tf.constant(a), dtype) for a in random_pair(30.0, 64))
  with layers.build_options(is_portable=portable, is_training=is_training):
    y = layers.lrn(x, 4, 1.0, ALPHA, 0.75, 'norm')
  gradients = tf.gradients(y, x, dy)[0]
  assert y.dtype == gradients.dtype == dtype and y.op.name == 'norm'
  wide = tf.cast(x, tf.float64)
  exact = layers.banded_lrn(wide, 4, 1.0, ALPHA, 'exact')
  exact_gradients = tf.gradients(exact, wide, tf.cast(dy, tf.float64))[0]
  found = [tf.cast(value, tf.float64) for value in (y, gradients)]
  found, wide, exact_gradients = graphs.run([found, wide, exact_gradients])
  expected = reference.local_response_norm(wide, 4, ALPHA)
  half_a_place = 1.001 * 2.0**-bits
  np.testing.assert_allclose(found[0], expected, atol=1e-7,
                             rtol=roundings * half_a_place)
  # Of gradients, which are differences, the larger term is rounded.
  largest = np.abs(exact_gradients).max()
  np.testing.assert_allclose(
      found[1], exact_gradients, rtol=half_a_place,
      atol=1e-5 if roundings == 1 else half_a_place * largest)


@pytest.mark.skipif(tf.__version__ < '2', reason='compiled in TensorFlow 2')
@pytest.mark.parametrize('kind, dtype, is_training, has_gpu, expected',
                         [('norm', 'bfloat16', True, False, 4),
                          ('norm', 'bfloat16', False, False, 0),
                          ('norm', 'bfloat16', True, True, 0),
                          ('norm', 'float32', True, False, 0),
                          ('gelu', 'bfloat16', True, False, 2),
                          ('gelu', 'float32', True, False, 2),
                          ('gelu', 'float32', False, False, 0),
                          ('gelu', 'float32', True, True, 0)])
def test_loops_are_compiled_in_training_on_a_cpu(monkeypatch, kind, dtype,
                                                 is_training, has_gpu,
                                                 expected):
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: has_gpu)
  with tf.device('/cpu:0'):
    x = tf.cast(tf.placeholder(tf.float32, [None, 2, 2, 64], 'images'), dtype)
    with layers.build_options(is_training=is_training):
      if kind == 'norm':
        y = layers.lrn(x, 4, 1.0, ALPHA, 0.75, 'norm')
      else:
        y = activations.activate(x, 'gelu', is_training, name='conv1')
    slopes = tf.gradients(y, x)[0]
  metadata, options = tf.RunMetadata(), tf.RunOptions(
      trace_level=tf.RunOptions.FULL_TRACE)
  with tf.Session() as session:
    session.run([y, slopes], {'images:0': np.ones([3, 2, 2, 64])}, options,
                metadata)
  labels = [
      node.timeline_label
      for device in metadata.step_stats.dev_stats
      for node in device.node_stats
  ]
  assert sum('_XlaRun(' in label for label in labels) == expected


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16', 'float16'])
def test_the_variable_scope_sets_the_type_of_values_but_not_of_variables(dtype):
  with layers.compute_in(dtype), tf.variable_scope('layer'):
    weights = layers.variable_with_weight_decay('weights', [30, 40],
                                                stddev=0.05, wd=0.004)
    biases = layers.variable_on_cpu('biases', [40],
                                    tf.constant_initializer(0.1))
    exact = layers.variable_on_cpu('exact', [40], tf.constant_initializer(0.1),
                                   dtype=tf.float32)
  assert weights.dtype.base_dtype == biases.dtype.base_dtype == dtype
  variables = graphs.trained()
  # Without a cast, an old program gets the variable, which it can assign to.
  assert exact is variables['layer/exact']
  assert (weights is variables['layer/weights']) == (dtype == tf.float32)
  assert sorted(variables) == ['layer/biases', 'layer/exact', 'layer/weights']
  for variable in variables.values():
    assert variable.dtype.base_dtype == tf.float32
    assert variable.device == '/device:CPU:0'
  (loss,) = tf.get_collection('losses')
  assert loss.op.name == 'layer/weight_loss' and loss.dtype == tf.float32


@pytest.mark.parametrize('dtype', [tf.float32, tf.bfloat16])
@pytest.mark.parametrize('first, zeros', [(0, 1 - 112 / 128 * 0.4), (2, 0.6)])
def test_sparsity_is_of_the_batch_and_the_histogram_of_its_first_images(
    dtype, first, zeros):
  x = np.zeros([128, 10], np.float32)
  x[:16, :4], x[16:, :4] = first, 3
  with tf.variable_scope('layer'):
    layers.activation_summary(tf.cast(x, dtype))
  summary = tf.Summary.FromString(graphs.run(tf.summary.merge_all()))
  values = {value.tag: value for value in summary.value}
  assert values['layer/activations'].histo.num == 160
  assert values['layer/activations'].histo.sum == 64 * first
  assert values['layer/sparsity'].simple_value == pytest.approx(zeros)
