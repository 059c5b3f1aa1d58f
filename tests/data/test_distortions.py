"""Distortions of batches, compared with those of single images by pixel."""

import math

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.data.records import Layout
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import graphs
from tests import reference
from tests import short_runs
from tests import synthetic_records

LAYOUTS = {
    'cifar10': Layout(),
    # Its margins are odd: the crop begins at the rounded down middle.
    'gray': Layout(height=49, width=41, depth=1, label_bytes=2, label_at=(1,))
}

each_layout = pytest.mark.parametrize('name', sorted(LAYOUTS))


def distort(records, layout, size, flip=True, augment=None, **values):
  """Distorted images of records of a layout, as the settings say."""
  data = datasets.DataSet((), (), layout=layout, flip=flip)
  if augment is not None:
    values['augment'] = ','.join(augment)
  return distortions.distort(records, data, Settings(**values), size)


def distort_and_record(records, layout, monkeypatch, feed=None):
  """Distorts images; returns them and the random choices of each."""
  random_uniform = tf.random_uniform
  choices = []

  def recorded(*args, **kwargs):
    choices.append(random_uniform(*args, **kwargs))
    return choices[-1]

  monkeypatch.setattr(distortions.tf, 'random_uniform', recorded)
  images = distort(records, layout, 24)
  assert images.shape.as_list()[1:] == [24, 24, layout.depth]
  images, values = graphs.run([images, choices], feed)
  top, left, flip, brightness, contrast = (v.reshape(-1) for v in values)
  return images, list(zip(top, left, flip, brightness, contrast))


@each_layout
def test_central_crops_are_those_of_single_images(name):
  layout = LAYOUTS[name]
  records = synthetic_records.make_records(np.arange(7), layout=layout)
  records[0, layout.label_bytes:] = 3  # The variance has a lower limit.
  # The batch size may be unknown.
  batch = tf.placeholder(tf.uint8, [None, layout.record_bytes])
  crops = distortions.central_crop(batch, layout, 24)
  assert crops.shape.as_list()[1:] == [24, 24, layout.depth]
  found = graphs.run(crops, {batch: records})
  images = synthetic_records.images_of(records, layout)
  expected = [reference.central_crop(image, 24) for image in images]
  np.testing.assert_allclose(found, expected, atol=1e-4)
  batch = tf.placeholder(tf.float32, [None] + list(images.shape[1:]))
  crops = distortions.central_crop_of_images(batch, 24)
  assert crops.shape.as_list() == [None, 24, 24, layout.depth]
  found = graphs.run(crops, {batch: images})
  np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize('depth, means, deviations',
                         [(3, [125.3, 123.0, 113.9], [63.0, 62.1, 66.7]),
                          (1, 362.2 / 3, 191.8 / 3)])
def test_fixed_standardization_keeps_brightness_and_contrast(
    depth, means, deviations):
  layout = Layout(depth=depth)
  records = synthetic_records.make_records(np.arange(7), layout=layout)
  images = synthetic_records.images_of(records, layout)
  expected = (images - means) / deviations
  for crops in (distortions.central_crop(tf.constant(records), layout, 32,
                                         'fixed'),
                distortions.central_crop_of_images(
                    tf.constant(images, tf.float32), 32, 'fixed'),
                distort(tf.constant(records), layout, 32, augment=(),
                        standardization='fixed')):
    np.testing.assert_allclose(graphs.run(crops), expected, atol=1e-5)


@each_layout
def test_distorted_images_are_those_of_single_images(name, monkeypatch):
  layout = LAYOUTS[name]
  records = synthetic_records.make_records(np.arange(64) % 10, layout=layout)
  # The batch size may be unknown.
  batch = tf.placeholder(tf.uint8, [None, layout.record_bytes])
  feed = {batch: records}
  found, choices = distort_and_record(batch, layout, monkeypatch, feed)
  assert len(found) == len(set(choices)) == 64  # Each image has its own.
  images = synthetic_records.images_of(records, layout)
  for one, image, choice in zip(found, images, choices):
    expected = reference.distort(image, 24, *choice)
    np.testing.assert_allclose(one, expected, atol=2e-4)


def test_the_choices_have_the_tutorials_ranges(monkeypatch):
  count = 20000
  records = tf.zeros([count, 3073], tf.uint8)
  _, choices = distort_and_record(records, Layout(), monkeypatch)
  top, left, flip, brightness, contrast = np.array(choices).T
  positions = np.zeros((9, 9))
  np.add.at(positions, (top.astype(int), left.astype(int)), 1)
  expected = count / 81
  # Chi-squared with 80 degrees of freedom exceeds 124.8 in 0.1 % of cases.
  assert ((positions - expected)**2 / expected).sum() < 124.8
  assert abs(flip.mean() - 0.5) < 4 * 0.5 / np.sqrt(count)
  for values, low, high in ((brightness, -63, 63), (contrast, 0.2, 1.8)):
    assert low <= values.min() and values.max() < high
    # Kolmogorov-Smirnov distance; it exceeds 1.95 / sqrt(n) in 0.1 % of cases.
    ranks = (np.sort(values) - low) / (high - low)
    distance = np.abs(ranks - (np.arange(count) + 0.5) / count).max()
    assert distance < 1.95 / np.sqrt(count)
  correlations = np.corrcoef(np.array(choices).T) - np.eye(5)
  assert np.abs(correlations).max() < 4 / np.sqrt(count)


