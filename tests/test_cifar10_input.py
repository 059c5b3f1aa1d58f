"""The queues: each record once, in the right order or in none."""

import collections
import os
import threading
import time

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10 import dataset
from cifar10.config import Config
from tests import records as records_lib
from tests import reference

# A chi-squared value with 9 degrees of freedom is below this in 99.9 of 100
# cases.
CHI_SQUARED_9 = 27.9


@pytest.fixture(autouse=True)
def graph():
  with tf.Graph().as_default() as default_graph:
    tf.set_random_seed(1)
    yield default_graph


def write(folder, *files):
  """Writes arrays of records to files; returns their names."""
  names = []
  for i, records in enumerate(files):
    path = folder / ('data_batch_%d.bin' % (i + 1))
    path.write_bytes(records.tobytes())
    names.append(str(path))
  return tuple(names)


def data_set(names):
  return dataset.DataSet(train_files=names, test_files=names)


def take_all(tensors):
  """Runs `tensors` until the input ends; returns what came, a list."""
  found = []
  with tf.train.MonitoredSession() as session:
    while not session.should_stop():
      found.append(session.run(tensors))
  return found


def raw_batches(names, num_examples, batch_size, count):
  """Takes `count` batches of raw records from the shuffled input."""
  queue = cifar10_input._shuffled_batches(
    names, num_examples, batch_size, dataset.Layout()
  )
  batch = queue.dequeue()
  with tf.train.MonitoredSession() as session:
    return np.concatenate([session.run(batch) for _ in range(count)])


def times_seen(records):
  return collections.Counter(row.tobytes() for row in records)


def test_read_cifar10_keeps_its_contract(tmp_path):
  first = records_lib.make_records([3, 9], seed=1)
  second = records_lib.make_records([0], seed=2)
  names = write(tmp_path, first, second)
  queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
  record = cifar10_input.read_cifar10(queue)
  assert (record.height, record.width, record.depth) == (32, 32, 3)
  assert (record.label.dtype, record.label.shape.as_list()) == (tf.int32, [1])
  assert record.uint8image.dtype == tf.uint8
  assert record.uint8image.shape.as_list() == [32, 32, 3]
  images = records_lib.images_of(np.concatenate([first, second]))
  with tf.Session() as session:
    session.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    fetches = [record.key, record.label, record.uint8image]
    for file, number, label, image in zip(
      [0, 0, 1], [0, 1, 0], [3, 9, 0], images
    ):
      key, found, pixels = session.run(fetches)
      assert key.decode() == '%s:%d' % (names[file], number)
      assert found.tolist() == [label]
      np.testing.assert_array_equal(pixels, image)
    with pytest.raises(tf.errors.OutOfRangeError):
      session.run(fetches)
    coord.request_stop()
    coord.join(threads)


def test_of_two_label_bytes_the_last_is_the_label(tmp_path):
  layout = dataset.Layout(label_bytes=2)
  records = records_lib.make_records([3, 9], layout=layout)
  records[:, 0] = 77
  names = write(tmp_path, records)
  data = data_set(names)._replace(layout=layout)
  images, labels = cifar10_input.inputs(data, 'test', 2)
  ((images, labels),) = take_all([images, labels])
  assert labels.tolist() == [3, 9]
  expected = [
    reference.central_crop(image, 24)
    for image in records_lib.images_of(records, layout)
  ]
  np.testing.assert_allclose(images, expected, atol=1e-4)


@pytest.mark.parametrize('batch_size', [1, 7, 100, 1000])
def test_evaluation_gives_each_image_once_in_order(tmp_path, batch_size):
  files = [
    records_lib.make_records(np.arange(n) % 10, seed=n) for n in (13, 1, 29)
  ]
  names = write(tmp_path, *files)
  tensors = cifar10_input.inputs(data_set(names), 'test', batch_size)
  assert tensors[0].shape.as_list() == [None, 24, 24, 3]
  assert [t.dtype for t in tensors] == [tf.float32, tf.int32]
  batches = take_all(list(tensors))
  sizes = [len(labels) for _, labels in batches]
  assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
  assert sum(sizes) == 43
  records = np.concatenate(files)
  found = np.concatenate([images for images, _ in batches])
  expected = [
    reference.central_crop(image, 24)
    for image in records_lib.images_of(records)
  ]
  np.testing.assert_allclose(found, expected, atol=1e-4)
  labels = np.concatenate([labels for _, labels in batches])
  np.testing.assert_array_equal(labels, records[:, 0])


