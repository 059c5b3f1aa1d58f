"""The file dataset.json, which describes the files of records in its folder.

{
  "classes": ["cat", "dog"],      names, in the order of their labels
  "size": 48,                     height and width of the images, in pixels
  "channels": 3,                  color channels, 3 or 1
  "flip": true,                   whether to mirror images in training
  "train": {"files": ["train.bin"], "count": 800},
  "test": {"files": ["test.bin"], "count": 200},
  "sha256": {"train.bin": "...", "test.bin": "..."}
}
"""

import os

from cifar10.data import records
from cifar10.errors import UserError
from cifar10.util import files

FILE_NAME = 'dataset.json'

FILES = {'train': 'train.bin', 'test': 'test.bin'}  # That `save` describes.

# Limits of the height and width of images, in pixels. A record of the largest
# has 300 MB: offsets in it must fit into 31 bits.
SMALLEST, LARGEST = 2, 10000

CHANNELS = (3, 1)


def load(path):
  """Reads a dataset.json and checks it; checks no records.

  Returns a dict of the fields of a datasets.DataSet, except its name. Raises
  UserError if the file is missing or damaged.
  """
  value = files.need_json(path)
  try:
    return _parse(value, os.path.dirname(path))
  except (AttributeError, KeyError, TypeError, ValueError) as error:
    raise UserError(
        f'{path}: {error!r}; expected classes, size, channels, flip, train and '
        'test as cifar10_make_dataset writes them') from error


def _parse(value, folder):
  classes, flip = value['classes'], value['flip']
  if not isinstance(classes, list):
    raise TypeError('classes is not a list')
  if not isinstance(flip, bool):
    raise TypeError('flip is neither true nor false')
  size, channels = (_integer(value[key], key) for key in ('size', 'channels'))
  train, test = (_paths(value, folder, part) for part in FILES)
  counts = (value[part].get('count') for part in FILES)
  counts = tuple(n if n is None else _integer(n, 'count') for n in counts)
  classes = tuple(str(name) for name in classes)
  if len(classes) < 2:
    raise ValueError(f'{len(classes)} classes; expected 2 or more')
  if len(set(classes)) < len(classes):
    raise ValueError('two classes have the same name')
  if not SMALLEST <= size <= LARGEST:
    raise ValueError(f'size {size}; expected {SMALLEST} to {LARGEST}')
  if channels not in CHANNELS:
    raise ValueError(f'{channels} channels; expected 3 or 1')
  if not (train and test):
    raise ValueError('no files; expected at least one in train and in test')
  return {
      'train_files': train,
      'test_files': test,
      'classes': classes,
      'layout': records.layout_for(size, channels, classes),
      'flip': flip,
      'counts': counts
  }


def _integer(value, key):
  """Returns an int; raises TypeError for values such as 48.9 or true."""
  if type(value) is not int:
    raise TypeError(f'{key} is {value!r}; expected an integer')
  return value


def _paths(value, folder, part):
  """Paths of the files of a part; ValueError unless all differ in `folder`."""
  names = value[part]['files']
  if not isinstance(names, list):
    raise TypeError(f'the files of {part} are not a list')
  for name in names:
    if name in ('', '.', '..') or os.path.basename(name) != name:
      raise ValueError(f'file {name!r}; expected a name without a folder')
  if len(set(names)) < len(names):
    raise ValueError(f'{part} names a file twice')
  return tuple(os.path.join(folder, name) for name in names)


def save(folder, classes, size, channels, flip, counts):
  """Writes the dataset.json of a folder that holds train.bin and test.bin.

  `counts` are the numbers of records in them; the rest is as in the file.
  """
  value = {
      'classes': list(classes),
      'size': size,
      'channels': channels,
      'flip': flip
  }
  for (part, name), count in zip(FILES.items(), counts):
    value[part] = {'files': [name], 'count': count}
  value['sha256'] = {
      name: files.sha256(os.path.join(folder, name)) for name in FILES.values()
  }
  files.write_json(os.path.join(folder, FILE_NAME), value)
