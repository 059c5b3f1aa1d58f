"""The queues: each record once, in the right order or in none."""

import collections
import os
import threading

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10 import pipelines
from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.data.records import Layout
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.util import graph_keys
from tests import processes
from tests import reference
from tests import short_runs
from tests import synthetic_records

# A chi-squared value with 9 degrees of freedom is below this in 99.9 of 100
# cases.
CHI_SQUARED_9 = 27.9

SOURCES = ['queues', 'preloaded', 'tf_data']

OTHER_LAYOUT = Layout(height=48, width=40, depth=1, label_bytes=2,
                      label_at=(1,))


def write(folder, *files):
  """Writes arrays of records to files; returns their names."""
  names = []
  for i, records in enumerate(files):
    path = folder / ('data_batch_%d.bin' % (i + 1))
    path.write_bytes(records.tobytes())
    names.append(str(path))
  return tuple(names)


def data_set(names, layout=Layout()):
  return datasets.DataSet(train_files=names, test_files=names, layout=layout)


@pytest.fixture(scope='module')
def sample():
  return short_runs.prepared(Settings(dataset='sample'))


def training_inputs(data, batch_size, source='queues', **values):
  """Batches of training images from a source that --input names."""
  settings = Settings(batch_size=batch_size, input=source, **values)
  if source == 'queues':
    return cifar10_input.distorted_inputs('', batch_size, data, settings)
  return pipelines.loaded_inputs(settings, data)


def eval_inputs(data, batch_size, eval_data=True, **values):
  """Batches of images to evaluate on, each once."""
  return cifar10_input.inputs(eval_data, '', batch_size, data,
                              Settings(**values))


def take_all(tensors):
  """Runs `tensors` until the input ends; returns what came, a list."""
  found = []
  with tf.train.MonitoredSession() as session:
    while not session.should_stop():
      found.append(session.run(tensors))
  return found


def raw_batches(names, num_examples, batch_size, count):
  """Takes `count` batches of raw records from the shuffled input."""
  data = data_set(names)
  assert data.examples_per_epoch == num_examples
  batch = cifar10_input.shuffled_records(data, batch_size).dequeue()
  with tf.train.MonitoredSession() as session:
    return np.concatenate([session.run(batch) for _ in range(count)])


def times_seen(records):
  return collections.Counter(row.tobytes() for row in records)


def test_the_reference_reads_the_same(tmp_path):
  layout = Layout()
  names = write(tmp_path, synthetic_records.make_records([3, 9, 0]))
  queue = tf.train.string_input_producer(names)
  ours = cifar10_input.read_records(queue, layout, at_most=1)
  one = cifar10_input.read_cifar10(tf.train.string_input_producer(names))
  assert (one.height, one.width, one.depth) == (32, 32, 3)
  assert (one.label.dtype, one.label.shape.as_list()) == (tf.int32, [1])
  assert one.uint8image.shape.as_list() == [32, 32, 3]
  theirs = reference.read_by_tensorflow(tf.train.string_input_producer(names))
  fetches = [
      ours,
      records_lib.labels(ours, layout), [one.uint8image, one.label, one.key],
      theirs
  ]
  with tf.train.MonitoredSession() as session:
    for number, expected in enumerate((3, 9, 0)):
      record, label, alone, (pixels, same_label) = session.run(fetches)
      (found,) = synthetic_records.images_of(record, layout)
      np.testing.assert_array_equal(found, pixels)
      np.testing.assert_array_equal(alone[0], pixels)
      assert label.tolist() == alone[1].tolist() == [same_label] == [expected]
      assert alone[2].decode() == '%s:%d' % (names[0], number)


@pytest.mark.parametrize('layout', [Layout(), OTHER_LAYOUT],
                         ids=['cifar10', 'other'])
@pytest.mark.parametrize('batch_size', [1, 7, 100, 2000])
def test_evaluation_gives_each_image_once_in_order(tmp_path, batch_size,
                                                   layout):
  files = [
      synthetic_records.make_records(np.arange(n) % 10, n, layout)
      for n in (13, 1, 1029)  # The last one is longer than a read.
  ]
  names = write(tmp_path, *files)
  tensors = eval_inputs(data_set(names, layout), batch_size)
  size = 24 if layout.height == 32 else 36  # Three quarters.
  assert tensors[0].shape.as_list() == [None, size, size, layout.depth]
  assert [t.dtype for t in tensors] == [tf.float32, tf.int32]
  batches = take_all(list(tensors))
  sizes = [len(labels) for _, labels in batches]
  assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
  assert sum(sizes) == 1043
  records = np.concatenate(files)
  found = np.concatenate([images for images, _ in batches])
  expected = [
      reference.central_crop(image, size)
      for image in synthetic_records.images_of(records, layout)
  ]
  np.testing.assert_allclose(found, expected, atol=1e-4)
  labels = np.concatenate([labels for _, labels in batches])
  np.testing.assert_array_equal(labels, records[:, layout.label_at[-1]])


