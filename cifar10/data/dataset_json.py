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

# The files that `save` describes.
FILES = {'train': 'train.bin', 'test': 'test.bin'}

# Limits of the height and width of images, in pixels. The largest record has
# 300 MB: offsets in it must fit into 31 bits.
MIN_SIZE, MAX_SIZE = 2, 10000

CHANNELS = (3, 1)


def load(path):
  """The fields of a DataSet except its name, a dict; UserError if damaged."""
  value = files.need_json(path)
  try:
    return _parse(value, os.path.dirname(path))
  except (AttributeError, KeyError, TypeError, ValueError) as error:
    raise UserError(
        f'{path}: {error!r}; expected classes, size, channels, flip, train and '
        'test as cifar10_make_dataset writes them') from error


def _parse(value, folder):
  classes = value['classes'] if isinstance(value['classes'], list) else ()
  classes = tuple(map(str, classes))
  size, channels, flip = value['size'], value['channels'], value['flip']
  train, test = (_paths(value[part]['files'], folder) for part in FILES)
  names = value['train']['files'] + value['test']['files']
  if len(set(names)) < len(names):
    raise ValueError(f'files {names!r}; expected each name once')
  if len(set(classes)) < max(2, len(classes)):
    raise ValueError('classes; expected a list of two or more different names')
  if type(size) is not int or not MIN_SIZE <= size <= MAX_SIZE:
    raise ValueError(f'size {size!r}; expected {MIN_SIZE} to {MAX_SIZE}')
  if type(channels) is not int or channels not in CHANNELS:
    raise ValueError(f'{channels!r} channels; expected 3 or 1')
  if not isinstance(flip, bool):
    raise ValueError(f'flip {flip!r}; expected true or false')
  counts = tuple(value[part].get('count') for part in FILES)
  if any(type(count) not in (int, type(None)) for count in counts):
    raise ValueError(f'counts {counts!r}; expected whole numbers')
  return {
      'train_files': train,
      'test_files': test,
      'classes': classes,
      'layout': records.layout_for(size, channels, classes),
      'flip': flip,
      'counts': counts
  }


def _paths(names, folder):
  """Paths of the files of a part; ValueError if one is not in `folder`."""
  if not names or not isinstance(names, list):
    raise ValueError(f'files {names!r}; expected a list of names')
  for name in names:
    if os.path.basename(name) != name:
      raise ValueError(f'file {name!r}; expected a name without a folder')
  return tuple(os.path.join(folder, name) for name in names)


def save(folder, classes, size, channels, flip, counts):
  """Writes a dataset.json for train.bin and test.bin, of `counts` records."""
  value = {'classes': list(classes), 'size': size}
  value.update(channels=channels, flip=flip)
  for (part, name), count in zip(FILES.items(), counts):
    value[part] = {'files': [name], 'count': count}
  value['sha256'] = {
      name: files.sha256(os.path.join(folder, name)) for name in FILES.values()
  }
  files.write_json(os.path.join(folder, FILE_NAME), value)
