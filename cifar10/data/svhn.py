"""Turns the house numbers of SVHN, kept in MATLAB's format, into records."""

import os

import numpy as np

from cifar10.data import dataset_json
from cifar10.util import optional_packages
from cifar10.errors import UserError

CLASSES = tuple('0123456789')

_SHAPE = (32, 32, 3)
_RECORDS_A_WRITE = 1000


def need_scipy():
  """Checks that the reader of MATLAB's format is there.

  Raises:
    UserError: it is not.
  """
  optional_packages.need(
    'scipy.io', 'svhn', '--dataset=svhn: its files are read with scipy'
  )


def convert(sources, folder):
  """Writes the records of both files and their dataset.json.

  Args:
    sources: paths of train_32x32.mat and test_32x32.mat.
    folder: path of the folder to write into.

  Raises:
    UserError: a file holds something else.
  """
  names = (dataset_json.TRAIN_NAME, dataset_json.TEST_NAME)
  counts = [
    write_records(source, os.path.join(folder, name))
    for source, name in zip(sources, names)
  ]
  # A mirrored digit is none.
  dataset_json.save(folder, CLASSES, 32, 3, flip=False, counts=counts)


def write_records(source, path):
  """Writes the images of a file of cropped digits as records.

  Args:
    source: path of a .mat file with X, uint8 [32, 32, 3, n], and y, [n, 1],
      labels 1 to 10, where 10 is the digit 0.
    path: the file that is written: label and planes of colour, as CIFAR-10's.

  Returns:
    n, how many there are.

  Raises:
    UserError: the file holds something else.
  """
  images, labels = _read(source)
  digits = (labels % 10).astype(np.uint8)[:, np.newaxis]
  with open(path, 'wb') as output:
    # Piece by piece: a second copy of all would be large.
    for begin in range(0, len(digits), _RECORDS_A_WRITE):
      part = slice(begin, begin + _RECORDS_A_WRITE)
      planes = images[..., part].transpose(3, 2, 0, 1)
      planes = planes.reshape(len(planes), -1)
      output.write(np.concatenate([digits[part], planes], axis=1).tobytes())
    output.flush()
    os.fsync(output.fileno())
  return len(digits)


def _read(source):
  """X and y of a .mat file, y as [n]; checked."""
  import scipy.io

  try:
    content = scipy.io.loadmat(source, variable_names=('X', 'y'))
  # Those of scipy are of many kinds, plain Exception's heirs among them.
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