@pytest.mark.parametrize('source', SOURCES)
@pytest.mark.parametrize('layout', [Layout(), OTHER_LAYOUT])
def test_training_batches_have_static_shapes_and_whole_contents(
    tmp_path, layout, source):
  records = synthetic_records.make_records(np.arange(64) % 10, layout=layout)
  data = data_set(write(tmp_path, records), layout)
  images, labels = training_inputs(data, 32, source=source)
  size = 24 if layout.height == 32 else 36  # Three quarters.
  assert images.shape.as_list() == [32, size, size, layout.depth]
  assert labels.shape.as_list() == [32]
  assert (images.dtype, labels.dtype) == (tf.float32, tf.int32)
  with tf.train.MonitoredSession() as session:
    batches = [session.run([images, labels]) for _ in range(4)]
  for images, _ in batches:
    np.testing.assert_allclose(images.mean(axis=(1, 2, 3)), 0, atol=1e-4)
    np.testing.assert_allclose(images.std(axis=(1, 2, 3)), 1, atol=1e-3)
  assert {label for _, labels in batches for label in labels} == set(range(10))


def test_two_inputs_of_a_graph_have_summaries_of_their_own(tmp_path):
  folder = str(synthetic_records.make_folder(tmp_path))
  cifar10_input.distorted_inputs(folder, 12)
  cifar10_input.inputs('test', folder, 12)
  merged = tf.summary.merge_all()
  with tf.train.MonitoredSession() as session:
    summary = tf.Summary.FromString(session.run(merged))
  tags = {value.tag for value in summary.value}
  images = {
      f'{name}/image/{i}' for name in ('images', 'images_1') for i in range(10)
  }
  assert images | {'labels', 'labels_1'} <= tags


@pytest.mark.filterwarnings(
    'ignore::pytest.PytestUnhandledThreadExceptionWarning')
@pytest.mark.parametrize('is_training', [True, False])
def test_an_error_of_its_threads_ends_a_session_without_coordinator(
    tmp_path, is_training):
  folder = synthetic_records.make_folder(tmp_path)
  images, _ = (cifar10_input.distorted_inputs(str(folder), 8)
               if is_training else cifar10_input.inputs(False, str(folder), 8))
  for path in folder.glob('data_*'):
    path.unlink()
  with tf.Session() as session:
    tf.train.start_queue_runners(session)
    with pytest.raises(tf.errors.OutOfRangeError):
      session.run(images, options=tf.RunOptions(timeout_in_ms=60000))


@pytest.mark.parametrize('source', SOURCES)
def test_labels_stay_with_their_images(tmp_path, source):
  # An image of class n has the colour of its class in one half, so that the
  # sign of its whitened corner tells the class.
  labels = np.arange(500) % 2
  records = np.zeros([500, 3073], np.uint8)
  records[:, 0] = labels
  planes = records[:, 1:].reshape(-1, 3, 32, 32)
  planes[labels == 0, :, :16] = 200
  planes[labels == 1, :, 16:] = 200
  names = write(tmp_path, records)
  data = data_set(names)
  tensors = training_inputs(data, 50, source=source)
  with tf.train.MonitoredSession() as session:
    for _ in range(30):
      images, found = session.run(list(tensors))
      is_lower = images[:, -1].mean(axis=(1, 2)) > 0
      np.testing.assert_array_equal(is_lower.astype(int), found)


