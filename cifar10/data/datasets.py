"""Which data sets there are, where their files lie, and whether they are whole.

The tutorial's section "Input": CIFAR-10's binary version keeps one record an
image, a byte of label and then the 32 x 32 red, green and blue planes. All
others are kept in the same way, people's own pictures too (see
scripts/make_dataset.py), with a file `dataset.json` that says what they are.
"""

import os
from typing import NamedTuple, Optional, Tuple

import numpy as np

from cifar10.data import dataset_json
from cifar10.data import sources
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

# How many classes the labels of CIFAR-100 tell apart, in the order of their
# bytes in a record.
_CIFAR100_CLASSES = {'coarse': 20, 'fine': 100}

_CIFAR10_SOURCE = sources.SOURCES['cifar10']
SAMPLE_FOLDER = os.path.join(
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
    counts: how many records train_files and test_files must hold; None where
      that is not known.
    name: what its images are called on the console.
  """

  train_files: Tuple[str, ...]
  test_files: Tuple[str, ...]
  classes: Tuple[str, ...] = CLASSES
  layout: Layout = Layout()
  flip: bool = True
  counts: Tuple[Optional[int], Optional[int]] = (None, None)
  name: str = 'CIFAR'

  def files(self, eval_data):
    """The files of 'test' or of 'train_eval', the training images."""
    return {'test': self.test_files, 'train_eval': self.train_files}[eval_data]

  def count(self, paths):
    """How many records the files at `paths` hold together."""
    return sum(os.path.getsize(p) for p in paths) // self.layout.record_bytes


def describe(config):
  """The DataSet that `config` names; the files of records need not be there.

  Raises:
    UserError: what describes it is not there, or wrong; or the model of
      `config` has other classes.
  """
  data = _DESCRIBED[_kind(config)](config)
  check_classes(data, config, config.classes)
  return data


def check_classes(data, config, trained):
  """Checks that a data set has the classes that a model was trained on.

  Args:
    data: DataSet.
    config: Config that names it.
    trained: names of the classes; empty where they are not known.

  Raises:
    UserError: it has others.
  """
  if trained not in ((), data.classes):
    raise UserError(
      '--dataset=%s --data_dir=%s: found the classes %s; the model was trained '
      'on %s'
      % (config.dataset, config.data_dir, _few(data.classes), _few(trained))
    )


def _few(names):
  return ', '.join(names[:3]) + ', ... (%d)' % len(names) * (len(names) > 3)


def prepare(config):
  """The DataSet that `config` names, fetched if it is not there, and checked.

  Raises:
    UserError: it cannot be fetched, or a file is missing or damaged.
  """
  kind = _kind(config)
  if kind == 'cifar10':
    describe(config)  # Not to be fetched for a model of something else.
  source = sources.SOURCES.get(kind)
  if source and not os.path.isdir(source.folder_in(config.data_dir)):
    sources.fetch(source, config)
  data = describe(config)
  parts = zip((data.train_files, data.test_files), data.counts)
  for paths, count in parts:
    for path in paths:
      if source and not os.path.isfile(path):
        raise UserError(
          '%s: no such file. Move its folder away, and it is fetched anew'
          % path
        )
      check_file(path, data.layout, len(data.classes))
    if count not in (None, data.count(paths)):
      raise UserError(
        '%s: found %d records; expected %d, as %s beside says'
        % (', '.join(paths), data.count(paths), count, dataset_json.FILE_NAME)
      )
  return data


def _kind(config):
  """Which of _DESCRIBED the data set is."""
  own = os.path.join(config.data_dir, dataset_json.FILE_NAME)
  is_own = config.dataset == 'cifar10' and os.path.exists(own)
  return 'own' if is_own else config.dataset


def _cifar10(config):
  return in_folder(_CIFAR10_SOURCE.folder_in(config.data_dir))


def _cifar100(config):
  """CIFAR-100: a byte of coarse label, one of fine label, then the planes."""
  folder = _fetched_folder(config)
  kind = config.cifar100_labels
  path = os.path.join(folder, kind + '_label_names.txt')
  with open(path, encoding='utf-8') as names:
    classes = tuple(names.read().split())
  if len(classes) != _CIFAR100_CLASSES[kind]:
    raise UserError(
      '%s: found %d names; expected %d'
      % (path, len(classes), _CIFAR100_CLASSES[kind])
    )
  source = sources.SOURCES['cifar100']
  label_at = (list(_CIFAR100_CLASSES).index(kind),)
  return in_folder(folder, source.train, source.test)._replace(
    classes=classes, layout=Layout(label_bytes=2, label_at=label_at)
  )


def _own(config):
  return load(os.path.join(config.data_dir, dataset_json.FILE_NAME))


def _sample(config):
  return in_folder(SAMPLE_FOLDER, train_names=_CIFAR10_SOURCE.train[:1])


def _svhn(config):
  return load(os.path.join(_fetched_folder(config), dataset_json.FILE_NAME))


_DESCRIBED = {
  'cifar10': _cifar10,
  'cifar100': _cifar100,
  'own': _own,
  'sample': _sample,
  'svhn': _svhn,
}


def _fetched_folder(config):
  """The folder of a public data set, which says what its classes are."""
  folder = sources.SOURCES[config.dataset].folder_in(config.data_dir)
  if not os.path.isdir(folder):
    raise UserError(
      '%s: no such folder; scripts/fetch_data.py --dataset=%s fetches it'
      % (folder, config.dataset)
    )
  return folder


def load(path):
  """The DataSet that the file `path`, a dataset.json, describes; not checked.

  Raises:
    UserError: it does not describe one.
  """
  said = dataset_json.load(path)
  return DataSet(
    train_files=said.train.files,
    test_files=said.test.files,
    classes=said.classes,
    layout=layout_for(said.size, said.channels, said.classes),
    flip=said.flip,
    counts=(said.train.count, said.test.count),
    name=os.path.basename(os.path.dirname(os.path.abspath(path))),
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
    raise UserError('%s: no such file; expected %s' % (path, size_expected))
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


def in_folder(
  folder, train_names=_CIFAR10_SOURCE.train, test_names=_CIFAR10_SOURCE.test
):
  """The DataSet of the files in `folder`, not checked."""
  return DataSet(
    train_files=tuple(os.path.join(folder, name) for name in train_names),
    test_files=tuple(os.path.join(folder, name) for name in test_names),
  )
