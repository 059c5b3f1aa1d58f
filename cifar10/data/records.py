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


class Layout(NamedTuple):
  """The layout of a record: labels, then `depth` planes of pixels.

  Attributes:
    height: rows of the image.
    width: columns of the image.
    depth: color channels of the image.
    label_bytes: bytes of all labels together.
    label_at: positions of the bytes that make up the label in use, most
      significant byte first.
  """

  height: int = 32
  width: int = 32
  depth: int = 3
  label_bytes: int = 1
  label_at: Tuple[int, ...] = (0,)

  @property
  def record_bytes(self):
    """Size of a record in bytes."""
    return self.label_bytes + self.height * self.width * self.depth

  def labels(self, records):
    """The labels of records.

    Args:
      records: integer array or tensor, [n, at least label_bytes], of a type
        that the labels fit into.

    Returns:
      Array or tensor of the same type, [n].
    """
    label = 0
    for at in self.label_at:
      label = 256 * label + records[:, at]
    return label


def layout_for(size, channels, classes):
  """The Layout of square images, with as many label bytes as classes need.

  Args:
    size: height and width of the images, in pixels.
    channels: color channels of the images.
    classes: names of the classes.

  Returns:
    Layout.
  """
  label_bytes = 1 if len(classes) <= 256 else 2
  return Layout(size, size, channels, label_bytes, tuple(range(label_bytes)))


def decode(values, layout):
  """Converts records from strings, as TensorFlow's readers return them.

  Args:
    values: string tensor, [n], one record each.
    layout: Layout.

  Returns:
    uint8 tensor, [n, layout.record_bytes].
  """
  return tf.reshape(tf.decode_raw(values, tf.uint8), [-1, layout.record_bytes])


def labels(records, layout):
  """The labels of records, as integers.

  Args:
    records: uint8 tensor, [n, layout.record_bytes].
    layout: Layout.

  Returns:
    int32 tensor, [n].
  """
  return layout.labels(tf.cast(records[:, : layout.label_bytes], tf.int32))


def crop(records, layout, size, *, top, left, flip):
  """Cuts a square out of each image and moves the color channels last.

  A single gather takes each pixel of the result from its place in the record,
  so crop, flip and transposition take no extra pass over the data.

  Args:
    records: uint8 tensor, [n, layout.record_bytes].
    layout: Layout.
    size: height and width of the squares, in pixels.
    top, left: int32 tensors, [n]; the first row and column of each square.
    flip: int32 tensor, [n]; 1 mirrors the square left to right, 0 does not.

  Returns:
    uint8 tensor, [n, size, size, layout.depth].
  """
  # Offsets of the pixels of a square from its first pixel.
  rows = np.arange(size)[:, np.newaxis, np.newaxis] * layout.width
  columns = np.arange(size)[:, np.newaxis]
  planes = np.arange(layout.depth) * layout.height * layout.width
  unflipped = np.ravel(rows + columns + planes)
  flipped = np.ravel(rows + columns[::-1] + planes)
  pixels = tf.constant(np.stack([unflipped, flipped]), tf.int32)
  record_starts = tf.range(tf.shape(records)[0]) * layout.record_bytes
  starts = record_starts + layout.label_bytes + top * layout.width + left
  index = tf.gather(pixels, flip) + starts[:, tf.newaxis]
  images = tf.gather(tf.reshape(records, [-1]), index)
  return tf.reshape(images, [-1, size, size, layout.depth])


def extended(records, layout, margin):
  """Records of larger images: those at the edge repeat beyond it.

  Args:
    records: uint8 tensor, [n, layout.record_bytes].
    layout: Layout.
    margin: pixels to add on each side.

  Returns:
    records: uint8 tensor, [n, larger.record_bytes].
    larger: their Layout.
  """
  larger = layout._replace(
    height=layout.height + 2 * margin, width=layout.width + 2 * margin
  )
  num_labels, shape = layout.label_bytes, [layout.depth, *layout[:2]]
  pixels = np.arange(num_labels, layout.record_bytes).reshape(shape)
  pixels = np.pad(pixels, [(0, 0), (margin, margin), (margin, margin)], 'edge')
  index = np.concatenate([np.arange(num_labels), pixels.ravel()])
  return tf.gather(records, tf.constant(index, tf.int32), axis=1), larger


def encode(image, layout, label=0):
  """The record of an image.

  Args:
    image: uint8 array, [layout.height, layout.width, layout.depth].
    layout: Layout whose label takes up all label bytes, most significant byte
      first, as `layout_for` returns it.
    label: integer.

  Returns:
    uint8 array, [layout.record_bytes].
  """
  label_bytes = [label >> 8 * i & 255 for i in range(layout.label_bytes)][::-1]
  return np.concatenate(
    [np.array(label_bytes, np.uint8), image.transpose(2, 0, 1).ravel()]
  )


def load(paths, layout):
  """Reads all records of several files.

  Args:
    paths: paths of files that `check_file` has checked.
    layout: Layout.

  Returns:
    uint8 array, [n, layout.record_bytes].

  Raises:
    UserError: a file has changed since.
  """
  parts = []
  for path in paths:
    with files.open_regular(path) as source:
      content = np.fromfile(source, np.uint8)
    if content.size % layout.record_bytes:
      raise _wrong_size(path, content.size, layout)
    parts.append(content.reshape(-1, layout.record_bytes))
  return np.concatenate(parts)


def check_file(path, layout, num_classes):
  """Checks that a file holds whole records with labels below `num_classes`.

  TensorFlow's reader skips an incomplete record silently, and waits forever if
  there is no complete one. So programs check the files first.

  Args:
    path: path of the file.
    layout: Layout.
    num_classes: number of classes.

  Raises:
    UserError: the file is missing, empty or damaged; the message names the
      file, what was found and what was expected.
  """
  try:
    with files.open_regular(path) as source:
      size = os.fstat(source.fileno()).st_size
      if size == 0 or size % layout.record_bytes:
        raise _wrong_size(path, size, layout)
      content = _read_labels(source, layout)
  except FileNotFoundError as error:
    raise UserError(
      '%s: no such file; expected %s' % (path, _whole_records(layout))
    ) from error
  if len(content) * layout.record_bytes != size:
    raise UserError('%s: changed while it was checked' % path)
  found = layout.labels(content.astype(np.int32))
  wrong = np.flatnonzero(found >= num_classes)
  if wrong.size:
    raise UserError(
      '%s: record %d has label %d; expected labels 0 to %d'
      % (path, wrong[0], found[wrong[0]], num_classes - 1)
    )


def _read_labels(source, layout):
  """Reads the label bytes of all records.

  Not by a memory map, whose reader the system kills if the file is truncated.

  Args:
    source: file of records.
    layout: Layout.

  Returns:
    uint8 array, [n, layout.label_bytes].
  """
  records_per_read = max(1, _BYTES_PER_READ // layout.record_bytes)
  parts = []
  while True:
    part = np.fromfile(source, np.uint8, records_per_read * layout.record_bytes)
    whole = part[: part.size // layout.record_bytes * layout.record_bytes]
    whole = whole.reshape(-1, layout.record_bytes)
    parts.append(whole[:, : layout.label_bytes].copy())
    if len(whole) < records_per_read:
      return np.concatenate(parts)


def _whole_records(layout):
  return 'a whole number of %s-byte records' % format(layout.record_bytes, ',')


def _wrong_size(path, size, layout):
  """The UserError for a file that does not hold whole records."""
  found = 'found %s bytes' % format(size, ',') if size else 'the file is empty'
  return UserError(
    '%s: %s; expected %s' % (path, found, _whole_records(layout))
  )
