"""The data sets: their files on disk, their classes, and the checks before use.

The tutorial's section "Input". All data sets are stored in CIFAR-10's binary
format (see records.py). A data set that `cifar10_make_dataset` has written also
holds a file `dataset.json` that describes it.
"""

import os
import shlex
from typing import NamedTuple, Optional, Tuple

from cifar10.data import dataset_json
from cifar10.data import integrity
from cifar10.data import records
from cifar10.data import sources
from cifar10.errors import UserError
from cifar10.util import commands
from cifar10.util import files

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

# Numbers of classes of CIFAR-100's two labels, in the order of their bytes in a
# record.
_CIFAR100_CLASSES = {'coarse': 20, 'fine': 100}

_CIFAR10_SOURCE = sources.SOURCES['cifar10']

SAMPLE_FOLDER = os.path.join(
  os.path.dirname(os.path.abspath(__file__)), 'sample'
)


class DataSet(NamedTuple):
  """A data set on disk.

  Attributes:
    train_files: paths of the files of training records.
    test_files: paths of the files of test records.
    classes: names of the classes, in the order of their labels.
    layout: records.Layout.
    flip: whether a mirrored image still belongs to its class.
    counts: how many records train_files and test_files must hold; None if the
      number is unknown.
    name: name of the images in messages, as in "CIFAR images".
    held_out: how many of the training records, the last ones, are held out for
      validation.
    labelled: how many of the others, the first ones, to train on; 0: all.
  """

  train_files: Tuple[str, ...]
  test_files: Tuple[str, ...]
  classes: Tuple[str, ...] = CLASSES
  layout: records.Layout = records.Layout()
  flip: bool = True
  counts: Tuple[Optional[int], Optional[int]] = (None, None)
  name: str = 'CIFAR'
  held_out: int = 0
  labelled: int = 0

  @property
  def examples_per_epoch(self):
    """The number of records to train on."""
    return self.labelled or self.count(self.train_files) - self.held_out

  def files(self, eval_data):
    """The files to evaluate on.

    Args:
      eval_data: 'test', or 'train_eval' for the training images.

    Returns:
      Tuple of paths.
    """
    return {'test': self.test_files, 'train_eval': self.train_files}[eval_data]

  def files_to_train_on(self):
    """The files of the records to train on.

    Returns:
      files: list of paths.
      kept: dict by path; how many records to read of a file that is only
        partly trained on, from the first one.
    """
    left, files, kept = self.examples_per_epoch, [], {}
    for path in self.train_files:
      count = self.count([path])
      if left > 0:
        files.append(path)
      if 0 < left < count:
        kept[path] = left
      left -= count
    return files, kept

  def records_to_train_on(self):
    """The records of `files_to_train_on`.

    Returns:
      uint8 array, [examples_per_epoch, layout.record_bytes].
    """
    paths, _ = self.files_to_train_on()
    return records.load(paths, self.layout)[: self.examples_per_epoch]

  def held_out_records(self):
    """The training records that are held out, the last ones.

    Returns:
      uint8 array, [held_out, layout.record_bytes].
    """
    paths = []
    for path in reversed(self.train_files):
      if self.count(paths) < self.held_out:
        paths.insert(0, path)
    return records.load(paths, self.layout)[-self.held_out :]

  def count(self, paths):
    """The total number of records in the files `paths`, by their sizes."""
    return sum(os.path.getsize(p) for p in paths) // self.layout.record_bytes


def describe(settings):
  """The DataSet that the settings name; its records may be missing.

  Returns:
    DataSet.

  Raises:
    UserError: the files that describe the data set are missing or damaged, or
      its classes or the size of its images are not those of the model.
  """
  data = _DESCRIBE[_kind(settings)](settings)
  check_fits(data, settings)
  return data


def check_fits(data, settings):
  """Checks that a data set has the classes and images of a model.

  Args:
    data: DataSet.
    settings: settings.Settings that name it; their `classes` and
      `image_shape` are the model's.

  Raises:
    UserError: the data set has other classes, or images of another size.
  """
  found = trained = None
  if settings.classes not in ((), data.classes):
    found = 'the classes ' + _few(data.classes)
    trained = _few(settings.classes)
  elif settings.image_shape not in ((), data.layout[:3]):
    found = 'images of ' + _product(data.layout[:3])
    trained = _product(settings.image_shape)
  if found:
    raise UserError(
      '--dataset=%s --data_dir=%s: found %s; the model was trained on %s'
      % (settings.dataset, settings.data_dir, found, trained)
    )


def _product(sizes):
  return ' x '.join(str(size) for size in sizes)


def known_shape(settings, classes):
  """Height, width and depth of the images of a public data set.

  For runs of versions that did not save them.

  Args:
    settings: settings.Settings of the run.
    classes: names of its classes.

  Returns:
    Tuple of ints; empty if the data set may be another one.
  """
  may_be_own = settings.dataset == 'cifar10' and (
    classes != CLASSES or not os.path.isdir(settings.data_dir)
  )
  if may_be_own or _kind(settings) == 'own':
    return ()
  return records.Layout()[:3]


def _few(names):
  """The first names and, if there are more, how many there are."""
  shown = ', '.join(names[:3])
  return shown + ', ... (%d)' % len(names) if names[3:] else shown


