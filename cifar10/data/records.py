"""Records in CIFAR-10's binary format: their layout, reading and writing.

The tutorial's section "Input". A record is one image: a label byte, then the
red, the green and the blue plane, row by row. All data sets of this project use
this format, with sizes of their own: a `Layout`.
"""

import os
import re
from typing import NamedTuple, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import files

# Up to this many columns, a product with zeros and ones chooses some of them
# faster than a gather of single pixels.
_WIDEST_PRODUCT = 256

# The most records, and bytes of them, in a small batch. The outputs of a
# network's first layers take some 100 times as many bytes.
_MAX_RECORDS = 500
_MAX_BYTES = 1 << 22


class Layout(NamedTuple):
  """The layout of a record: labels, then `depth` planes of pixels."""

  height: int = 32
  width: int = 32
  depth: int = 3  # Color channels.
  label_bytes: int = 1  # Of all labels together.
  # Positions of the bytes of the label in use, most significant byte first.
  label_at: Tuple[int, ...] = (0,)

  @property
  def record_bytes(self):
    """Size of a record in bytes."""
    return self.label_bytes + self.height * self.width * self.depth


def layout_for(size, channels, classes):
  """The Layout of square images, with as many label bytes as classes need."""
  label_bytes = 1 if len(classes) <= 256 else 2
  return Layout(size, size, channels, label_bytes, tuple(range(label_bytes)))


def decode(values, layout):
  """Converts strings [n] of TensorFlow's readers to uint8 [n, record_bytes]."""
  return tf.reshape(tf.decode_raw(values, tf.uint8), [-1, layout.record_bytes])


def labels(records, layout):
  """The labels, int32 [n], of a uint8 array or tensor, [n, record_bytes]."""
  found = records[:, :layout.label_bytes]
  is_array = isinstance(found, np.ndarray)
  found = found.astype(np.int32) if is_array else tf.cast(found, tf.int32)
  label = 0
  for at in layout.label_at:
    label = 256 * label + found[:, at]
  return label


def images(records, layout):
  """The images, uint8 [n, height, width, depth], of an array of records."""
  planes = records[:, layout.label_bytes:].reshape(-1, layout.depth,
                                                   layout.height, layout.width)
  return planes.transpose(0, 2, 3, 1)


def batches(items, size):
  """Splits a list or an array into parts of `size` items, the last of fewer."""
  return [items[i:i + size] for i in range(0, len(items), size)]


