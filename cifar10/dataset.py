"""Which data sets there are, where their files lie, and whether they are whole.

The tutorial's section "Input": CIFAR-10's binary version keeps one record an
image, a byte of label and then the 32 x 32 red, green and blue planes.
"""

import os
from typing import NamedTuple, Tuple

import numpy as np

from cifar10 import download
from cifar10.errors import UserError

CLASSES = (
  'airplane',
  'automobile',
  'bird',
  'cat',
  'deer',
  'dog',
  'frog',
  'horse',
  'ship',
  'truck',
)

_TRAIN_NAMES = tuple('data_batch_%d.bin' % i for i in range(1, 6))
_TEST_NAMES = ('test_batch.bin',)
_FOLDER = 'cifar-10-batches-bin'
_ARCHIVE = 'cifar-10-binary.tar.gz'
_SAMPLE_FOLDER = os.path.join(
  os.path.dirname(os.path.abspath(__file__)), 'sample'
)


class Layout(NamedTuple):
  """How a record is laid out: the label, then `depth` planes of pixels."""

  height: int = 32
  width: int = 32
  depth: int = 3
  label_bytes: int = 1

  @property
  def record_bytes(self):
    return self.label_bytes + self.height * self.width * self.depth


class DataSet(NamedTuple):
  """A data set on disk, its files checked."""

  train_files: Tuple[str, ...]
  test_files: Tuple[str, ...]
  classes: Tuple[str, ...] = CLASSES
  layout: Layout = Layout()

  def files(self, eval_data):
    """The files of 'test' or of 'train_eval', the training images."""
    return {'test': self.test_files, 'train_eval': self.train_files}[eval_data]

  def count(self, files):
    """How many records the files hold together."""
    return sum(os.path.getsize(f) for f in files) // self.layout.record_bytes


def prepare(config):
  """The DataSet that `config` names, fetched if it is not there, and checked.

  Raises:
    UserError: it cannot be fetched, or a file is missing or damaged.
  """
  if config.dataset == 'sample':
    data = in_folder(_SAMPLE_FOLDER, train_names=_TRAIN_NAMES[:1])
  else:
    folder = os.path.join(config.data_dir, _FOLDER)
    if not os.path.isdir(folder):
      download.fetch_and_unpack(
        config.data_url,
        config.data_sha256,
        os.path.join(config.data_dir, _ARCHIVE),
        folder,
        required=_TRAIN_NAMES + _TEST_NAMES,
        optional=('batches.meta.txt', 'readme.html'),
      )
    data = in_folder(folder)
  for path in data.train_files + data.test_files:
    check_file(path, data.layout, len(data.classes))
  return data


def check_file(path, layout=Layout(), num_classes=len(CLASSES)):
  """Checks that `path` holds whole records with labels below `num_classes`.

  TensorFlow's reader passes over an incomplete record without a word, and
  waits forever for a first whole one, so this is done before it starts.

  Raises:
    UserError: names the file, what was found and what was expected.
  """
  size_expected = 'a whole number of %s-byte records' % format(
    layout.record_bytes, ','
  )
  if not os.path.isfile(path):
    raise UserError(
      '%s: no such file; expected %s. If its folder is incomplete, move the '
      'folder away and it is fetched anew' % (path, size_expected)
    )
  size = os.path.getsize(path)
  if size == 0:
    raise UserError(
      '%s: the file is empty; expected %s' % (path, size_expected)
    )
  if size % layout.record_bytes:
    raise UserError(
      '%s: found %s bytes; expected %s'
      % (path, format(size, ','), size_expected)
    )
  labels = np.memmap(path, np.uint8, 'r')[
    layout.label_bytes - 1 :: layout.record_bytes
  ]
  bad = np.flatnonzero(labels >= num_classes)
  if bad.size:
    raise UserError(
      '%s: record %d has label %d; expected labels 0 to %d'
      % (path, bad[0], labels[bad[0]], num_classes - 1)
    )


def in_folder(folder, train_names=_TRAIN_NAMES, test_names=_TEST_NAMES):
  """The DataSet of the files in `folder`, not checked."""
  return DataSet(
    train_files=tuple(os.path.join(folder, name) for name in train_names),
    test_files=tuple(os.path.join(folder, name) for name in test_names),
  )
