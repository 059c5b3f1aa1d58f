"""Records in CIFAR-10's binary format: their layout, reading and writing.

The tutorial's section "Input". A record is one image: a label byte, then the
red, the green and the blue plane, row by row. All data sets of this project use
this format; a `Layout` holds the sizes, in which they differ.
"""

import os
from typing import NamedTuple, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import files

_BYTES_PER_READ = 1 << 18
_LARGE = 1 << 20  # Bytes of a record: 31 bits reach 2,047 of them.


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

  def labels(self, records):
    """The labels, [n], of an array or tensor [n, at least label_bytes].

    They have its type, an integer type that they must fit into.
    """
    label = 0
    for at in self.label_at:
      label = 256 * label + records[:, at]
    return label


def layout_for(size, channels, classes):
  """The Layout of square images, with as many label bytes as classes need."""
  label_bytes = 1 if len(classes) <= 256 else 2
  return Layout(size, size, channels, label_bytes, tuple(range(label_bytes)))


def decode(values, layout):
  """Converts strings [n] of TensorFlow's readers to uint8 [n, record_bytes]."""
  return tf.reshape(tf.decode_raw(values, tf.uint8), [-1, layout.record_bytes])


def labels(records, layout):
  """The labels, int32 [n], of a uint8 tensor of records, [n, record_bytes]."""
  return layout.labels(tf.cast(records[:, :layout.label_bytes], tf.int32))


def crop(records, layout, size, corner, flip):
  """Cuts a square out of each image and moves the color channels last.

  A single gather takes each pixel of the result from its place in the record,
  so crop, flip and transposition take no extra pass over the data.

  `corner` are two int32 tensors, [n]: the first row and column of each square.
  `flip`, int32 [n], is 1 to mirror it left to right, else 0. Returns a uint8
  tensor, [n, size, size, layout.depth].
  """
  top, left = corner
  # Offsets of the pixels of a square from its first pixel.
  rows = np.arange(size)[:, np.newaxis, np.newaxis] * layout.width
  columns = np.arange(size)[:, np.newaxis]
  planes = np.arange(layout.depth) * layout.height * layout.width
  unflipped = np.ravel(rows + columns + planes)
  flipped = np.ravel(rows + columns[::-1] + planes)
  # In a batch of large images, 31 bits do not reach every byte.
  dtype = tf.int64 if layout.record_bytes > _LARGE else tf.int32
  pixels = tf.constant(np.stack([unflipped, flipped]), dtype)
  count = tf.shape(records, out_type=dtype)[0]
  record_starts = tf.range(count) * layout.record_bytes
  in_record = layout.label_bytes + top * layout.width + left
  starts = record_starts + tf.cast(in_record, dtype)
  index = tf.gather(pixels, flip) + starts[:, tf.newaxis]
  images = tf.gather(tf.reshape(records, [-1]), index)
  return tf.reshape(images, [-1, size, size, layout.depth])


def extended(records, layout, margin):
  """Adds a margin, in pixels, around each image that mirrors it at its edge.

  Returns the records, uint8 [n, record bytes], and their Layout.
  """
  larger = layout._replace(height=layout.height + 2 * margin,
                           width=layout.width + 2 * margin)
  num_labels, shape = layout.label_bytes, [layout.depth, *layout[:2]]
  pixels = np.arange(num_labels, layout.record_bytes).reshape(shape)
  pixels = np.pad(pixels, [(0, 0), (margin, margin), (margin, margin)],
                  'reflect')
  index = np.concatenate([np.arange(num_labels), pixels.ravel()])
  return tf.gather(records, tf.constant(index, tf.int32), axis=1), larger


def encode(image, layout, label=0):
  """The uint8 record of an image, a uint8 array [height, width, depth].

  The label, an int, takes up all label bytes, as in a Layout of `layout_for`.
  """
  label = np.frombuffer(label.to_bytes(layout.label_bytes, 'big'), np.uint8)
  return np.concatenate([label, image.transpose(2, 0, 1).ravel()])


def load(paths, layout):
  """Reads all records of files: a uint8 array, [n, layout.record_bytes].

  Raises UserError if a file has changed since `check_file`.
  """
  parts = []
  for path in paths:
    with files.open_regular(path) as source:
      content = np.fromfile(source, np.uint8)
    if content.size % layout.record_bytes:
      raise _no_records(path, f'found {content.size:,} bytes', layout)
    parts.append(content.reshape(-1, layout.record_bytes))
  return np.concatenate(parts)


def check_file(path, layout, num_classes):
  """Raises UserError unless a file holds whole records with possible labels.

  TensorFlow's reader skips an incomplete record silently, and waits forever if
  there is no complete one. So programs check the files first.
  """
  try:
    with files.open_regular(path) as source:
      size = os.fstat(source.fileno()).st_size
      if size == 0 or size % layout.record_bytes:
        found = f'found {size:,} bytes' if size else 'the file is empty'
        raise _no_records(path, found, layout)
      content = _read_labels(source, layout)
  except FileNotFoundError as error:
    raise _no_records(path, 'no such file', layout) from error
  if len(content) * layout.record_bytes != size:
    raise UserError(f'{path}: changed while it was checked')
  found = layout.labels(content.astype(np.int32))
  wrong = np.flatnonzero(found >= num_classes)
  if wrong.size:
    raise UserError(f'{path}: record {wrong[0]} has label {found[wrong[0]]}; '
                    f'expected labels 0 to {num_classes - 1}')


def _read_labels(source, layout):
  """Reads the label bytes of all records: a uint8 array, [n, label_bytes].

  Not by a memory map, whose reader the system kills if the file is truncated.
  """
  record = np.dtype([('labels', np.uint8, (layout.label_bytes,)),
                     ('image', f'V{layout.record_bytes - layout.label_bytes}')])
  per_read = max(1, _BYTES_PER_READ // layout.record_bytes)
  parts = []
  while True:
    parts.append(np.fromfile(source, record, per_read)['labels'].copy())
    if len(parts[-1]) < per_read:
      return np.concatenate(parts)


def _no_records(path, found, layout):
  """The UserError for a file that does not hold whole records."""
  return UserError(f'{path}: {found}; expected a whole number of '
                   f'{layout.record_bytes:,}-byte records')