# A single image shows small differences; training uses many images.
@pytest.mark.parametrize('different', [1, 500])
def test_images_are_distributed_as_those_of_the_tutorial(different):
  count = 4000
  data = np.tile(short_runs.sample_records(different), [count // different, 1])
  ours = distort(tf.constant(data), Layout(), 24)
  theirs = tf.map_fn(reference.distort_by_tensorflow,
                     tf.constant(synthetic_records.images_of(data)),
                     dtype=tf.float32)
  ours, theirs = graphs.run([ours, theirs])
  # Per pixel, the difference of the means is within the standard error.
  error = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / count)
  scores = (ours.mean(axis=0) - theirs.mean(axis=0)) / error
  # A loose bound, because neighboring pixels are correlated.
  assert np.abs(scores).max() < 5
  ratio = ours.var(axis=0) / theirs.var(axis=0)
  assert np.abs(ratio - 1).max() < 0.25


def test_without_flips_no_image_is_mirrored():
  # Bright on the left, dark on the right.
  layout = Layout(8, 8, 1)
  image = np.repeat([[255] * 4 + [0] * 4], 8, axis=0)
  records = tf.constant([[0] + list(image.ravel())] * 200, tf.uint8)
  for mirrored, sides in ((False, {False}), (True, {False, True})):
    images = graphs.run(distort(records, layout, 8, mirrored))
    found = images[:, :, 0].mean(1) < images[:, :, -1].mean(1)
    assert set(found.ravel().tolist()) == sides


def distorted(records, augment, layout=Layout(), size=24):
  return graphs.run(distort(tf.constant(records), layout, size,
                            augment=augment))


@pytest.mark.parametrize('name', distortions.NAMES)
def test_each_alone_changes_each_image_in_its_own_way(name):
  records = np.tile(short_runs.sample_records(1), [100, 1])
  images = distorted(records, (name,))
  if name == 'brightness':  # Standardization takes it away.
    np.testing.assert_allclose(images, images[:1].repeat(100, 0), atol=1e-3)
    return
  different = {image.tobytes() for image in np.round(images, 2)}
  assert len(different) >= {
      'flip': 2,
      'alternating_flip': 2,
      'crop': 45,
      'shift': 45,
      'contrast': 1
  }.get(name, 60)


@pytest.mark.parametrize('augment, size, settings', [
    (('shift',), 24, {}),
    # By way of positions between the pixels.
    (('shift', 'rotate'), 24, {}),
    # Beyond the edges.
    (('shift',), 32, {}),
    (('shift',), 32, {'max_shift': 0.0625})
])  # yapf: disable
def test_shifts_are_whole_pixels_up_to_a_share(augment, size, settings,
                                               monkeypatch):
  monkeypatch.setattr(distortions, '_MAX_ANGLE', 0.0)
  records = np.tile(short_runs.sample_records(1), [400, 1])
  images = graphs.run(
      distort(tf.constant(records), Layout(), size, augment=augment,
              **settings))
  (whole,) = synthetic_records.images_of(records[:1])
  shift = int(32 * settings.get('max_shift', 1 / 8))
  padded = np.pad(whole, [[shift, shift], [shift, shift], [0, 0]], 'reflect')
  first = (32 - size) // 2
  positions = range(first, first + 2 * shift + 1)
  expected = {
      (row, column): reference.whiten(padded[row:row + size, column:][:, :size])
      for row in positions for column in positions
  }
  found = set()
  for image in images:
    distances = {
        at: np.abs(image - other).max() for at, other in expected.items()
    }
    nearest = min(distances, key=distances.get)
    assert distances[nearest] < 1e-3
    found.add(nearest)
  assert len(found) > 0.85 * len(expected)


def colors_changed(name):
  """Images before and after a distortion of their colors."""
  images = np.random.RandomState(0).uniform(0, 255, [20, 4, 4, 3])
  images = images.astype(np.float32)
  return images, graphs.run(
      distortions._colors(tf.constant(images), [20], (name,)))


def test_hue_keeps_the_mean_and_the_distance_from_gray():
  before, after = colors_changed('hue')
  np.testing.assert_allclose(after.mean(3), before.mean(3), rtol=1e-4)
  np.testing.assert_allclose(after.std(3), before.std(3), rtol=1e-3)


def test_saturation_keeps_the_luma():
  before, after = colors_changed('saturation')
  luma = [0.299, 0.587, 0.114]
  np.testing.assert_allclose(after @ luma, before @ luma, rtol=1e-4)
  # The factor of an image: how far its colors are from gray.
  gray = (before @ luma)[..., np.newaxis]
  factors = np.median((after - gray) / (before - gray), axis=(1, 2, 3))
  assert 0.5 <= factors.min() < factors.max() <= 1.5


def test_colors_need_colors():
  with pytest.raises(UserError, match='hue: .*in color; these have 1 channel'):
    distortions.check(Settings(augment='crop,hue'), Layout(8, 8, 1))
  distortions.check(Settings(augment='crop,flip'), Layout(8, 8, 1))
  distortions.check(Settings(augment='crop,hue'), Layout())


def test_cutout_is_a_square_of_half_the_side():
  records = np.tile(short_runs.sample_records(1), [500, 1])
  images = distorted(records, ('cutout',))
  (plain,) = distorted(records[:1], ())
  zeros = (images == 0).all(axis=3) & (plain != 0).any(axis=2)
  sizes = zeros.sum(axis=(1, 2))
  assert sizes.max() == 12 * 12
  assert sizes.min() < 60  # Partly outside.
  for image, zero in zip(images, zeros):
    rows, columns = np.nonzero(zero)
    assert zero[rows.min():rows.max() + 1,
                columns.min():columns.max() + 1].all()
    np.testing.assert_array_equal(image[~zero], plain[~zero])


def test_a_pasted_square_comes_from_one_other_image():
  images = np.broadcast_to(
      np.arange(50, dtype=np.float32)[:, np.newaxis, np.newaxis, np.newaxis],
      [50, 24, 24, 3])
  found = graphs.run(distortions.with_pasted_squares(tf.constant(images)))
  for number, image in enumerate(found):
    other = (number + 1) % 50
    assert set(image.ravel()) == {number, other}
    rows, columns = np.where((image == other).all(axis=2))
    height = rows.max() - rows.min() + 1
    width = columns.max() - columns.min() + 1
    assert len(rows) == height * width  # All of a rectangle,
    assert 6 <= height <= 12 and 6 <= width <= 12  # cut off at the edges.
  assert len({(found[i] != i).tobytes() for i in range(50)}) > 40


def pixel(image, row, column):
  """The color of an image at a position between its pixels; the oracle."""
  height, width, _ = image.shape
  row = min(max(row, 0.0), height - 1.0)
  column = min(max(column, 0.0), width - 1.0)
  top, left = int(row), int(column)
  bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
  down, over = row - top, column - left
  return (1 - down) * (
      (1 - over) * image[top, left] + over * image[top, right]) + down * (
          (1 - over) * image[bottom, left] + over * image[bottom, right])


def square(image, size, top, left, angle, zoom):
  found = np.zeros([size, size, image.shape[2]])
  middle = (size - 1) / 2
  for row in range(size):
    for column in range(size):
      down, right = (row - middle) / zoom, (column - middle) / zoom
      found[row, column] = pixel(
          image,
          top + middle + down * math.cos(angle) - right * math.sin(angle),
          left + middle + down * math.sin(angle) + right * math.cos(angle))
  return found


def resampled(images, size, **choices):
  # The number of images may be unknown.
  batch = tf.placeholder(tf.float32, [None, *images.shape[1:]])
  values = {
      name: tf.constant(value, tf.float32) for name, value in choices.items()
  }
  corner = [values.pop('top'), values.pop('left')]
  squares = distortions.resample(batch, size, corner, **values)
  assert squares.shape.as_list()[1:] == [size, size, images.shape[3]]
  return graphs.run(squares, {batch: images})


@pytest.mark.parametrize('depth', [1, 3])
def test_squares_are_those_of_single_pixels(depth):
  rng = np.random.RandomState(0)
  images = rng.randint(0, 256, [6, 9, 11, depth]).astype(np.uint8)
  choices = {
      'top': [0, 1, 3, -4, 2.5, 20],
      'left': [0, 2, 5, 8, -1.25, 3],
      'angle': [0, 0.3, -0.3, 3.0, 0, 0.1],
      'zoom': [1, 1, 0.5, 2, 1.1, 0.9]
  }
  found = resampled(images, 6, **choices)
  for i, image in enumerate(images):
    expected = square(image, 6, *[values[i] for values in choices.values()])
    np.testing.assert_allclose(found[i], expected, atol=0.01)


def test_a_positive_angle_turns_the_picture_clockwise():
  image = np.zeros([1, 9, 9, 1], np.uint8)
  image[0, 4, 7] = 255  # To the right of the middle.
  (found,) = resampled(image, 9, top=[0], left=[0], angle=[math.pi / 2],
                       zoom=[1])
  assert np.unravel_index(found.argmax(), found.shape)[:2] == (7, 4)