def prepare(settings):
  """Fetches the data set that the settings name if it is missing; checks it.

  Returns:
    DataSet, with the parts that the settings hold out.

  Raises:
    UserError: the data set cannot be fetched, a file is missing or damaged, its
      classes or the size of its images are not those of the model, or it has
      fewer records than the settings ask for.
  """
  kind = _kind(settings)
  if kind == 'cifar10':
    describe(settings)  # Fetch nothing that does not fit the model.
  source = sources.SOURCES.get(kind)
  if source and not os.path.isdir(source.folder_in(settings.data_dir)):
    sources.fetch(source, settings.data_dir, settings)
  data = describe(settings)
  integrity.check_files(data, source)
  if source:
    integrity.warn_of_other_counts(data, source)
  return _split(data, settings)


def to_train_on(settings):
  """The DataSet of `prepare`, once that has prepared it."""
  return _split(describe(settings), settings)


def _split(data, settings):
  """A DataSet with the parts that the settings hold out.

  Raises:
    UserError: it has fewer records.
  """
  held_out, labelled = settings.validation_examples, settings.labelled_examples
  if not (held_out or labelled):
    return data
  total = data.examples_per_epoch
  if held_out >= total:
    raise UserError(
      '--validation_examples=%d: there are %d training images; expected some '
      'to be left to train on' % (held_out, total)
    )
  if labelled > total - held_out:
    raise UserError(
      '--labelled_examples=%d: there are %d images to train on; expected no '
      'more' % (labelled, total - held_out)
    )
  return data._replace(held_out=held_out, labelled=labelled)


def _kind(settings):
  """The key of the data set in _DESCRIBE."""
  own = os.path.join(settings.data_dir, dataset_json.FILE_NAME)
  is_own = settings.dataset == 'cifar10' and os.path.exists(own)
  return 'own' if is_own else settings.dataset


def _cifar10(settings):
  return in_folder(_CIFAR10_SOURCE.folder_in(settings.data_dir))


def _cifar100(settings):
  """CIFAR-100: a coarse label byte, a fine label byte, then the planes."""
  folder = _fetched_folder(settings)
  kind = settings.cifar100_labels
  path = os.path.join(folder, kind + '_label_names.txt')
  with files.open_regular(path) as names:
    try:
      classes = tuple(names.read().decode('utf-8').split())
    except UnicodeDecodeError as error:
      raise UserError('%s: not UTF-8: %s' % (path, error)) from error
  if len(classes) != _CIFAR100_CLASSES[kind]:
    raise UserError(
      '%s: found %d names; expected %d'
      % (path, len(classes), _CIFAR100_CLASSES[kind])
    )
  source = sources.SOURCES['cifar100']
  label_at = (list(_CIFAR100_CLASSES).index(kind),)
  return in_folder(folder, source.train, source.test)._replace(
    classes=classes, layout=records.Layout(label_bytes=2, label_at=label_at)
  )


def _own(settings):
  return load(os.path.join(settings.data_dir, dataset_json.FILE_NAME))


def _sample(settings):
  return in_folder(SAMPLE_FOLDER, train_names=_CIFAR10_SOURCE.train[:1])


def _svhn(settings):
  return load(os.path.join(_fetched_folder(settings), dataset_json.FILE_NAME))


# Functions that describe a data set, by its name.
_DESCRIBE = {
  'cifar10': _cifar10,
  'cifar100': _cifar100,
  'own': _own,
  'sample': _sample,
  'svhn': _svhn,
}


def _fetched_folder(settings):
  """The folder of a public data set whose files name its classes.

  Raises:
    UserError: there is no such folder.
  """
  folder = sources.SOURCES[settings.dataset].folder_in(settings.data_dir)
  if not os.path.isdir(folder):
    raise UserError(
      '%s: no such folder; to fetch it: %s --dataset=%s --data_dir=%s'
      % (
        folder,
        commands.command('cifar10_fetch_data'),
        settings.dataset,
        shlex.quote(settings.data_dir),
      )
    )
  return folder


def load(path):
  """The DataSet that a dataset.json describes; its records are not checked.

  Args:
    path: path of the dataset.json; the records are in the same folder.

  Returns:
    DataSet.

  Raises:
    UserError: the file is missing or damaged.
  """
  description = dataset_json.load(path)
  return DataSet(
    train_files=description.train.files,
    test_files=description.test.files,
    classes=description.classes,
    layout=records.layout_for(
      description.size, description.channels, description.classes
    ),
    flip=description.flip,
    counts=(description.train.count, description.test.count),
    name=os.path.basename(os.path.dirname(os.path.abspath(path))),
  )


def in_folder(
  folder, train_names=_CIFAR10_SOURCE.train, test_names=_CIFAR10_SOURCE.test
):
  """A DataSet of CIFAR-10's classes and layout; its files are not checked.

  Args:
    folder: path of the folder of the files.
    train_names: names of the files of training records.
    test_names: names of the files of test records.

  Returns:
    DataSet.
  """
  return DataSet(
    train_files=tuple(os.path.join(folder, name) for name in train_names),
    test_files=tuple(os.path.join(folder, name) for name in test_names),
  )