def test_evaluation_reads_files_longer_than_a_read(tmp_path):
  records = records_lib.make_records(np.arange(2345) % 10)
  names = write(tmp_path, records)
  _, labels = cifar10_input.inputs(data_set(names), 'train_eval', 128)
  found = np.concatenate(take_all(labels))
  np.testing.assert_array_equal(found, records[:, 0])


def test_training_batches_have_static_shapes_and_the_labels_of_images():
  data = dataset.prepare(Config(dataset='sample'))
  images, labels = cifar10_input.distorted_inputs(data, 32)
  assert images.shape.as_list() == [32, 24, 24, 3]
  assert labels.shape.as_list() == [32]
  with tf.train.MonitoredSession() as session:
    images, labels = session.run([images, labels])
  np.testing.assert_allclose(images.mean(axis=(1, 2, 3)), 0, atol=1e-4)
  np.testing.assert_allclose(images.std(axis=(1, 2, 3)), 1, atol=1e-3)
  assert labels.min() >= 0 and labels.max() <= 9


def test_labels_stay_with_their_images(tmp_path):
  # An image of class n has the colour of its class in one half, so that the
  # sign of its whitened corner tells the class.
  labels = np.arange(500) % 2
  records = np.zeros([500, 3073], np.uint8)
  records[:, 0] = labels
  planes = records[:, 1:].reshape(-1, 3, 32, 32)
  planes[labels == 0, :, :16] = 200
  planes[labels == 1, :, 16:] = 200
  names = write(tmp_path, records)
  tensors = cifar10_input.distorted_inputs(data_set(names), 50)
  with tf.train.MonitoredSession() as session:
    for _ in range(30):
      images, found = session.run(list(tensors))
      is_lower = images[:, -1].mean(axis=(1, 2)) > 0
      np.testing.assert_array_equal(is_lower.astype(int), found)


def test_an_epoch_is_a_random_order_of_all_records(tmp_path):
  records = records_lib.make_records(np.arange(300) % 10)
  names = write(tmp_path, records[:100], records[100:150], records[150:])
  found = raw_batches(names, 300, 25, 36)
  epochs = np.split(found, 3)
  for epoch in epochs:
    assert times_seen(epoch) == times_seen(records)
  assert (epochs[0] != records).any()
  assert (epochs[0] != epochs[1]).any() and (epochs[1] != epochs[2]).any()


def test_what_is_left_of_an_epoch_goes_into_the_next(tmp_path):
  records = records_lib.make_records(np.arange(100) % 10)
  names = write(tmp_path, records)
  # 14 batches of 7 an epoch, and 2 records over: 20 batches are 140 records.
  found = raw_batches(names, 100, 7, 20)
  seen = times_seen(found)
  assert len(times_seen(found[:98])) == 98
  assert set(seen) <= set(times_seen(records))
  assert max(seen.values()) == 2
  # 100 batches are 7 epochs: each record came 7 times.
  found = raw_batches(names, 100, 7, 100)
  assert set(times_seen(found).values()) == {7}


def test_a_batch_may_be_larger_than_an_epoch(tmp_path):
  records = records_lib.make_records(np.arange(10))
  names = write(tmp_path, records)
  found = raw_batches(names, 10, 25, 2)
  assert set(times_seen(found).values()) == {5}


def test_more_than_fits_is_shuffled_in_parts(tmp_path, monkeypatch):
  monkeypatch.setattr(cifar10_input, '_MAX_EPOCH_IN_QUEUE', 50)
  monkeypatch.setattr(cifar10_input, '_RECORDS_A_READ', 7)
  records = records_lib.make_records(np.arange(200) % 10)
  names = write(tmp_path, records)
  found = raw_batches(names, 200, 10, 40)
  # 0.4 of the examples at a time, the tutorial's share: 5 times for 2 epochs.
  assert set(times_seen(found).values()) == {2}
  assert times_seen(found[:80]) == times_seen(records[:80])


def chi_squared_of_halves(labels):
  """How far both halves of an epoch are from equal numbers of each class."""
  values = []
  for half in np.split(labels, 2):
    counts = np.bincount(half, minlength=10)
    expected = len(half) / 10
    values.append(((counts - expected) ** 2 / expected).sum())
  return max(values)


def sorted_files(tmp_path):
  records = records_lib.make_records(np.repeat(np.arange(10), 100))
  return write(tmp_path, *np.split(records, 5)), records


