"""Features as records: every number and label comes back."""

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.data import feature_records
from cifar10.data import records as records_lib
from cifar10.data.records import Layout
from tests import synthetic_records

# CIFAR-100's: a coarse label, then the fine one that is in use.
IMAGES = Layout(label_bytes=2, label_at=(1,))


def test_numbers_without_a_position_are_channels_of_one():
  layout = feature_records.layout_for([7], IMAGES)
  assert layout.record_bytes == 2 + 7 * 4
  assert feature_records.shape(layout) == (1, 1, 7)


def test_labels_and_numbers_come_back():
  images = synthetic_records.make_records(np.arange(9), layout=IMAGES)
  images[:, 0] = 77
  layout = feature_records.layout_for([2, 3, 5], IMAGES)
  assert layout.record_bytes == 2 + 2 * 3 * 5 * 4
  assert feature_records.shape(layout) == (2, 3, 5)
  numbers = np.random.RandomState(0).normal(size=[9, 2, 3, 5])
  numbers = numbers.astype(np.float32)
  numbers[0, 0, 0] = [0, -0.0, np.inf, 1e-40, np.float32(np.pi)]
  content = feature_records.encode(numbers, images, layout)
  assert content.shape == (9, layout.record_bytes)
  np.testing.assert_array_equal(content[:, :2], images[:, :2])
  with tf.Graph().as_default(), tf.Session() as session:
    records = tf.placeholder(tf.uint8, [None, layout.record_bytes])
    found = feature_records.features(records, layout)
    assert found.shape.as_list() == [None, 2, 3, 5]
    labels = records_lib.labels(records, layout)
    found, labels = session.run([found, labels], {records: content})
  assert found.tobytes() == numbers.tobytes()
  np.testing.assert_array_equal(labels, np.arange(9))
