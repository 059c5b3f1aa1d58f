"""Converts the images of SVHN from MATLAB's format to records."""

import os

import numpy as np

from cifar10.data import dataset_json
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.util import files
from cifar10.util import optional_packages


def need_scipy():
  """Returns scipy.io, which reads MATLAB's format, or raises UserError."""
  return optional_packages.need(
      'scipy.io', 'svhn', '--dataset=svhn: reading its files needs scipy')


def convert(sources, folder):
  """Makes a data set of train_32x32.mat and test_32x32.mat, the `sources`."""
  paths = (os.path.join(folder, name) for name in dataset_json.FILES.values())
  counts = list(map(write_records, sources, paths))
  # A mirrored digit is not a digit.
  dataset_json.save(folder, '0123456789', 32, 3, flip=False, counts=counts)


def write_records(source, path):
  """Converts a .mat file of cropped digits to records; returns their number.

  It holds X, uint8 [32, 32, 3, n], and y, [n, 1], labels 1 to 10, where 10
  stands for the digit 0. Raises UserError if it is damaged or holds
  something else.
  """
  scipy_io = need_scipy()
  try:
    content = scipy_io.loadmat(source, variable_names=('X', 'y'))
    images, labels = content['X'], content['y'].ravel()
    wrong, shape = np.setdiff1d(labels, range(1, 11)), (32, 32, 3, labels.size)
    if wrong.size:
      raise ValueError(f'y holds {wrong[0]}; expected labels 1 to 10')
    if not labels.size or (images.dtype, images.shape) != (np.uint8, shape):
      raise ValueError(
          f'found X {images.dtype} {list(images.shape)} and {labels.size} '
          'labels; expected uint8 [32, 32, 3, n] and n labels, one or more')
  except Exception as error:  # A damaged file raises any of many types.
    raise UserError(f'{source}: cannot be read: {error}') from error
  layout = records.Layout()
  with files.new_file(path) as output:
    for image, label in zip(np.moveaxis(images, 3, 0), labels):
      output.write(records.encode(image, layout, int(label) % 10).tobytes())
  return len(labels)
