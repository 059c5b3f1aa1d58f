"""Checks of a data set before use: its files, its classes, its test images."""

import os

import numpy as np

from cifar10.data import dataset_json
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.errors import printable

_UNBALANCED = 5  # Ratio of the largest to the smallest class at which to warn.


def check_files(data, source):
  """Raises UserError if a file is missing, damaged, or not as described.

  Returns the labels of the training and of the test records, int32 arrays [n].
  Warns if there are not as many records as in the public data set `source`;
  None if the data set is not public.
  """
  labels = []
  for paths, count in zip((data.train_files, data.test_files), data.counts):
    parts = []
    for path in paths:
      if source and not os.path.exists(path):
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.basename(folder) == source.folder:
          todo = 'Without its folder, the data is fetched again'
        else:  # A person's own.
          todo = f'Expected all files of {source.folder} there'
        raise UserError(f'{path}: no such file. {todo}')
      parts.append(records.check_file(path, data.layout, len(data.classes)))
    labels.append(np.concatenate(parts))
    if count not in (None, len(labels[-1])):
      raise UserError(
          f'{", ".join(paths)}: found {len(labels[-1])} records; expected '
          f'{count}, according to {dataset_json.FILE_NAME} in that folder')
  found = tuple(map(len, labels))
  if source and found != source.counts:
    _warn(
        data, 'found {:,} training and {:,} test records; the official data '
        'set has {:,} and {:,}'.format(*found, *source.counts))
  return labels


def _warn(data, problem):
  """Prints a warning that begins with the folder of a data set."""
  folder = os.path.dirname(data.test_files[0])
  print(printable(f'WARNING: {folder}: {problem}.'))


def warn_of_classes(data, train, test):
  """Warns of classes without images and of rare ones.

  `train` and `test` are the labels of all records, as `check_files` returns.
  """
  classes = np.array(data.classes)
  used = train[:data.examples_per_epoch]
  missing = [(part, classes[np.bincount(labels, minlength=len(classes)) == 0])
             for part, labels in (('training', used), ('test', test))]
  found = [
      f'no {part} images of {first_three(names, ", ")}'
      for part, names in missing
      if names.size
  ]
  if found:
    _warn(data, 'found ' + ' and '.join(found))
  counts = np.bincount(train)
  most = counts.argmax()
  least = np.where(counts, counts, len(train) + 1).argmin()
  if counts[most] >= _UNBALANCED * counts[least]:
    _warn(
        data, f'found {counts[most]:,} training images of {classes[most]} and '
        f'{counts[least]:,} of {classes[least]}; a model seldom '
        'recognizes such a rare class')


def warn_of_copies(data):
  """Warns of test images that are in the training files, byte for byte."""
  trained = set(records.image_hashes(data.train_files, data.layout))
  test = list(records.image_hashes(data.test_files, data.layout))
  copies = sum(image in trained for image in test)
  if copies:
    _warn(
        data, f'{copies:,} of {len(test):,} test images are also training '
        'images; precision on them says nothing about new images')


def first_three(values, separator):
  """The first three values as text; if there are more, also their number."""
  shown = separator.join(map(str, values[:3]))
  return f'{shown}, ... ({len(values)})' if len(values) > 3 else shown
