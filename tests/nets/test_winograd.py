"""Winograd's algorithm, against exact and direct convolutions."""

from fractions import Fraction

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.nets import layers
from cifar10.nets import winograd
from tests import graphs
from tests import reference


@pytest.mark.parametrize(
    'm, r',
    [(m, r) for r in range(1, 11) for m in range(max(1, 3 - r), 12 - r)])
def test_the_matrices_give_exact_convolutions(m, r):
  output, kernel, inputs = (np.array(a) for a in winograd.matrices(m, r))
  weights = np.array([Fraction(7 * i + 2, 3) for i in range(r)])
  data = np.array([Fraction(5 - i * i, i + 1) for i in range(m + r - 1)])
  expected = [(weights * data[i:i + r]).sum() for i in range(m)]
  found = output.dot(kernel.dot(weights) * inputs.dot(data))
  assert found.tolist() == expected


def random_values(batch, size, kernel, channels, filters, dtype):
  random = np.random.RandomState(0)
  return [
      random.randn(*shape).astype(dtype)
      for shape in ([batch, *size, channels], [*kernel, channels, filters],
                    [batch, *size, filters])
  ]


def values_and_gradients(x, kernel, dy, needed=None):
  """The outputs for `x`, and the gradients for `dy` to `x` and `kernel`."""
  batch = tf.placeholder(x.dtype, [None, *x.shape[1:]])
  weights = tf.constant(kernel)
  y = winograd.conv2d(batch, weights, needed)
  assert y.shape.as_list() == [None, *dy.shape[1:]]
  gradients = tf.gradients(y, [batch, weights], tf.constant(dy))
  return graphs.run([y] + gradients, {batch: x})


@pytest.mark.parametrize(
    'batch, size, kernel, channels, filters',
    [
        (3, (12, 12), (5, 5), 7, 5),  # The model's, except for the channels.
        (1, (12, 12), (3, 3), 3, 4),
        (2, (13, 11), (5, 5), 3, 2),  # Not a whole number of tiles.
        (2, (7, 9), (3, 5), 2, 3),
        (5, (1, 2), (5, 3), 1, 1),  # Smaller than the kernel.
        (2, (6, 5), (4, 2), 3, 2),  # More padding after than before.
        (2, (8, 8), (7, 1), 2, 2),
        (1, (33, 5), (10, 6), 1, 3),
        (1, (1, 1), (1, 1), 2, 3),
        (0, (6, 6), (3, 3), 2, 3)
    ])
def test_it_agrees_with_the_direct_algorithm(batch, size, kernel, channels,
                                             filters):
  # In float64 nothing but the algorithm itself is left to differ.
  x, kernel, dy = random_values(batch, size, kernel, channels, filters,
                                np.float64)
  # The last row and column may be left out.
  for rows, columns in size, [max(1, side - 1) for side in size]:
    needed = dy[:, :rows, :columns]
    found = values_and_gradients(x, kernel, needed, (rows, columns))
    dy[:, rows:] = dy[:, :, columns:] = 0
    y, *gradients = reference.conv2d(x, kernel, dy)
    for value, expected in zip(found, [y[:, :rows, :columns], *gradients]):
      np.testing.assert_allclose(value, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    'size, kernel, channels, typical',
    [
        (12, 5, 64, 2.5e-5),  # 10 points.
        (24, 5, 32, 2.5e-5),
        (6, 7, 64, 2.5e-5),
        (12, 3, 64, 5e-6),  # 8 points.
        (8, 5, 64, 5e-6)
    ])
def test_rounding_errors_are_as_stated(size, kernel, channels, typical):
  values = random_values(8, (size, size), (kernel, kernel), channels, channels,
                         np.float32)
  for found, expected in zip(values_and_gradients(*values),
                             reference.conv2d(*values)):
    error = found - expected
    assert error.std() < typical * expected.std()
    assert np.abs(error).max() < 20 * typical * expected.std()