@pytest.mark.parametrize('source', ['queues', 'tf_data'])
@pytest.mark.parametrize('size, batch_size', [(32, 128), (64, 128), (256, 9)])
def test_queues_hold_so_many_bytes_at_most(capsys, tmp_path, size, batch_size,
                                           source):
  layout = Layout(size, size, 3)
  names = write(tmp_path, np.zeros([0, 1], np.uint8))
  os.truncate(names[0], 50000 * layout.record_bytes)  # Takes no space.
  data = data_set(names, layout)
  with tf.Graph().as_default() as graph:
    training_inputs(data, batch_size, source=source)
  held = {}  # Bytes, by the name of a queue or buffer.
  crop = size * 24 // 32
  for op in graph.get_operations():
    name = op.name.rpartition('/')[2]
    if op.type.startswith('ShuffleDataset') and source == 'tf_data':
      buffer = tf.get_static_value(op.inputs[1])
      if buffer > 1:  # Not that of the files.
        held[name] = buffer * layout.record_bytes
    elif name == 'shuffle_queue':
      held[name] = op.get_attr('capacity') * layout.record_bytes
    elif name == 'ready_batches':
      held[name] = op.get_attr('capacity') * batch_size * crop**2 * 3 * 4
  assert len(held) == 2
  assert max(held.values()) <= (1 << 30) + batch_size * layout.record_bytes
  assert 'Filling queue with 20000 ' in capsys.readouterr().out or (
      source == 'tf_data')
  if size == 32:  # As ever.
    assert held.pop('ready_batches') == 16 * 128 * 24 * 24 * 3 * 4
    (shuffled,) = held.values()
    assert shuffled in (50000 * 3073, 50128 * 3073)


def test_files_of_more_than_fits_come_in_random_order(tmp_path, monkeypatch):
  monkeypatch.setattr(cifar10_input, '_MAX_BYTES_IN_QUEUE', 81 * 3073 - 1)
  monkeypatch.setattr(cifar10_input, '_RECORDS_PER_READ', 7)
  files = [
      synthetic_records.make_records(np.arange(20) % 10, i) for i in range(10)
  ]
  found = raw_batches(write(tmp_path, *files), 200, 20, 60)
  # 80 records at a time: each second epoch begins with 4 whole files.
  assert set(times_seen(found).values()) == {6}
  parts = []
  for start in (0, 400):
    part = found[start:start + 80, -3]  # The seed of make_records.
    assert np.bincount(part).max() == 20
    parts.append(set(part))
  assert len(parts[0]) == len(parts[1]) == 4
  assert parts[0] != parts[1]


def chi_squared(labels):
  """How far the parts of an epoch are from equal numbers of each class."""
  values = []
  for share in (0.5, 0.6):
    for part in np.split(labels, [int(share * len(labels))]):
      counts = np.bincount(part, minlength=10)
      expected = len(part) / 10
      values.append(((counts - expected)**2 / expected).sum())
  return values


def test_sorted_files_give_mixed_batches(tmp_path):
  records = synthetic_records.make_records(np.repeat(np.arange(10), 100))
  # What is not shuffled is found.
  assert min(chi_squared(records[:, 0])) > CHI_SQUARED_9
  names = write(tmp_path, *np.split(records, 5))
  labels = raw_batches(names, 1000, 20, 150)[:, 0]
  for epoch in np.split(labels, 3):
    assert max(chi_squared(epoch)) < CHI_SQUARED_9
  # Batch by batch: the sum of 150 values of 9 degrees of freedom has a
  # deviation of sqrt(2 * 9 * 150); without replacement it is a little less.
  counts = np.stack(
      [np.bincount(batch, minlength=10) for batch in np.split(labels, 150)])
  total = ((counts - 2)**2 / 2).sum()
  assert abs(total - 9 * 150) < 4 * np.sqrt(2 * 9 * 150)


@pytest.mark.parametrize('source', SOURCES)
@pytest.mark.parametrize('name, value', [('standardization', 'fixed'),
                                         ('augment', 'brightness,saturation')])
def test_images_may_have_another_size(source, sample, name, value):
  images, _ = training_inputs(sample, 8, source=source, image_size=30,
                              **{name: value})
  assert images.shape.as_list() == [8, 30, 30, 3]
  middles, _ = eval_inputs(sample, 8, image_size=30)
  with tf.train.MonitoredSession() as session:
    assert session.run(images).shape == (8, 30, 30, 3)
    assert session.run(middles).shape == (8, 30, 30, 3)
  with pytest.raises(UserError,
                     match='--image_size=33: larger .* have 32 x 32 pi'):
    cifar10_input.crop_size(sample.layout, 33)


