"""Converts the images of SVHN from MATLAB's format to records."""

import os

import numpy as np

from cifar10.data import dataset_json
from cifar10.errors import UserError
from cifar10.util import files
from cifar10.util import optional_packages

CLASSES = tuple('0123456789')

_RECORDS_PER_WRITE = 1000


def need_scipy():
  """Raises UserError if scipy, which reads MATLAB's format, is missing."""
  optional_packages.need('scipy.io', 'svhn',
                         '--dataset=svhn: reading its files needs scipy')


def convert(sources, folder):
  """Converts train_32x32.mat and test_32x32.mat, the paths in `sources`.

  Writes a data set with a dataset.json to the folder. Raises what
  `write_records` does.
  """
  counts = [
      write_records(source, os.path.join(folder, name))
      for source, name in zip(sources, dataset_json.NAMES)
  ]
  # A mirrored digit is not a digit.
  dataset_json.save(folder, CLASSES, 32, 3, flip=False, counts=counts)


def write_records(source, path):
  """Converts a .mat file of cropped digits to records; returns their number.

  It has X, uint8 [32, 32, 3, n], and y, [n, 1], labels 1 to 10, where 10 stands
  for the digit 0. The records, at `path`, have CIFAR-10's binary format. Raises
  UserError if the file is damaged or holds something else, and OSError if the
  records cannot be written.
  """
  images, labels = _read(source)
  digits = (labels % 10).astype(np.uint8)[:, np.newaxis]
  with files.naming(path), open(path, 'wb') as output:
    # In parts: a second copy of all images would take much memory.
    for start in range(0, len(digits), _RECORDS_PER_WRITE):
      part = slice(start, start + _RECORDS_PER_WRITE)
      planes = images[..., part].transpose(3, 2, 0, 1)
      planes = planes.reshape(len(planes), -1)
      output.write(np.concatenate([digits[part], planes], axis=1).tobytes())
    output.flush()
    os.fsync(output.fileno())
  return len(digits)


def _read(source):
  """Reads and checks X, uint8 [32, 32, 3, n], and y, [n], of a .mat file."""
  import scipy.io

  try:
    content = scipy.io.loadmat(source, variable_names=('X', 'y'))
  # scipy raises many types of exceptions for damaged files.
  except Exception as error:
    raise UserError(f'{source}: cannot be read: {error}') from error
  images, labels = (np.asarray(content.get(name)) for name in 'Xy')
  labels = labels.ravel()
  if images.dtype != np.uint8 or images.shape != (32, 32, 3, *labels.shape):
    raise UserError(
        f'{source}: found X {images.dtype} {images.shape} and y '
        f'{labels.shape}; expected X uint8 (32, 32, 3, n) and y (n, 1)')
  wrong = labels[~np.isin(labels, range(1, 11))]
  if wrong.size:
    raise UserError(
        f'{source}: found label {wrong[0]}; expected labels 1 to 10')
  return images, labels
