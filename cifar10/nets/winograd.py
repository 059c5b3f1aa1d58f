"""Convolution with fewer multiplications, after Toom, Cook and Winograd.

Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015,
arXiv 1509.09308. A convolution multiplies two polynomials, and a product of
polynomials is known from its values at enough points. So m outputs of a kernel
with r weights take n = m + r - 1 multiplications instead of m r, and a tile of
m x m pixels takes n x n instead of (m r) x (m r): with 6 x 6 pixels and 5 x 5
weights, 100 instead of 900.

There are three steps of matrix products: the values of images and kernel at the
points, their products over the channels, and the pixels from these.

The price is rounding: in float32, the standard deviation of the error is up to
2.5e-5 of that of the outputs with 10 points, 5e-6 with 8, and 3e-7 in a direct
convolution. Products in bfloat16 would make it 0.25, so all of it is float32.
"""

import collections
from fractions import Fraction
import functools

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.util import session_settings

# For each even number of points, all points but infinity. The 10 are the pairs
# of a fraction and its reciprocal that had the smallest error of those tried.
_FINITE_POINTS = {
    2: '0',
    4: '0 1 -1',
    6: '0 1 -1 2 -2',
    8: '0 1 -1 1/2 -1/2 2 -2',
    10: '0 2/5 -2/5 4/5 -4/5 5/4 -5/4 5/2 -5/2'
}
_MAX_POINTS = max(_FINITE_POINTS)

# The matrices for one axis of images, float64: kernel [points, weights]; inputs
# and outputs, between pixels and points, [points, tiles, pixels].
_Axis = collections.namedtuple('_Axis', 'kernel inputs outputs')


def _polynomial(roots):
  """The coefficients of the product of all x - root, the constant one first."""
  return [Fraction(c) for c in np.polynomial.polynomial.polyfromroots(roots)]


def matrices(m, r):
  """The matrices of Toom and Cook's algorithm in one dimension.

      outputs = output @ ((kernel @ weights) * (inputs @ data))

  where outputs[i] is the sum of weights[j] * data[i + j] over j, for m outputs
  and r weights. Returns `output` [m, n], `kernel` [n, r] and `inputs` [n, n],
  lists of rows of fractions, where n = m + r - 1, from 2 to _MAX_POINTS.
  """
  n = m + r - 1
  finite = [Fraction(p) for p in _FINITE_POINTS[n + n % 2].split()[:n - 1]]
  output = [[p**i for p in finite] + [Fraction(i == m - 1)] for i in range(m)]
  kernel, inputs = [], []
  for i, p in enumerate(finite):
    basis = _polynomial(finite[:i] + finite[i + 1:])
    scale = sum(c * p**k for k, c in enumerate(basis))
    kernel.append([p**j / scale for j in range(r)])
    inputs.append(basis + [Fraction(0)])
  # The leading coefficient is the value at infinity.
  kernel.append([Fraction(j == r - 1) for j in range(r)])
  inputs.append(_polynomial(finite))
  return output, kernel, inputs