@pytest.mark.parametrize('source', SOURCES)
def test_a_seed_makes_batches_repeatable(source, sample):

  def batches(seed):
    with tf.Graph().as_default():
      tf.set_random_seed(seed)
      tensors = training_inputs(sample, 64, seed=1, source=source)
      with tf.train.MonitoredSession() as session:
        return [session.run(list(tensors)) for _ in range(40)]

  first, second, third = batches(3), batches(3), batches(4)
  for (images, labels), (again, labels_again) in zip(first, second):
    np.testing.assert_array_equal(images, again)
    np.testing.assert_array_equal(labels, labels_again)
  assert (first[0][0] != third[0][0]).any()
  assert any((a[1] != b[1]).any() for a, b in zip(first, third))


def test_without_a_seed_each_run_has_its_own_order(tmp_path):
  names = write(tmp_path, synthetic_records.make_records(np.arange(100) % 10))
  runs = []
  for _ in range(2):
    with tf.Graph().as_default():
      runs.append(raw_batches(names, 100, 50, 2))
  assert (runs[0] != runs[1]).any()


@pytest.mark.parametrize('source', SOURCES)
def test_inputs_are_on_the_cpu(graph, source, sample):
  with tf.device('/gpu:0'):
    images, _ = training_inputs(sample, 4, source=source)
    eval_inputs(sample, 4)
  assert images.op.name.startswith(graph_keys.INPUT_SCOPE + '/')
  for operation in graph.get_operations():
    assert operation.device == '/device:CPU:0', operation.name


def numbered(tmp_path, count, num_files, **parts):
  """A data set in which each record has a class of its own."""
  layout = Layout(label_bytes=2, label_at=(0, 1))
  records = synthetic_records.make_records([0] * count, layout=layout)
  records[:, 0], records[:, 1] = np.divmod(np.arange(count), 256)
  names = write(tmp_path, *np.array_split(records, num_files))
  classes = tuple('class %d' % i for i in range(count))
  return data_set(names, layout)._replace(classes=classes, **parts)


def order(data, source, batch_size, count):
  """The numbers of the records of `count` batches, an array."""
  with tf.Graph().as_default():
    _, labels = training_inputs(data, batch_size, source=source)
    with tf.train.MonitoredSession() as session:
      return np.concatenate([session.run(labels) for _ in range(count)])


# Batches come ahead of time from many threads, so their order is a little
# mixed: no matter, but at the border between two epochs.
@pytest.fixture
def one_thread(monkeypatch):
  monkeypatch.setattr(cifar10_input, 'NUM_PREPROCESS_THREADS', 1)


