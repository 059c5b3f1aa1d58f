"""Converts the images of SVHN from MATLAB's format to records."""

import os

import numpy as np

from cifar10.data import dataset_json
from cifar10.errors import UserError
from cifar10.util import files
from cifar10.util import optional_packages

CLASSES = tuple('0123456789')

_SHAPE = (32, 32, 3)  # Of an image: height, width, channels.
_RECORDS_PER_WRITE = 1000


def need_scipy():
  """Checks that scipy, which reads MATLAB's format, is installed.

  Raises:
    UserError: it is not installed.
  """
  optional_packages.need(
    'scipy.io', 'svhn', '--dataset=svhn: reading its files needs scipy'
  )


def convert(sources, folder):
  """Converts both files to records and writes their dataset.json.

  Args:
    sources: paths of train_32x32.mat and test_32x32.mat.
    folder: path of the folder to write to.

  Raises:
    UserError: a file is damaged or holds something else.
  """
  names = (dataset_json.TRAIN_NAME, dataset_json.TEST_NAME)
  counts = [
    write_records(source, os.path.join(folder, name))
    for source, name in zip(sources, names)
  ]
  # A mirrored digit is not a digit.
  dataset_json.save(folder, CLASSES, 32, 3, flip=False, counts=counts)


def write_records(source, path):
  """Converts a file of cropped digits to records.

  Args:
    source: path of a .mat file with X, uint8 [32, 32, 3, n], and y, [n, 1],
      labels 1 to 10, where 10 stands for the digit 0.
    path: path of the file to write, in CIFAR-10's binary format.

  Returns:
    Number of records.

  Raises:
    OSError: the records cannot be written.
    UserError: the file is damaged or holds something else.
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
  """Reads X, uint8 [32, 32, 3, n], and y, [n], from a .mat file; checks both.

  Raises:
    UserError: the file is damaged or holds something else.
  """
  import scipy.io

  try:
    content = scipy.io.loadmat(source, variable_names=('X', 'y'))
  # scipy raises many types of exceptions for damaged files.
  except Exception as error:
    raise UserError('%s: cannot be read: %s' % (source, error)) from error
  images, labels = (np.asarray(content.get(name)) for name in 'Xy')
  labels = labels.ravel()
  if images.dtype != np.uint8 or images.shape != _SHAPE + labels.shape:
    raise UserError(
      '%s: found X %s %s and y %s; expected X uint8 (32, 32, 3, n) and y (n, 1)'
      % (source, images.dtype, images.shape, labels.shape)
    )
  wrong = labels[~np.isin(labels, range(1, 11))]
  if wrong.size:
    raise UserError(
      '%s: found label %s; expected labels 1 to 10' % (source, wrong[0])
    )
  return images, labels
