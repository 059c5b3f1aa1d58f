"""The data sets: their files on disk, their classes and their parts.

The tutorial's section "Input". All data sets are stored in CIFAR-10's binary
format (see records.py); a file dataset.json may describe them.
"""

import dataclasses
import mimetypes
import os
import shlex
from typing import NamedTuple, Optional, Tuple

from cifar10.data import checks
from cifar10.data import dataset_json
from cifar10.data import records
from cifar10.data import sources
from cifar10.errors import UserError
from cifar10.util import commands
from cifar10.util import files
from cifar10.util import paths

CLASSES = tuple(
    'airplane automobile bird cat deer dog frog horse ship truck'.split())

# Number of classes of CIFAR-100's labels, in the order of their bytes.
_CIFAR100_CLASSES = {'coarse': 20, 'fine': 100}

_CIFAR10_SOURCE = sources.SOURCES['cifar10']
_OFFICIAL_URL = _CIFAR10_SOURCE.official[0].url
SAMPLE_FOLDER = os.path.abspath(os.path.join(__file__, '..', 'sample'))


class DataSet(NamedTuple):
  """A data set on disk."""

  train_files: Tuple[str, ...]  # Paths of the files of training records.
  test_files: Tuple[str, ...]
  classes: Tuple[str, ...] = CLASSES  # Names, in the order of their labels.
  layout: records.Layout = records.Layout()
  flip: bool = True  # True if a mirrored image still belongs to its class.
  # Records that train_files and test_files must hold; None if unknown.
  counts: Tuple[Optional[int], Optional[int]] = (None, None)
  name: str = 'CIFAR'  # In messages, as in "CIFAR images".
  held_out: int = 0  # Number of the last training records, for validation.
  labelled: int = 0  # Number of the first ones, to train on; 0: all others.

  @property
  def examples_per_epoch(self):
    """The number of records to train on."""
    if self.labelled:
      return self.labelled
    total = self.counts[0] or self.count(self.train_files)
    return total - self.held_out

  def files(self, eval_data):
    """Paths of the files of the 'test' or the training images, 'train_eval'."""
    return {'test': self.test_files, 'train_eval': self.train_files}[eval_data]

  def files_to_train_on(self):
    """The files to train on: a list of paths, and a dict of counts by path.

    Of a file in the dict, only that many first records are trained on.
    """
    if not (self.held_out or self.labelled):  # The files may be made later.
      return list(self.train_files), {}
    left, files, kept = self.examples_per_epoch, [], {}
    for path in self.train_files:
      if left <= 0:
        break
      files.append(path)
      count = self.count([path])
      if left < count:
        kept[path] = left
      left -= count
    return files, kept

  def records_to_train_on(self):
    """The records, uint8 array [examples_per_epoch, layout.record_bytes]."""
    paths, _ = self.files_to_train_on()
    return records.load(paths, self.layout)[:self.examples_per_epoch]

  def held_out_records(self):
    """The validation records, uint8 array [held_out, layout.record_bytes]."""
    paths = []
    for path in reversed(self.train_files):
      if self.count(paths) < self.held_out:
        paths.insert(0, path)
    return records.load(paths, self.layout)[-self.held_out:]

  def test_records(self):
    """The records to test on, uint8; UserError if a file is damaged."""
    for path in self.test_files:
      records.check_file(path, self.layout, len(self.classes))
    return records.load(self.test_files, self.layout)

  def count(self, paths):
    """The total number of records in the files `paths`, by their sizes."""
    return sum(os.path.getsize(p) for p in paths) // self.layout.record_bytes