@pytest.mark.parametrize('source', SOURCES)
def test_each_epoch_is_all_records_in_an_order_of_its_own(
    tmp_path, one_thread, source):
  data = numbered(tmp_path, 300, 3)
  epochs = np.split(order(data, source, 25, 36), 3)
  for epoch in epochs:
    assert sorted(epoch) == list(range(300))
    # Records of all files come in each part of it.
    for part in np.split(epoch, 3):
      assert min(np.bincount(part // 100, minlength=3)) >= 15
  assert len({tuple(epoch) for epoch in epochs}) == 3


def test_alternating_flips_mirror_each_image_every_other_time(
    tmp_path, one_thread):
  data = numbered(tmp_path, 40, 1)
  images, labels = training_inputs(data, 20, augment='alternating_flip',
                                   source='preloaded')
  with tf.train.MonitoredSession() as session:
    found = [session.run([images, labels]) for _ in range(8)]
  seen = {}
  for batch, numbers in found:
    for image, number in zip(batch, numbers):
      seen.setdefault(number, []).append(image)
  mirrored = set()
  (records,) = [np.fromfile(path, np.uint8) for path in data.train_files]
  records = records.reshape(-1, data.layout.record_bytes)
  originals = synthetic_records.images_of(records, data.layout)
  for number, versions in seen.items():
    original = reference.central_crop(originals[number], 24)
    flips = []
    for image in versions:
      distances = [
          np.abs(image - original[:, ::step]).max() for step in (1, -1)
      ]
      assert min(distances) < 1e-4
      flips.append(int(np.argmin(distances)))
    assert flips in ([0, 1, 0, 1], [1, 0, 1, 0])
    mirrored.add(flips[0])
  assert mirrored == {0, 1}


@pytest.mark.parametrize('seed', [None, 5])
@pytest.mark.parametrize('source', SOURCES)
def test_an_image_is_distorted_anew_each_time(tmp_path, source, seed):
  data = numbered(tmp_path, 1, 1)
  tf.set_random_seed(seed)
  images, _ = training_inputs(data, 4, seed=seed, source=source)
  with tf.train.MonitoredSession() as session:
    found = np.concatenate([session.run(images) for _ in range(5)])
  assert len({image.tobytes() for image in found}) == 20


@pytest.mark.parametrize('source', SOURCES)
def test_only_the_records_to_train_on_are_read(tmp_path, one_thread, source):
  folder = tmp_path / 'a\nfolder'  # Records are numbered after their path.
  folder.mkdir()
  data = numbered(folder, 100, 3)
  for held_out, labelled, left in ((40, 0, 60), (10, 20, 20), (0, 34, 34)):
    found = order(data._replace(held_out=held_out, labelled=labelled), source,
                  left, 3)
    assert set(np.bincount(found)) == {3}
    assert set(found) == set(range(left))


# 100 batches of 7 are 7 epochs; a batch may be larger than the data set.
@pytest.mark.parametrize('source', SOURCES)
@pytest.mark.parametrize('size, num_files, batch_size, count, epochs',
                         [(100, 2, 7, 100, 7), (10, 1, 25, 2, 5)])
def test_what_is_left_of_an_epoch_is_not_lost(tmp_path, one_thread, source,
                                              size, num_files, batch_size,
                                              count, epochs):
  data = numbered(tmp_path, size, num_files)
  found = order(data, source, batch_size, count)
  assert set(np.bincount(found)) == {epochs}


def test_preloaded_records_are_in_no_checkpoint(graph, sample, capsys):
  training_inputs(sample, 8, source='preloaded')
  assert capsys.readouterr().out == (
      'Loading 1000 CIFAR images before starting to train.\n')
  (variable,) = tf.local_variables()
  assert not tf.global_variables()
  with tf.train.MonitoredSession() as session:
    records = session.run(variable)
  np.testing.assert_array_equal(
      records, records_lib.load(sample.train_files, sample.layout))


def test_the_preprocessing_threads_are_sixteen_or_one(graph, sample):
  for seed, count in ((None, 16), (1, 1)):
    with tf.Graph().as_default():
      training_inputs(sample, 4, seed=seed)
      runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
      assert len(runners[-1].enqueue_ops) == count


@pytest.mark.parametrize('source', SOURCES)
def test_sessions_end_without_noise_or_threads(capfd, source, sample):
  tensors = list(training_inputs(sample, 8, source=source))
  before = set(threading.enumerate())
  for _ in range(3):
    with tf.train.MonitoredSession() as session:
      session.run(tensors)
    assert not processes.threads_left(before)
  assert capfd.readouterr().err == ''


def test_a_coordinator_by_hand_ends_without_noise_or_threads(capfd, sample):
  tensors = list(training_inputs(sample, 8))
  before = set(threading.enumerate())
  with tf.Session() as session:
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    assert set(threading.enumerate()) - before
    session.run(tensors)
    coord.request_stop()
    coord.join(threads)
  assert not processes.threads_left(before)
  assert capfd.readouterr().err == ''


@pytest.mark.parametrize('eval_data, missing', [(True, 'data_batch_1.bin'),
                                                (False, 'test_batch.bin')])
def test_only_files_that_are_read_must_be_there(tmp_path, eval_data, missing):
  folder = synthetic_records.make_folder(tmp_path)
  for path in folder.glob('data_*' if eval_data else 'test_*'):
    path.unlink()
  images, _ = cifar10_input.inputs(eval_data, str(folder), 5)
  assert images.shape.as_list() == [5, 24, 24, 3]
  with pytest.raises(ValueError, match='Failed to find file: .*' + missing):
    cifar10_input.inputs(not eval_data, str(folder), 5)
  if eval_data:
    with pytest.raises(ValueError, match='Failed to find file: .*' + missing):
      cifar10_input.distorted_inputs(str(folder), 5)
  else:
    cifar10_input.distorted_inputs(str(folder), 5)


@pytest.mark.parametrize('vanished', [0, 1])
@pytest.mark.parametrize('training', [True, False])
def test_a_file_that_vanishes_is_named(tmp_path, training, vanished):
  records = synthetic_records.make_records(np.arange(40) % 10)
  names = write(tmp_path, records[:20], records[20:])
  if training:
    tensors = training_inputs(data_set(names), 8)
  else:
    tensors = eval_inputs(data_set(names), 8)
  os.remove(names[vanished])
  file = os.path.basename(names[vanished])
  with pytest.raises(tf.errors.NotFoundError, match=file):
    with tf.train.MonitoredSession() as session:
      while True:
        session.run(list(tensors))