@functools.lru_cache(maxsize=None)
def _axis(size, r, needed):
  """The `_Axis` for `size` pixels and `r` weights with padding 'SAME'.

  It has the first `needed` of the outputs only.
  """
  if r > _MAX_POINTS:
    raise ValueError(
        f'winograd: a kernel of size {r}; expected at most {_MAX_POINTS}')
  choices = range(max(1, 3 - r), _MAX_POINTS - r + 2)
  # The fewest multiplications; among equals, the smallest error.
  m = min(choices, key=lambda m: ((m + r - 1) * -(-needed // m), m))
  output, kernel, inputs = (np.array(a, np.float64) for a in matrices(m, r))
  n, tiles, before = m + r - 1, -(-needed // m), (r - 1) // 2
  all_inputs, all_outputs = np.zeros([2, n, tiles, max(size, tiles * m) + n])
  for tile in range(tiles):
    start = tile * m
    all_inputs[:, tile, start:start + n] = inputs
    all_outputs[:, tile, start:start + m] = output.T
  all_inputs = all_inputs[..., before:before + size]  # Without padding.
  return _Axis(kernel, all_inputs, all_outputs[..., :needed])


def conv2d(x, kernel, needed=None):
  """As `layers.conv2d`, in at least float32; returns the type of `x`.

  `needed` is the height and width of the outputs; None: those of `x`. Raises
  ValueError for kernels of more than 10 rows or columns.
  """
  _, height, width, channels = x.shape.as_list()
  rows, columns, _, filters = kernel.shape.as_list()
  needed = needed or (height, width)
  down, across = map(_axis, (height, width), (rows, columns), needed)
  dtype = x.dtype

  @tf.custom_gradient
  def convolve(x, kernel):  # Takes the kernel's values at the points.
    x = _to_points(x, down.inputs, across.inputs)
    y = tf.matmul(x, kernel)

    # Faster than the derivative as TensorFlow finds it.
    def gradient(dy):
      dy = _to_points(dy, down.outputs, across.outputs)
      dkernel = tf.matmul(x, dy, transpose_a=True)
      dx = tf.matmul(dy, tf.transpose(kernel, [0, 1, 2, 4, 3]))
      dx = _to_pixels(dx, down.inputs, across.inputs)
      return dx, tf.reduce_sum(dkernel, axis=1, keepdims=True)

    return _to_pixels(y, down.outputs, across.outputs), gradient

  with tf.name_scope('Conv2D') as scope:
    least = tf.float32 if dtype.size < 4 else dtype
    x, kernel = tf.cast(x, least), tf.cast(kernel, least)
    # For all pairs of a point across and one down. [points, rows * columns]
    pairs = np.einsum('pr,qc->qprc', down.kernel, across.kernel)
    values = tf.matmul(
        tf.constant(pairs.reshape([-1, rows * columns]), x.dtype),
        tf.reshape(kernel, [rows * columns, channels * filters]))
    # [points across, 1, points down, channels, filters]
    shape = [len(across.kernel), 1, len(down.kernel), channels, filters]
    y = convolve(x, tf.reshape(values, shape))
    return tf.identity(tf.cast(y, dtype), name=scope)


def is_faster(x, kernel):
  """True if `conv2d` is expected to be faster than tf.nn.conv2d.

  Measured with both passes, TensorFlow 2.21 on two cores with AVX-512, 3 to 256
  channels, 3 x 3 to 48 x 48 pixels and batches of 1 to 128.
  """
  if session_settings.has_gpu():
    return False
  least = 9 * 64
  if kernel.dtype == tf.bfloat16 and session_settings.cpu_has_bfloat16():
    if session_settings.cpu_has_amx():
      return False
    least = 9 * 128  # A direct convolution in bfloat16 is faster, too.
  batch, height, width, _ = x.shape.as_list()
  rows, columns, channels, filters = kernel.shape.as_list()
  return (3 <= min(rows, columns) <= max(rows, columns) <= 7 and
          rows * columns * min(channels, filters) >= least and
          max(height, width) <= 24 and (batch is None or batch >= 8))


def _to_points(images, down, across):
  """Applies a matrix along the height and another along the width.

  Takes images [batch, height, width, channels], and matrices [points, tiles,
  pixels]; returns [points across, tiles, points down, tiles * batch, channels].
  """
  _, height, width, channels = images.shape.as_list()
  # Batch and channels last: each product is of a small matrix and a wide one.
  x = tf.transpose(images, [2, 1, 0, 3])
  x = tf.reshape(x, [width, height, -1])
  x = tf.matmul(tf.constant(down.reshape([1, -1, height]), x.dtype), x)
  x = tf.reshape(x, [width, -1])
  x = tf.matmul(tf.constant(across.reshape([-1, width]), x.dtype), x)
  return tf.reshape(x, [*across.shape[:2], len(down), -1, channels])


def _to_pixels(values, down, across):
  """Applies the transposed matrices: from points back to pixels."""
  channels = values.shape.as_list()[-1]
  down, across = (a.reshape([-1, a.shape[2]]).T for a in (down, across))
  height, width = len(down), len(across)
  x = tf.reshape(values, [across.shape[1], -1])
  x = tf.matmul(tf.constant(across, x.dtype), x)
  x = tf.reshape(x, [width, down.shape[1], -1])
  x = tf.matmul(tf.constant(down[np.newaxis], x.dtype), x)
  x = tf.reshape(x, [width, height, -1, channels])
  return tf.transpose(x, [2, 1, 0, 3])