def describe(settings):
  """The DataSet that the settings name; its records may be missing.

  Raises UserError if the files that describe the data set are missing or
  damaged, or if its classes or the size of its images are not the model's.
  """
  kind, names = kind_of(settings), settings.classes
  if kind == 'sample':
    data = in_folder(SAMPLE_FOLDER, _CIFAR10_SOURCE.train[:1])
  elif kind == 'own':
    data = load(settings.data_dir)
  elif kind == 'cifar10':
    data = cifar10(settings.data_dir)
    path = os.path.join(os.path.dirname(data.test_files[0]), 'batches.meta.txt')
    if os.path.exists(path):
      data = data._replace(classes=_names(path))
    has_other_names = len(data.classes) != len(names)
    if has_other_names and names and names == numbered_classes(len(names)):
      data = data._replace(classes=names)
  elif kind == 'svhn':
    data = load(_fetched_folder(settings))
  else:
    data = _cifar100(_fetched_folder(settings), settings.cifar100_labels)
  check_fits(data, settings)
  return data


def numbered_classes(count):
  """The names 'class 0', 'class 1', ...; () for as many classes as CIFAR-10."""
  return () if count == len(CLASSES) else tuple(
      f'class {i}' for i in range(count))


def check_fits(data, settings):
  """Raises UserError if a DataSet does not suit the model of the settings."""
  compared = (('the classes', ', ', data.classes, settings.classes),
              ('images of', ' x ', data.layout[:3], settings.image_shape))
  for what, separator, found, trained in compared:
    if trained in ((), found, numbered_classes(len(found))):
      continue
    where = f'--dataset={settings.dataset} --data_dir={settings.data_dir}: '
    if not os.path.isdir(settings.data_dir):  # Perhaps it has moved.
      where += 'there is no such folder, so this is CIFAR-10; '
    elif kind_of(settings) == 'cifar10' and data.classes == CLASSES:
      where += f'is CIFAR-10, as there is no {dataset_json.FILE_NAME}; '
    raise UserError(
        f'{where}found {what} {checks.first_three(found, separator)}; the '
        f'model was trained on {checks.first_three(trained, separator)}')


def known_shape(settings, classes):
  """Height, width and depth of the images of a run that did not save them.

  `classes` are those of the run. Returns () unless its data set is public.
  """
  may_be_own = settings.dataset == 'cifar10' and (
      classes != CLASSES or not os.path.isdir(settings.data_dir))
  if may_be_own or kind_of(settings) == 'own':
    return ()
  return records.Layout()[:3]


def prepare(settings, url=_OFFICIAL_URL, num_classes=len(CLASSES)):
  """Fetches the data set that the settings name if it is missing; checks it.

  CIFAR-10 comes from `url`, unless --data_url names another place, and has
  `num_classes` classes, unless the settings have some. Returns a DataSet with
  its held-out and labelled parts. Raises UserError if it cannot be fetched, is
  damaged, does not suit the model, or is too small.
  """
  kind = kind_of(settings)
  source = sources.SOURCES.get(kind)
  if settings.dataset == 'cifar10' and not settings.classes:
    classes = numbered_classes(num_classes)
    settings = dataclasses.replace(settings, classes=classes)
  if kind == 'cifar10':
    describe(settings)  # Fetch nothing that does not fit the model.
    if url != _OFFICIAL_URL and not settings.data_url:
      settings = dataclasses.replace(settings, data_url=url)
  if source and not os.path.isdir(source.folder_in(settings.data_dir)):
    if kind == 'cifar10':
      _refuse_pictures(settings.data_dir)
    sources.fetch(source, settings)
  data = describe(settings)
  labels = checks.check_files(data, source)
  data = _split(data, settings)
  checks.warn_of_classes(data, *labels)
  if source is None or tuple(map(len, labels)) != source.counts:
    checks.warn_of_copies(data)
  return data


def _refuse_pictures(folder):
  """Raises UserError if `folder` holds folders of pictures, two or more.

  They are meant as the data set, but CIFAR-10 would be fetched into `folder`.
  """

  def holds_pictures(path):
    kinds = map(mimetypes.guess_type, files.matching(path, '*', '*/*'))
    return any((kind or '').startswith('image/') for kind, _ in kinds)

  inside = files.matching(folder, '*/')
  if inside[1:] and all(map(holds_pictures, inside)):
    name = shlex.quote(folder)
    raise UserError(
        f'--data_dir={folder}: found folders of pictures; expected a data set. '
        f'To make one: {commands.command("cifar10_make_dataset")} {name} '
        '--out=/tmp/my_data')