def test_sorted_files_give_mixed_batches(tmp_path):
  names, _ = sorted_files(tmp_path)
  labels = raw_batches(names, 1000, 20, 150)[:, 0]
  for epoch in np.split(labels, 3):
    assert chi_squared_of_halves(epoch) < CHI_SQUARED_9
  # Batch by batch: the sum of 150 values of 9 degrees of freedom has a
  # deviation of sqrt(2 * 9 * 150); without replacement it is a little less.
  counts = np.stack(
    [np.bincount(batch, minlength=10) for batch in np.split(labels, 150)]
  )
  total = ((counts - 2) ** 2 / 2).sum()
  assert abs(total - 9 * 150) < 4 * np.sqrt(2 * 9 * 150)


def test_the_classical_input_does_not_mix_sorted_files(tmp_path):
  names, _ = sorted_files(tmp_path)
  _, labels = reference.classical_distorted_inputs(names, 1000, 20)
  with tf.train.MonitoredSession() as session:
    found = np.concatenate([session.run(labels) for _ in range(50)])
  assert chi_squared_of_halves(found) > CHI_SQUARED_9


def test_a_seed_makes_batches_repeatable():
  data = dataset.prepare(Config(dataset='sample'))

  def batches(seed):
    with tf.Graph().as_default():
      tf.set_random_seed(seed)
      tensors = cifar10_input.distorted_inputs(data, 64, seeded=True)
      with tf.train.MonitoredSession() as session:
        return [session.run(list(tensors)) for _ in range(40)]

  first, second, third = batches(3), batches(3), batches(4)
  for (images, labels), (again, labels_again) in zip(first, second):
    np.testing.assert_array_equal(images, again)
    np.testing.assert_array_equal(labels, labels_again)
  assert (first[0][0] != third[0][0]).any()


def test_input_is_on_the_cpu_with_one_shuffle_queue(graph):
  data = dataset.prepare(Config(dataset='sample'))
  with tf.device('/gpu:0'):
    cifar10_input.distorted_inputs(data, 4)
    cifar10_input.inputs(data, 'test', 4)
  queues = 0
  for operation in graph.get_operations():
    if operation.name.startswith(('distorted_inputs/', 'inputs/')):
      device = tf.DeviceSpec.from_string(operation.device)
      assert device.device_type == 'CPU', operation.name
    queues += operation.type == 'RandomShuffleQueueV2'
  assert queues == 1


def test_the_filling_line_is_the_tutorials(tmp_path, monkeypatch, capsys):
  names = write(tmp_path, records_lib.make_records([1]))
  monkeypatch.setattr(dataset.DataSet, 'count', lambda self, files: 50000)
  cifar10_input.distorted_inputs(data_set(names), 128)
  assert capsys.readouterr().out == (
    'Filling queue with 20000 CIFAR images before starting to train.\n'
  )
  assert cifar10_input.NUM_PREPROCESS_THREADS == 16


def test_the_preprocessing_threads_are_sixteen_or_one(graph):
  data = dataset.prepare(Config(dataset='sample'))
  for seeded, count in ((False, 16), (True, 1)):
    with tf.Graph().as_default():
      cifar10_input.distorted_inputs(data, 4, seeded)
      runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
      assert len(runners[-1].enqueue_ops) == count


def threads_left(before):
  deadline = time.time() + 10
  while threading.active_count() > before and time.time() < deadline:
    time.sleep(0.01)
  return threading.active_count() - before


def test_sessions_end_without_noise_or_threads(capfd):
  data = dataset.prepare(Config(dataset='sample'))
  tensors = list(cifar10_input.distorted_inputs(data, 8))
  before = threading.active_count()
  for _ in range(3):
    with tf.train.MonitoredSession() as session:
      session.run(tensors)
    assert threads_left(before) == 0
  assert capfd.readouterr().err == ''


def test_a_coordinator_by_hand_ends_without_noise_or_threads(capfd):
  data = dataset.prepare(Config(dataset='sample'))
  tensors = list(cifar10_input.distorted_inputs(data, 8))
  before = threading.active_count()
  with tf.Session() as session:
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    session.run(tensors)
    coord.request_stop()
    coord.join(threads)
  assert threads_left(before) == 0
  assert capfd.readouterr().err == ''


def test_a_file_that_vanishes_is_named(tmp_path):
  names = write(tmp_path, records_lib.make_records(np.arange(40) % 10))
  tensors = list(cifar10_input.distorted_inputs(data_set(names), 8))
  os.remove(names[0])
  with pytest.raises(tf.errors.NotFoundError, match='data_batch_1.bin'):
    with tf.train.MonitoredSession() as session:
      session.run(tensors)