def small_batches(records, most=_MAX_RECORDS):
  """Splits an array of records into batches that fit into memory."""
  return batches(records, max(1, min(most, _MAX_BYTES // records.shape[1])))


def assert_labels(labels, data):
  """An operation that fails unless all labels, int32 [n], are of a DataSet.

  Its files were checked before; they may have been overwritten since.
  """
  largest, last = tf.reduce_max(labels), len(data.classes) - 1
  found = [f'expected labels 0 to {last}; found', largest]
  return tf.Assert(largest <= last, found)


def first_of_files(keys, values, counts):
  """Drops all but the first records of some files; returns the other values.

  Args:
    keys, values: strings [n], from a reader; a key is the path of a file, a
      colon, and the number of the record in it.
    counts: dict from paths to the numbers of records to keep.
  """
  for path, count in counts.items():
    number = tf.strings.to_number(tf.strings.regex_replace(keys, '(?s).*:', ''),
                                  tf.int32)
    is_of_file = tf.strings.regex_full_match(
        keys, tf.constant(re.escape(path) + ':[0-9]+'))
    is_kept = tf.logical_or(tf.logical_not(is_of_file), number < count)
    values = tf.boolean_mask(values, is_kept)
    keys = tf.boolean_mask(keys, is_kept)
  return values


def crop(records, layout, size, corner, flip):
  """Cuts a square out of each image and moves the color channels last.

  Beyond its edges, an image is mirrored.

  Args:
    records: uint8 tensor, [n, layout.record_bytes].
    layout: Layout.
    size: height and width of the squares, in pixels.
    corner: two int32 tensors, [n]; the first row and column of each square. No
      pixel may be farther from the image than its side.
    flip: int32 tensor, [n]; 1 to mirror the square left to right, else 0.

  Returns float32 [n, size, size, layout.depth], of whole numbers 0 to 255.
  """
  top, left = (first[:, tf.newaxis] for first in corner)
  flip, places = flip[:, tf.newaxis], tf.range(size)
  rows = _mirrored(top + places, layout.height)
  columns = left + places + flip * (size - 1 - 2 * places)
  columns = _mirrored(columns, layout.width)  # [n, size]
  # All rows of all planes; then the row numbers of those in the squares.
  lines = tf.reshape(records[:, layout.label_bytes:], [-1, layout.width])
  planes = tf.range(layout.depth * tf.shape(records)[0]) * layout.height
  planes = tf.reshape(planes, [-1, layout.depth, 1])
  lines = tf.gather(lines, planes + rows[:, tf.newaxis])
  lines = tf.cast(lines, tf.float32)  # [n, depth, size, width]
  if layout.width <= _WIDEST_PRODUCT:
    lines = tf.reshape(lines, [-1, layout.depth * size, layout.width])
    chosen = tf.one_hot(columns, layout.width)
    images = tf.matmul(lines, chosen, transpose_b=True)
  else:
    images = tf.gather(lines, columns, axis=3, batch_dims=1)
  images = tf.reshape(images, [-1, layout.depth, size, size])
  return tf.transpose(images, [0, 2, 3, 1])


def _mirrored(index, length):
  """Mirrors positions outside of 0 to length - 1 at these edges."""
  return length - 1 - abs(length - 1 - abs(index))


def encode(image, layout, label=0):
  """The uint8 record, [record_bytes], of an image, [height, width, depth]."""
  label = np.frombuffer(label.to_bytes(layout.label_bytes, 'big'), np.uint8)
  return np.concatenate([label, image.transpose(2, 0, 1).ravel()])


def load(paths, layout):
  """Reads all records of files: a uint8 array, [n, record_bytes].

  Raises UserError if a file has been cut since `check_file`.
  """
  parts = []
  for path in paths:
    with files.open_regular(path) as source:
      content = np.fromfile(source, np.uint8)
    if content.size % layout.record_bytes:
      raise UserError(f'{path}: found {content.size:,} bytes; expected a whole '
                      f'number of {layout.record_bytes:,}-byte records')
    parts.append(content.reshape(-1, layout.record_bytes))
  return np.concatenate(parts)


def check_file(path, layout, num_classes):
  """Raises UserError unless a file holds whole records with possible labels.

  TensorFlow's reader skips an incomplete record silently, and waits forever if
  there is no complete one. Returns the labels, an int32 array [n].
  """
  expected = f'expected a whole number of {layout.record_bytes:,}-byte records'
  content = bytearray()
  try:
    with files.open_regular(path) as source:
      size = os.fstat(source.fileno()).st_size
      if size == 0 or size % layout.record_bytes:
        found = f'found {size:,} bytes' if size else 'the file is empty'
        raise UserError(f'{path}: {found}; {expected}')
      # Not memory-mapped: the system kills the reader of a file that is cut.
      for start in range(0, size, layout.record_bytes):
        source.seek(start)
        content += source.read(layout.label_bytes)
  except FileNotFoundError as error:
    raise UserError(f'{path}: no such file; {expected}') from error
  content = np.frombuffer(content, np.uint8).reshape(-1, layout.label_bytes)
  found = labels(content, layout)
  wrong = np.flatnonzero(found >= num_classes)
  if wrong.size:
    raise UserError(f'{path}: record {wrong[0]} has label {found[wrong[0]]}; '
                    f'expected labels 0 to {num_classes - 1}')
  return found


def image_hashes(paths, layout):
  """Yields a hash of each image in files; equal images have equal hashes."""
  for path in paths:
    with open(path, 'rb') as source:
      for record in iter(lambda: source.read(layout.record_bytes), b''):
        yield hash(record[layout.label_bytes:])
