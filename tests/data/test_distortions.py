"""Distortions of batches, compared with those of single images by pixel."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.config import Config
from cifar10.data import distortions
from cifar10.data.records import Layout
from tests import reference
from tests import short_runs
from tests import synthetic_records

LAYOUTS = {
  'cifar10': Layout(),
  'gray': Layout(height=48, width=40, depth=1, label_bytes=2, label_at=(1,)),
}

each_layout = pytest.mark.parametrize('name', sorted(LAYOUTS))


@pytest.fixture(autouse=True)
def graph():
  with tf.Graph().as_default() as default_graph:
    tf.set_random_seed(1)
    yield default_graph


def run(tensors, feed=None):
  with tf.Session() as session:
    return session.run(tensors, feed)


def distort_and_record(records, layout, monkeypatch, feed=None):
  """Distorts images; returns them and the random choices of each."""
  random_uniform = tf.random_uniform
  choices = []

  def recorded(*args, **kwargs):
    choices.append(random_uniform(*args, **kwargs))
    return choices[-1]

  monkeypatch.setattr(distortions.tf, 'random_uniform', recorded)
  images = distortions.distort(records, layout, 24)
  assert images.shape.as_list()[1:] == [24, 24, layout.depth]
  images, values = run([images, choices], feed)
  top, left, flip, brightness, contrast = (v.reshape(-1) for v in values)
  return images, list(zip(top, left, flip, brightness, contrast))


@each_layout
def test_central_crops_are_those_of_single_images(name):
  layout = LAYOUTS[name]
  records = synthetic_records.make_records(np.arange(7), layout=layout)
  # The batch size may be unknown.
  batch = tf.placeholder(tf.uint8, [None, layout.record_bytes])
  crops = distortions.central_crop(batch, layout, 24)
  assert crops.shape.as_list()[1:] == [24, 24, layout.depth]
  found = run(crops, {batch: records})
  images = synthetic_records.images_of(records, layout)
  expected = [reference.central_crop(image, 24) for image in images]
  np.testing.assert_allclose(found, expected, atol=1e-4)
  batch = tf.placeholder(tf.float32, [None] + list(images.shape[1:]))
  crops = distortions.central_crop_of_images(batch, 24)
  assert crops.shape.as_list() == [None, 24, 24, layout.depth]
  found = run(crops, {batch: images})
  np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_central_crop_with_odd_margins_begins_at_the_rounded_down_middle():
  layout = Layout(height=7, width=8, depth=1)
  records = synthetic_records.make_records([0], layout=layout)
  (image,) = synthetic_records.images_of(records, layout)
  expected = reference.whiten(image[1:5, 2:6])
  (found,) = run(distortions.central_crop(tf.constant(records), layout, 4))
  np.testing.assert_allclose(found, expected, atol=1e-5)
  images = tf.constant(image[np.newaxis], tf.float32)
  (found,) = run(distortions.central_crop_of_images(images, 4))
  np.testing.assert_allclose(found, expected, atol=1e-5)


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
  assert ((positions - expected) ** 2 / expected).sum() < 124.8
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
  (path,) = short_runs.prepared(Config.of(dataset='sample')).test_files
  data = np.fromfile(path, np.uint8).reshape(-1, 3073)
  count = 4000
  data = np.tile(data[:different], [count // different, 1])
  ours = distortions.distort(tf.constant(data), Layout(), 24)
  theirs = tf.map_fn(
    reference.distort_by_tensorflow,
    tf.constant(synthetic_records.images_of(data)),
    dtype=tf.float32,
  )
  ours, theirs = run([ours, theirs])
  # Per pixel, the difference of the means is within the standard error.
  error = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / count)
  scores = (ours.mean(axis=0) - theirs.mean(axis=0)) / error
  # A loose bound, because neighboring pixels are correlated.
  assert np.abs(scores).max() < 5
  ratio = ours.var(axis=0) / theirs.var(axis=0)
  assert np.abs(ratio - 1).max() < 0.25


def test_an_image_of_one_color_becomes_zeros():
  records = tf.fill([2, 3073], tf.constant(77, tf.uint8))
  for images in (
    distortions.central_crop(records, Layout(), 24),
    distortions.distort(records, Layout(), 24),
  ):
    # Rounding errors of the mean are multiplied by sqrt(24 * 24 * 3) = 42.
    np.testing.assert_allclose(run(images), 0, atol=0.1)


def test_standardization_has_the_least_divisor_of_tensorflow():
  images = np.random.RandomState(0).uniform(0, 255, (5, 24, 24, 3))
  images[0] = 3  # No variance at all.
  images[1] = 3 + 1e-4 * images[1]
  assert 0 < images[1].std() < 1 / np.sqrt(images[1].size)
  images = images.astype(np.float32)
  found = run(distortions.central_crop_of_images(tf.constant(images), 24))
  expected = [reference.whiten(image) for image in images]
  np.testing.assert_allclose(found, expected, atol=1e-3)


def test_without_flips_no_image_is_mirrored():
  # Bright on the left, dark on the right.
  layout = Layout(8, 8, 1)
  image = np.repeat([[255] * 4 + [0] * 4], 8, axis=0)
  records = tf.constant([[0] + list(image.ravel())] * 200, tf.uint8)
  for mirrored, sides in ((False, {False}), (True, {False, True})):
    images = run(distortions.distort(records, layout, 8, mirrored))
    found = images[:, :, 0].mean(1) < images[:, :, -1].mean(1)
    assert set(found.ravel().tolist()) == sides
