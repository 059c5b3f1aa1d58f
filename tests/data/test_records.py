"""Records: layout, labels, crops, encoding, and the check of files."""

import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import records
from cifar10.data.records import Layout
from cifar10.errors import UserError
from tests import synthetic_records

# CIFAR-10, CIFAR-100 with fine labels, and 1,000 classes of gray images that
# are higher than wide.
LAYOUTS = {
    'cifar10': Layout(),
    'cifar100': Layout(label_bytes=2, label_at=(1,)),
    'own': Layout(24, 20, 1, label_bytes=2, label_at=(0, 1))
}

each_layout = pytest.mark.parametrize('name', sorted(LAYOUTS))


@pytest.fixture(autouse=True)
def graph():
  with tf.Graph().as_default() as default_graph:
    yield default_graph


def run(tensor, feed=None):
  with tf.Session() as session:
    return session.run(tensor, feed)


def test_layouts_of_the_public_data_sets():
  assert Layout() == (32, 32, 3, 1, (0,))
  assert Layout().record_bytes == 3073
  assert LAYOUTS['cifar100'].record_bytes == 3074
  assert LAYOUTS['own'].record_bytes == 2 + 24 * 20


@pytest.mark.parametrize('num_classes, label_bytes', [(2, 1), (256, 1),
                                                      (257, 2), (65536, 2)])
def test_labels_take_one_or_two_bytes(num_classes, label_bytes):
  layout = records.layout_for(8, 3, range(num_classes))
  assert layout == Layout(8, 8, 3, label_bytes, tuple(range(label_bytes)))


@each_layout
def test_labels_of_arrays_and_tensors(name):
  layout = LAYOUTS[name]
  expected = [3, 0, 999] if name == 'own' else [3, 0, 99]
  content = synthetic_records.make_records(expected, layout=layout)
  if name == 'cifar100':
    content[:, 0] = 255  # The coarse label, which is not in use.
  assert layout.labels(content.astype(int)).tolist() == expected
  labels = records.labels(tf.constant(content), layout)
  assert labels.dtype == tf.int32 and labels.shape.as_list() == [3]
  assert run(labels).tolist() == expected


@each_layout
def test_strings_are_decoded_to_bytes(name):
  layout = LAYOUTS[name]
  content = synthetic_records.make_records(np.arange(5), layout=layout)
  values = tf.placeholder(tf.string, [None])
  decoded = records.decode(values, layout)
  assert decoded.dtype == tf.uint8
  assert decoded.shape.as_list() == [None, layout.record_bytes]
  for count in (5, 1, 0):
    strings = [record.tobytes() for record in content[:count]]
    np.testing.assert_array_equal(run(decoded, {values: strings}),
                                  content[:count])


@each_layout
@pytest.mark.parametrize('size', [1, 13, 20])
@pytest.mark.parametrize('margin', [0, 7])  # Corners may be outside by as much.
@pytest.mark.parametrize('by_product', [True, False])
def test_crops_are_exact_and_mirrored_at_the_edges(monkeypatch, name, size,
                                                   margin, by_product):
  if not by_product:
    monkeypatch.setattr(records, '_WIDEST_PRODUCT', 0)
  layout, count = LAYOUTS[name], 50
  content = synthetic_records.make_records(np.arange(count), layout=layout)
  random = np.random.RandomState(size)
  last = [layout.height - size + margin, layout.width - size + margin]
  top, left = (random.randint(-margin, most + 1, count) for most in last)
  flip = random.randint(0, 2, count)
  # The corners, where an error of one would show.
  top[:4] = [-margin, -margin, last[0], last[0]]
  left[:4] = [-margin, last[1], -margin, last[1]]
  batch = tf.placeholder(tf.uint8, [None, layout.record_bytes])
  crops = records.crop(
      batch, layout, size,
      [tf.constant(top, tf.int32),
       tf.constant(left, tf.int32)], tf.constant(flip, tf.int32))
  assert crops.dtype == tf.float32
  assert crops.shape.as_list()[1:] == [size, size, layout.depth]
  assert ('OneHot'
          in {op.type for op in crops.graph.get_operations()}) == by_product
  found = run(crops, {batch: content})
  assert len(found) == count
  around = (margin, margin)
  images = np.pad(synthetic_records.images_of(content, layout),
                  [(0, 0), around, around, (0, 0)], 'reflect')
  for crop, image, y, x, is_flipped in zip(found, images, top + margin,
                                           left + margin, flip):
    expected = image[y:y + size, x:x + size]
    np.testing.assert_array_equal(crop,
                                  expected[:, ::-1] if is_flipped else expected)


