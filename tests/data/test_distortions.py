"""Distortions of batches against those of single images, pixel by pixel."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.config import Config
from tests import records as records_lib
from tests import reference

LAYOUTS = [
  datasets.Layout(),
  datasets.Layout(height=48, width=40, depth=1, label_bytes=2, label_at=(1,)),
]


@pytest.fixture(autouse=True)
def graph():
  with tf.Graph().as_default() as default_graph:
    tf.set_random_seed(1)
    yield default_graph


def run(tensors, feed=None):
  with tf.Session() as session:
    return session.run(tensors, feed)


def distort_and_tell(records, layout, monkeypatch, feed=None):
  """Distorted images, with the random choices that made each of them."""
  random_uniform = tf.random_uniform
  choices = []

  def noted(*args, **kwargs):
    choices.append(random_uniform(*args, **kwargs))
    return choices[-1]

  monkeypatch.setattr(distortions.tf, 'random_uniform', noted)
  images = distortions.distort(records, layout, 24)
  assert images.shape.as_list()[1:] == [24, 24, layout.depth]
  images, values = run([images, choices], feed)
  top, left, flip, brightness, contrast = (v.reshape(-1) for v in values)
  return images, list(zip(top, left, flip, brightness, contrast))


@pytest.mark.parametrize('layout', LAYOUTS)
def test_whole_images_are_exact(layout):
  records = records_lib.make_records(np.arange(7), layout=layout)
  images = distortions.whole(tf.constant(records), layout)
  assert images.shape.as_list()[1:] == list(layout[:3])
  np.testing.assert_array_equal(
    run(images), records_lib.images_of(records, layout)
  )


@pytest.mark.parametrize('layout', LAYOUTS)
def test_central_crops_are_those_of_single_images(layout):
  records = records_lib.make_records(np.arange(7), layout=layout)
  # The batch size need not be known.
  feed = tf.placeholder(tf.uint8, [None, layout.record_bytes])
  found = run(distortions.central_crop(feed, layout, 24), {feed: records})
  images = records_lib.images_of(records, layout)
  expected = [reference.central_crop(image, 24) for image in images]
  np.testing.assert_allclose(found, expected, atol=1e-4)
  of_images = distortions.crop_images(tf.constant(images, tf.float32), 24)
  np.testing.assert_allclose(run(of_images), expected, atol=1e-4)


@pytest.mark.parametrize('layout', LAYOUTS)
def test_distorted_images_are_those_of_single_images(layout, monkeypatch):
  records = records_lib.make_records(np.arange(64) % 10, layout=layout)
  # The batch size need not be known.
  batch = tf.placeholder(tf.uint8, [None, layout.record_bytes])
  feed = {batch: records}
  found, choices = distort_and_tell(batch, layout, monkeypatch, feed)
  assert len(found) == len(set(choices)) == 64  # Each image has its own.
  images = records_lib.images_of(records, layout)
  for one, image, choice in zip(found, images, choices):
    expected = reference.distort(image, 24, *choice)
    np.testing.assert_allclose(one, expected, atol=2e-4)


def test_the_choices_have_the_tutorials_ranges(monkeypatch):
  count = 20000
  records = tf.zeros([count, 3073], tf.uint8)
  _, choices = distort_and_tell(records, datasets.Layout(), monkeypatch)
  top, left, flip, brightness, contrast = np.array(choices).T
  positions = np.zeros((9, 9))
  np.add.at(positions, (top.astype(int), left.astype(int)), 1)
  expected = count / 81
  # Chi-squared with 80 degrees of freedom is below 124.8 in 99.9 of 100 cases.
  assert ((positions - expected) ** 2 / expected).sum() < 124.8
  assert abs(flip.mean() - 0.5) < 4 * 0.5 / np.sqrt(count)
  for values, low, high in ((brightness, -63, 63), (contrast, 0.2, 1.8)):
    assert low <= values.min() and values.max() < high
    # Kolmogorov and Smirnov's distance; 1.95 / sqrt(n) is the 0.1 % bound.
    ranks = (np.sort(values) - low) / (high - low)
    distance = np.abs(ranks - (np.arange(count) + 0.5) / count).max()
    assert distance < 1.95 / np.sqrt(count)
  choices = np.corrcoef(np.array(choices).T) - np.eye(5)
  assert np.abs(choices).max() < 4 / np.sqrt(count)


# One image tells small differences, many images are what training sees.
@pytest.mark.parametrize('different', [1, 500])
def test_images_are_distributed_as_those_of_the_tutorial(different):
  data = np.fromfile(
    datasets.prepare(Config(dataset='sample')).test_files[0], np.uint8
  ).reshape(-1, 3073)
  count = 4000
  data = np.tile(data[:different], [count // different, 1])
  ours = distortions.distort(tf.constant(data), datasets.Layout(), 24)
  theirs = tf.map_fn(
    reference.distort_by_tensorflow,
    tf.constant(records_lib.images_of(data)),
    dtype=tf.float32,
  )
  ours, theirs = run([ours, theirs])
  # Per pixel, the means of both differ by no more than chance lets them.
  error = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / count)
  scores = (ours.mean(axis=0) - theirs.mean(axis=0)) / error
  # Neighbouring pixels go together, so the spread of the scores is loose.
  assert np.abs(scores).max() < 5
  ratio = ours.var(axis=0) / theirs.var(axis=0)
  assert np.abs(ratio - 1).max() < 0.25


def test_an_image_of_one_colour_becomes_zeros():
  records = tf.fill([2, 3073], tf.constant(77, tf.uint8))
  for images in (
    distortions.central_crop(records, datasets.Layout(), 24),
    distortions.distort(records, datasets.Layout(), 24),
  ):
    # A mean that is off in its last digits is multiplied by 42 here.
    np.testing.assert_allclose(run(images), 0, atol=0.1)


def test_whitening_is_tensorflows():
  images = np.random.RandomState(0).uniform(0, 255, (5, 24, 24, 3))
  images[0] = 3  # No variance at all.
  images[1] = 3 + 1e-4 * images[1]
  assert 0 < images[1].std() < 1 / np.sqrt(images[1].size)  # The least divisor.
  images = tf.constant(images, tf.float32)
  theirs = tf.map_fn(tf.image.per_image_standardization, images)
  ours, theirs = run([distortions.whiten(images), theirs])
  np.testing.assert_allclose(ours, theirs, atol=1e-3)
  assert cifar10_input.IMAGE_SIZE == reference.SIZE == 24


def test_without_flips_all_images_are_the_right_way_round(monkeypatch):
  # Bright on the left, dark on the right.
  layout = datasets.Layout(8, 8, 1)
  image = np.repeat([[255] * 4 + [0] * 4], 8, axis=0)
  records = tf.constant([[0] + list(image.ravel())] * 200, tf.uint8)
  for mirrored, sides in ((False, {False}), (True, {False, True})):
    images = run(distortions.distort(records, layout, 8, mirrored))
    found = images[:, :, 0].mean(1) < images[:, :, -1].mean(1)
    assert set(found.ravel().tolist()) == sides