@pytest.mark.parametrize('dtype', ['bfloat16', 'float16'])
def test_low_precision_rounds_inputs_and_outputs_only(dtype):
  x, kernel, _ = random_values(2, (12, 12), (5, 5), 16, 8, np.float32)
  x, kernel = (tf.cast(tf.constant(a), dtype) for a in (x, kernel))
  y = winograd.conv2d(x, kernel)
  assert y.dtype == dtype
  exact = winograd.conv2d(tf.cast(x, tf.float32), tf.cast(kernel, tf.float32))
  gradients = tf.gradients(y, [x, kernel])
  assert [gradient.dtype for gradient in gradients] == [dtype] * 2
  found, expected = graphs.run(
      [tf.cast(y, tf.float32),
       tf.cast(tf.cast(exact, dtype), tf.float32)])
  np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize('algorithm', ['direct', 'winograd'])
def test_images_of_float32_take_a_kernel_of_low_precision(algorithm):
  x, kernel, _ = random_values(2, (12, 12), (5, 5), 16, 8, np.float32)
  kernel = tf.cast(kernel, 'float16')
  with layers.build_options(conv=algorithm):
    y = layers.conv2d(tf.constant(x), kernel)
  assert y.dtype == ('float16' if algorithm == 'direct' else 'float32')
  expected = tf.nn.conv2d(x, tf.cast(kernel, tf.float32), 1, 'SAME')
  found, expected = graphs.run([tf.cast(y, tf.float32), expected])
  tolerance = 1e-2 if algorithm == 'direct' else 20 * 2.5e-5
  np.testing.assert_allclose(found, expected, 0, tolerance * expected.std())


def test_a_large_kernel_is_refused():
  with pytest.raises(ValueError, match='size 11; expected at most 10'):
    winograd.conv2d(tf.zeros([1, 16, 16, 1]), tf.zeros([3, 11, 1, 1]))


def convolution(algorithm, shape, kernel, dtype='float32'):
  """The type of the last operation of a convolution by an algorithm."""
  x = tf.placeholder(dtype, shape)
  with layers.build_options(conv=algorithm):
    return layers.conv2d(x, tf.zeros(kernel, dtype)).op.type


def test_auto_chooses_by_device_type_and_size(monkeypatch):
  monkeypatch.setattr(winograd.session_settings, 'has_gpu', lambda: False)
  conv1 = [None, 24, 24, 3], [5, 5, 3, 64]
  conv2 = [None, 12, 12, 64], [5, 5, 64, 64]
  assert convolution('auto', *conv1) == 'Conv2D'
  assert convolution('auto', *conv2) == 'Identity'
  assert convolution('direct', *conv2) == 'Conv2D'
  assert convolution('winograd', *conv1) == 'Identity'
  assert convolution('auto', [1, 12, 12, 64], conv2[1]) == 'Conv2D'
  assert convolution('auto', [None, 48, 48, 64], conv2[1]) == 'Conv2D'
  small = [None, 12, 12, 64], [3, 3, 64, 64]
  faster = {
      'avx512f': ('Identity', 'Identity'),
      'avx512f avx512_bf16': ('Conv2D', 'Identity'),
      'avx512_bf16 amx_bf16': ('Conv2D', 'Conv2D')
  }
  for features, expected in faster.items():
    monkeypatch.setattr(winograd.session_settings.processor, 'features',
                        lambda found=features: set(found.split()))
    # TensorFlow 1 computes in bfloat16 on no processor.
    wanted = expected if tf.__version__ >= '2' else faster['avx512f']
    assert wanted == (convolution('auto', *small, dtype='bfloat16'),
                      convolution('auto', *conv2, dtype='bfloat16'))
  monkeypatch.setattr(winograd.session_settings, 'has_gpu', lambda: True)
  assert convolution('auto', *conv2) == 'Conv2D'