def test_a_crop_of_the_whole_image():
  content = synthetic_records.make_records(np.arange(7))
  zeros = tf.zeros([7], tf.int32)
  crops = records.crop(tf.constant(content), Layout(), 32, [zeros, zeros],
                       flip=zeros)
  np.testing.assert_array_equal(run(crops),
                                synthetic_records.images_of(content))


def test_crops_are_exact_beyond_31_bits():
  layout = records.layout_for(10000, 3, 'ab')
  content = np.zeros([8, layout.record_bytes], np.uint8)  # 2.4 GB, not in use.
  red, green, blue = 1 + 10000 * 10000 * np.arange(3) + 9999 * 10000 + 9998
  content[7, [red, green, blue, blue + 1]] = [1, 2, 3, 4]
  batch = tf.placeholder(tf.uint8, content.shape)
  corner = [tf.fill([8], 9998), tf.fill([8], 9998)]
  found = run(records.crop(batch, layout, 2, corner, tf.zeros([8], tf.int32)),
              {batch: content})
  assert not found[:7].any()
  black = [0, 0, 0]
  np.testing.assert_array_equal(found[7],
                                [[black, black], [[1, 2, 3], [0, 0, 4]]])


@pytest.mark.parametrize('num_classes', [10, 256, 257, 1000])
@pytest.mark.parametrize('channels', [1, 3])
def test_an_image_is_encoded_as_its_record(num_classes, channels):
  layout = records.layout_for(8, channels, range(num_classes))
  labels = [0, num_classes // 2, num_classes - 1]
  content = synthetic_records.make_records(labels, layout=layout)
  images = synthetic_records.images_of(content, layout)
  for label, image, expected in zip(labels, images, content):
    found = records.encode(image, layout, label)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, expected)
  # Without a label, as for a picture to be labeled.
  unlabeled = records.encode(images[-1], layout)
  assert not unlabeled[:layout.label_bytes].any()
  np.testing.assert_array_equal(unlabeled[layout.label_bytes:],
                                content[-1, layout.label_bytes:])


@each_layout
def test_all_records_of_several_files_are_loaded_in_order(tmp_path, name):
  layout = LAYOUTS[name]
  content = synthetic_records.make_records(np.arange(9), layout=layout)
  paths = [str(tmp_path / n) for n in ('x.bin', 'y.bin')]
  content[:4].tofile(paths[1])
  content[4:].tofile(paths[0])
  found = records.load(paths[::-1], layout)
  np.testing.assert_array_equal(found, content)
  assert found.dtype == np.uint8


def test_a_file_that_became_shorter_is_not_loaded(tmp_path):
  path = tmp_path / 'x.bin'
  path.write_bytes(b'x' * 3072)
  with pytest.raises(UserError) as info:
    records.load([str(path)], Layout())
  assert str(info.value) == (
      '%s: found 3,072 bytes; expected a whole number of 3,073-byte records' %
      path)


def error_of(path, layout=Layout(), num_classes=10):
  """The message of the error that the check raises, without the path."""
  with pytest.raises(UserError) as info:
    records.check_file(str(path), layout, num_classes)
  message = str(info.value)
  assert message.startswith('%s: ' % path) and '\n' not in message
  return message[len('%s: ' % path):]