def _split(data, settings):
  """Sets the held-out and labelled parts; UserError if they are too large."""
  held_out, labelled = settings.validation_examples, settings.labelled_examples
  if not (held_out or labelled):
    return data
  total = data.examples_per_epoch
  if held_out >= total:
    raise UserError(
        f'--validation_examples={held_out}: there are {total} training images; '
        'expected some to be left to train on')
  if labelled > total - held_out:
    raise UserError(
        f'--labelled_examples={labelled}: there are {total - held_out} images '
        'to train on; expected no more')
  return data._replace(held_out=held_out, labelled=labelled)


def check_owner(settings):
  """Raises UserError if --data_dir is the default and another user's."""
  if settings.dataset != 'sample' and not settings.is_set('data_dir'):
    paths.refuse_of_another(settings.data_dir, '--data_dir')


def kind_of(settings):
  """The name of the data set; 'own' if --data_dir holds a dataset.json."""
  check_owner(settings)
  own = os.path.join(settings.data_dir, dataset_json.FILE_NAME)
  is_own = settings.dataset == 'cifar10' and os.path.exists(own)
  return 'own' if is_own else settings.dataset


def _fetched_folder(settings):
  """The folder of CIFAR-100 or SVHN; UserError if it has not been fetched."""
  folder = sources.SOURCES[settings.dataset].folder_in(settings.data_dir)
  if not os.path.isdir(folder):
    data_dir = shlex.quote(settings.data_dir)
    raise UserError(f'{folder}: no such folder; to fetch it: '
                    f'{commands.command("cifar10_fetch_data")} '
                    f'--dataset={settings.dataset} --data_dir={data_dir}')
  return folder


def _cifar100(folder, kind):
  """CIFAR-100: a coarse label byte, a fine label byte, then the planes."""
  path = os.path.join(folder, kind + '_label_names.txt')
  expected = _CIFAR100_CLASSES[kind]
  if not os.path.exists(path):
    raise UserError(f'{path}: no such file; expected {expected} names of '
                    'classes there, one a line')
  classes = _names(path)
  if len(classes) != expected:
    raise UserError(f'{path}: found {len(classes)} names; expected {expected}')
  source = sources.SOURCES['cifar100']
  label_at = (list(_CIFAR100_CLASSES).index(kind),)
  return in_folder(folder, source.train, source.test)._replace(
      classes=classes, layout=records.Layout(label_bytes=2, label_at=label_at))


def _names(path):
  """The names of the classes in a file, one a line; UserError if unusable."""
  with files.open_regular(path) as file:
    try:
      lines = file.read().decode('utf-8-sig').splitlines()
    except UnicodeDecodeError as error:
      raise UserError(f'{path}: not UTF-8: {error}') from error
  names = tuple(line.strip() for line in lines if line.strip())
  if len(set(names)) < max(2, len(names)):
    raise UserError(
        f'{path}: found {checks.first_three(names, ", ") or "no names"}; '
        'expected two or more classes, each once, one a line')
  return names


def load(folder):
  """The DataSet of the dataset.json in a folder; UserError if it is damaged."""
  return DataSet(
      name=os.path.basename(os.path.abspath(folder)),
      **dataset_json.load(os.path.join(folder, dataset_json.FILE_NAME)))


def in_folder(folder, train_names=_CIFAR10_SOURCE.train,
              test_names=_CIFAR10_SOURCE.test):
  """A DataSet of CIFAR-10's classes and layout; its files are not checked."""
  return DataSet(
      train_files=tuple(os.path.join(folder, name) for name in train_names),
      test_files=tuple(os.path.join(folder, name) for name in test_names))


def cifar10(data_dir):
  """The DataSet of CIFAR-10 in `data_dir`; its files may be missing."""
  return in_folder(_CIFAR10_SOURCE.folder_in(data_dir))
