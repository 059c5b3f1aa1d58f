"""Records: layout, labels, crops, encoding, and the check of files."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.data import records
from cifar10.data.records import Layout
from cifar10.errors import UserError
from tests import graphs
from tests import synthetic_records

# CIFAR-10, CIFAR-100 with fine labels, and 1,000 classes of gray images that
# are higher than wide.
LAYOUTS = {
    'cifar10': Layout(),
    'cifar100': Layout(label_bytes=2, label_at=(1,)),
    'own': Layout(24, 20, 1, label_bytes=2, label_at=(0, 1))
}

each_layout = pytest.mark.parametrize('name', sorted(LAYOUTS))


@each_layout
def test_labels_of_arrays_and_tensors(name):
  layout = LAYOUTS[name]
  expected = [3, 0, 999] if name == 'own' else [3, 0, 99]
  content = synthetic_records.make_records(expected, layout=layout)
  if name == 'cifar100':
    content[:, 0] = 255  # The coarse label, which is not in use.
  assert records.labels(content, layout).tolist() == expected
  labels = records.labels(tf.constant(content), layout)
  assert labels.dtype == tf.int32 and labels.shape.as_list() == [3]
  assert graphs.run(labels).tolist() == expected


@pytest.mark.parametrize('size, count, lengths', [(32, 600, [500, 100]),
                                                  (96, 200, [151, 49]),
                                                  (256, 30, [21, 9]),
                                                  (4096, 2, [1, 1]),
                                                  (32, 0, [])])
def test_batches_of_large_images_are_small(size, count, lengths):
  content = np.zeros([count, 1 + 3 * size**2], np.uint8)
  assert [len(part) for part in records.small_batches(content)] == lengths


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
  found = graphs.run(crops, {batch: content})
  assert len(found) == count
  around = (margin, margin)
  images = np.pad(synthetic_records.images_of(content, layout),
                  [(0, 0), around, around, (0, 0)], 'reflect')
  for crop, image, y, x, is_flipped in zip(found, images, top + margin,
                                           left + margin, flip):
    expected = image[y:y + size, x:x + size]
    np.testing.assert_array_equal(crop,
                                  expected[:, ::-1] if is_flipped else expected)


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


def error_of(path, layout=Layout(), num_classes=10):
  """The message of the error that the check raises, without the path."""
  with pytest.raises(UserError, match='^%s: ' % path) as info:
    records.check_file(str(path), layout, num_classes)
  return str(info.value)[len('%s: ' % path):]


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
  # A label of two bytes.
  layout = Layout(4, 4, 1, label_bytes=2, label_at=(0, 1))
  synthetic_records.make_records([999, 1000], layout=layout).tofile(str(path))
  assert error_of(path, layout, 1000).startswith('record 1 has label 1000; ')