def test_the_check_reports_what_was_found_and_what_was_expected(tmp_path):
  path = tmp_path / 'x.bin'
  content = synthetic_records.make_records(np.arange(30) % 10)
  expected = 'expected a whole number of 3,073-byte records'
  assert error_of(path) == 'no such file; ' + expected
  path.write_bytes(b'')
  assert error_of(path) == 'the file is empty; ' + expected
  path.write_bytes(content.tobytes()[:-1])
  assert error_of(path) == 'found 92,189 bytes; ' + expected
  path.write_bytes(content.tobytes() + b'x')
  assert error_of(path) == 'found 92,191 bytes; ' + expected
  content[17, 0] = 10
  content[18, 0] = 200
  path.write_bytes(content.tobytes())
  assert error_of(path) == 'record 17 has label 10; expected labels 0 to 9'
  assert (error_of(
      path, num_classes=3) == 'record 3 has label 3; expected labels 0 to 2')
  content[17:19, 0] = 9
  path.write_bytes(content.tobytes())
  records.check_file(str(path), Layout(), 10)


def test_only_a_regular_file_is_checked(tmp_path):
  pipe = tmp_path / 'pipe'
  os.mkfifo(str(pipe))
  for path in (pipe, tmp_path):
    assert error_of(path) == 'is not a regular file; expected one'
    with pytest.raises(UserError, match='is not a regular file'):
      records.load([str(path)], Layout())


def test_the_check_reads_all_labels_of_a_large_file(tmp_path):
  # More than is read at once; the last record of the first part is wrong, then
  # the first of the second, then the last of all.
  layout = Layout(1, 1, 1)
  count = 3 * records._BYTES_PER_READ // 2
  content = np.zeros([count, 2], np.uint8)
  path = tmp_path / 'x.bin'
  for at in (count - 1, records._BYTES_PER_READ // 2 + 1) + (
      records._BYTES_PER_READ // 2, records._BYTES_PER_READ // 2 - 1):
    content[at, 0] = 10
    path.write_bytes(content.tobytes())
    found = error_of(path, layout)
    assert found == 'record %d has label 10; expected labels 0 to 9' % at
  # A record that is larger than what is read at once.
  layout = Layout(1000, 1000, 1)
  large = synthetic_records.make_records([1, 10], layout=layout)
  path.write_bytes(large.tobytes())
  assert error_of(path, layout).startswith('record 1 has label 10; ')


@pytest.mark.parametrize('size', [0, 3073, 5000])
def test_a_file_that_is_cut_while_it_is_checked_is_named(
    tmp_path, monkeypatch, size):
  path = tmp_path / 'x.bin'
  path.write_bytes(synthetic_records.make_records([1] * 300).tobytes())
  read_labels = records._read_labels

  def cut_and_read(source, layout):
    os.truncate(str(path), size)
    return read_labels(source, layout)

  monkeypatch.setattr(records, '_read_labels', cut_and_read)
  assert error_of(path) == 'changed while it was checked'


def test_the_check_reads_the_label_in_use(tmp_path):
  path = tmp_path / 'x.bin'
  layout = Layout(4, 4, 1, label_bytes=2, label_at=(1,))
  content = synthetic_records.make_records([1, 2], layout=layout)
  content[:, 0] = 255  # Not part of the label.
  path.write_bytes(content.tobytes())
  records.check_file(str(path), layout, 3)
  assert error_of(path, layout, 2).startswith('record 1 has label 2; ')
  layout = layout._replace(label_at=(0, 1))
  content[:, :2] = [[3, 231], [3, 232]]  # 999 and 1000.
  path.write_bytes(content.tobytes())
  records.check_file(str(path), layout, 1001)
  assert error_of(path, layout, 1000).startswith('record 1 has label 1000; ')
