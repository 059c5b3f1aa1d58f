"""The slow, obvious forms of what the project does fast: oracles for tests.

Here each image is read and distorted by itself, as the tutorial describes it,
and none of the project's own reading and distorting is called.
"""

import numpy as np

from tests import short_runs

# The tutorial's own pipeline, which is also what the benchmark compares with.
_baselines = short_runs.module_of('benchmarks', 'baselines')
read_by_tensorflow = _baselines.read_image
distort_by_tensorflow = _baselines.distort_image


def whiten(image):
  """An image, float64: mean 0, variance 1, the divisor >= 1 / sqrt(pixels)."""
  image = image.astype(np.float64)
  deviation = max(image.std(), 1 / np.sqrt(image.size))
  return (image - image.mean()) / deviation


def central_crop(image, size):
  """The whitened middle of an image, size x size pixels."""
  top = (image.shape[0] - size) // 2
  left = (image.shape[1] - size) // 2
  return whiten(image[top:top + size, left:left + size])


def distort(image, size, top, left, flip, brightness, contrast):
  """Distorts an image, uint8 [height, width, depth], by the given choices.

  The crop of size x size pixels begins at `top`, `left`; `flip` mirrors it left
  to right. `brightness` is added to each pixel; `contrast` is a factor on its
  distance from the mean of its color. Returns float64 [size, size, depth].
  """
  image = image[top:top + size, left:left + size].astype(np.float64)
  if flip:
    image = image[:, ::-1]
  image = image + brightness
  means = image.mean(axis=(0, 1))
  return whiten((image - means) * contrast + means)


def local_response_norm(x, depth_radius, alpha):
  """x / (1 + alpha * sum of squares) ** 0.75, the sum channel by channel.

  Takes [batch, height, width, channels]; `depth_radius` channels on either side
  enter the sum, besides the channel itself.
  """
  y = np.empty_like(x)
  for channel in range(x.shape[3]):
    first = max(0, channel - depth_radius)
    window = x[..., first:channel + depth_radius + 1]
    scale = 1 + alpha * (window**2).sum(axis=3)
    y[..., channel] = x[..., channel] * scale**-0.75
  return y


def locally_connected(x, weights):
  """At each position, the products of its own filters and its own window.

  Takes images, [batch, height, width, channels], and weights, [height, width,
  rows, columns, channels, filters]. Returns [batch, height, width, filters].
  """
  height, width, rows, columns = weights.shape[:4]
  y = np.zeros(x.shape[:3] + weights.shape[5:], x.dtype)
  for i, j, row, column in np.ndindex(height, width, rows, columns):
    at, beside = i + row - rows // 2, j + column - columns // 2
    if 0 <= at < height and 0 <= beside < width:
      y[:, i, j] += x[:, at, beside].dot(weights[i, j, row, column])
  return y


def conv2d(x, kernel, dy):
  """A convolution with padding 'SAME' and its gradients, a weight at a time.

  Takes images, [batch, height, width, channels], a kernel, [rows, columns,
  channels, filters], and the gradients of the outputs. Returns the outputs, and
  the gradients to `x` and `kernel`, all float64.
  """
  x, kernel, dy = (np.asarray(a, np.float64) for a in (x, kernel, dy))
  rows, columns = kernel.shape[:2]
  top, left = (rows - 1) // 2, (columns - 1) // 2
  padding = [[0, 0], [top, rows - 1 - top], [left, columns - 1 - left], [0, 0]]
  padded = np.pad(x, padding, mode='constant')
  dpadded, dkernel = np.zeros_like(padded), np.zeros_like(kernel)
  y = np.zeros_like(dy)
  height, width = x.shape[1:3]
  for row in range(rows):
    for column in range(columns):
      window = np.s_[:, row:row + height, column:column + width]
      y += padded[window].dot(kernel[row, column])
      dpadded[window] += dy.dot(kernel[row, column].T)
      dkernel[row, column] = np.tensordot(padded[window], dy, [[0, 1, 2]] * 2)
  dx = dpadded[:, top:top + height, left:left + width]
  return y, dx, dkernel


def fully_connected(x, layers, dy):
  """Layers with rectified linear units, but for the last one, and gradients.

  Takes x, [batch, inputs], pairs of weights, [inputs, units], and biases, and
  the gradients of the outputs. Returns the outputs, and a list of the gradients
  to weights, biases, weights and so on, all float64.
  """
  inputs, gradients = [], []
  x, delta = np.asarray(x, np.float64), np.asarray(dy, np.float64)
  for number, (weights, biases) in enumerate(layers, 1):
    inputs.append(x)
    x = x.dot(weights) + biases
    if number < len(layers):
      x = np.maximum(x, 0)
  for before, (weights, _) in zip(reversed(inputs), reversed(layers)):
    gradients = [before.T.dot(delta), delta.sum(axis=0)] + gradients
    delta = delta.dot(np.asarray(weights, np.float64).T) * (before > 0)
  return x, gradients


def max_pool(x):
  """The largest of 3 x 3 pixels with stride 2 and padding 'SAME'.

  Takes an array, [batch, height, width, channels], of even height and width.
  """
  padded = np.pad(x, [[0, 0], [0, 1], [0, 1], [0, 0]], mode='constant',
                  constant_values=-np.inf)
  height, width = x.shape[1:3]
  return np.max([
      padded[:, row:row + height:2, column:column + width:2]
      for row in range(3)
      for column in range(3)
  ], axis=0)


def in_top_k(logits, labels, k):
  """Whether each label is one of the k classes with the largest logits: a list.

  Of equal logits the one of the lower class is ahead; a row, of [n, classes],
  with one that is not finite has no right label.
  """
  found = []
  for row, label in zip(logits, labels):
    ranked = sorted(range(len(row)), key=lambda number: (-row[number], number))
    found.append(bool(np.all(np.isfinite(row)) and label in ranked[:k]))
  return found
