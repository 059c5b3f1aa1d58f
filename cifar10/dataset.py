"""Which data sets there are, where their files lie, and whether they are whole.

The tutorial's section "Input": CIFAR-10's binary version keeps one record an
image, a byte of label and then the 32 x 32 red, green and blue planes. People's
own pictures are kept in the same way (see scripts/make_dataset.py), with a file
`dataset.json` that says what they are.
"""

import os
from typing import NamedTuple, Tuple

import numpy as np

from cifar10 import download
from cifar10 import files
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

# Describes a folder of people's own pictures.
FILE_NAME = 'dataset.json'

_TRAIN_NAMES = tuple('data_batch_%d.bin' % i for i in range(1, 6))
_TEST_NAMES = ('test_batch.bin',)
_FOLDER = 'cifar-10-batches-bin'
_ARCHIVE = 'cifar-10-binary.tar.gz'
_SAMPLE_FOLDER = os.path.join(
  os.path.dirname(os.path.abspath(__file__)), 'sample'
)


class Layout(NamedTuple):
  """How a record is laid out: labels, then `depth` planes of pixels.

  Attributes:
    height: rows of the image.
    width: columns of the image.
    depth: colours of the image.
    label_bytes: bytes of all labels of a record.
    label_at: which of them make the label that counts, the highest first.
  """

  height: int = 32
  width: int = 32
  depth: int = 3
  label_bytes: int = 1
  label_at: Tuple[int, ...] = (0,)

  @property
  def record_bytes(self):
    return self.label_bytes + self.height * self.width * self.depth

  def labels(self, records):
    """The labels of `records`, an integer array or tensor [n, bytes]."""
    label = 0
    for at in self.label_at:
      label = 256 * label + records[:, at]
    return label


class DataSet(NamedTuple):
  """A data set on disk, its files checked.

  Attributes:
    train_files: paths of the files of training records.
    test_files: paths of the files of test records.
    classes: names of the classes, in the order of their labels.
    layout: Layout of the records.
    flip: whether a mirrored image is of the same class.
  """

  train_files: Tuple[str, ...]
  test_files: Tuple[str, ...]
  classes: Tuple[str, ...] = CLASSES
  layout: Layout = Layout()
  flip: bool = True

  def files(self, eval_data):
    """The files of 'test' or of 'train_eval', the training images."""
    return {'test': self.test_files, 'train_eval': self.train_files}[eval_data]

  def count(self, paths):
    """How many records the files at `paths` hold together."""
    return sum(os.path.getsize(p) for p in paths) // self.layout.record_bytes


def describe(config):
  """The DataSet that `config` names; its files need not be there.

  Raises:
    UserError: a dataset.json does not describe one.
  """
  own = os.path.join(config.data_dir, FILE_NAME)
  if config.dataset == 'sample':
    return in_folder(_SAMPLE_FOLDER, train_names=_TRAIN_NAMES[:1])
  if os.path.exists(own):
    return load(own)
  return in_folder(os.path.join(config.data_dir, _FOLDER))


def prepare(config):
  """The DataSet that `config` names, fetched if it is not there, and checked.

  Raises:
    UserError: it cannot be fetched, or a file is missing or damaged.
  """
  data = describe(config)
  folder = os.path.join(config.data_dir, _FOLDER)
  if data == in_folder(folder) and not os.path.isdir(folder):
    download.fetch_and_unpack(
      config.data_url,
      config.data_sha256,
      os.path.join(config.data_dir, _ARCHIVE),
      folder,
      required=_TRAIN_NAMES + _TEST_NAMES,
      optional=('batches.meta.txt', 'readme.html'),
    )
  for path in data.train_files + data.test_files:
    check_file(path, data.layout, len(data.classes))
  return data


def load(path):
  """The DataSet that the file `path`, a dataset.json, describes; not checked.

  Raises:
    UserError: it does not describe one.
  """
  value = files.read_json(path)
  folder = os.path.dirname(path)
  try:
    size, channels = int(value['size']), int(value['channels'])
    classes = tuple(str(name) for name in value['classes'])
    train, test = (
      tuple(os.path.join(folder, name) for name in value[part]['files'])
      for part in ('train', 'test')
    )
    flip = bool(value['flip'])
  except (AttributeError, KeyError, TypeError, ValueError) as error:
    raise UserError(
      '%s: %r; expected classes, size, channels, flip, train and test as '
      'scripts/make_dataset.py writes them' % (path, error)
    ) from error
  return DataSet(
    train, test, classes, layout_for(size, channels, classes), flip
  )


def layout_for(size, channels, classes):
  """The Layout of square images with as many label bytes as classes need."""
  label_bytes = 1 if len(classes) <= 256 else 2
  return Layout(size, size, channels, label_bytes, tuple(range(label_bytes)))


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
  records = np.memmap(path, np.uint8, 'r').reshape(-1, layout.record_bytes)
  labels = layout.labels(records[:, : layout.label_bytes].astype(np.int32))
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
