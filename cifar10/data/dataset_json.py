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
from typing import NamedTuple, Optional, Tuple

from cifar10.errors import UserError
from cifar10.util import files

FILE_NAME = 'dataset.json'

# The names of the files of records that `save` describes.
TRAIN_NAME, TEST_NAME = 'train.bin', 'test.bin'

# Height and width of the smallest images that the model accepts, in pixels.
SMALLEST = 2

# Height and width of the largest images, in pixels: a record of 300 MB. Offsets
# in a record must fit into 31 bits.
LARGEST = 10000

CHANNELS = (3, 1)


class Part(NamedTuple):
  """The training or the test records.

  Attributes:
    files: paths of the files of records.
    count: how many records they hold together; None if the file does not say.
  """

  files: Tuple[str, ...]
  count: Optional[int]


class Description(NamedTuple):
  """The content of a dataset.json.

  Attributes:
    classes: names of the classes, in the order of their labels.
    size: height and width of the images, in pixels.
    channels: color channels of the images, 3 or 1.
    flip: whether a mirrored image still belongs to its class.
    train: Part.
    test: Part.
  """

  classes: Tuple[str, ...]
  size: int
  channels: int
  flip: bool
  train: Part
  test: Part


def load(path):
  """Reads a dataset.json and checks it.

  Args:
    path: path of the file.

  Returns:
    Description.

  Raises:
    UserError: the file is missing or damaged.
  """
  value = files.read_json(path)
  if value is None:
    raise UserError('%s: no such file' % path)
  try:
    description = _parse(value, os.path.dirname(path))
    _check(description)
  except (AttributeError, KeyError, TypeError, ValueError) as error:
    raise UserError(
      '%s: %r; expected classes, size, channels, flip, train and test as '
      'cifar10_make_dataset writes them' % (path, error)
    ) from error
  return description


def _parse(value, folder):
  """Converts the JSON object of a dataset.json in `folder` to a Description.

  Raises:
    AttributeError, KeyError, TypeError, ValueError: an entry is missing or has
      the wrong type.
  """

  def part(name):
    if not isinstance(value[name]['files'], list):
      raise TypeError('the files of %s are not a list' % name)
    paths = tuple(_path_in(folder, n) for n in value[name]['files'])
    count = value[name].get('count')
    return Part(paths, None if count is None else _integer(count, 'count'))

  if not isinstance(value['classes'], list):
    raise TypeError('classes is not a list')
  if not isinstance(value['flip'], bool):
    raise TypeError('flip is neither true nor false')
  return Description(
    classes=tuple(str(name) for name in value['classes']),
    size=_integer(value['size'], 'size'),
    channels=_integer(value['channels'], 'channels'),
    flip=value['flip'],
    train=part('train'),
    test=part('test'),
  )


def _integer(value, key):
  """An integer from a JSON object.

  Raises:
    TypeError: it is something else, such as 48.9 or true.
  """
  if type(value) is not int:
    raise TypeError('%s is %r; expected an integer' % (key, value))
  return value


def _path_in(folder, name):
  """The path of a file in `folder`.

  Raises:
    TypeError, ValueError: `name` could be outside of the folder, or is no name.
  """
  if name in ('', '.', '..') or os.path.basename(name) != name:
    raise ValueError('file %r; expected a name without a folder' % name)
  return os.path.join(folder, name)


def _check(description):
  """Checks a Description.

  Raises:
    ValueError: a value is out of range.
  """
  classes, size = description.classes, description.size
  if len(classes) < 2:
    raise ValueError('%d classes; expected 2 or more' % len(classes))
  if len(set(classes)) < len(classes):
    raise ValueError('two classes have the same name')
  if not SMALLEST <= size <= LARGEST:
    raise ValueError('size %d; expected %d to %d' % (size, SMALLEST, LARGEST))
  if description.channels not in CHANNELS:
    raise ValueError('%d channels; expected 3 or 1' % description.channels)
  if not (description.train.files and description.test.files):
    raise ValueError('no files; expected at least one in train and in test')


def save(folder, classes, size, channels, flip, counts):
  """Writes the dataset.json of a folder that holds train.bin and test.bin.

  Args:
    folder: path of the folder.
    classes: names of the classes, in the order of their labels.
    size: height and width of the images, in pixels.
    channels: color channels of the images, 3 or 1.
    flip: whether a mirrored image still belongs to its class.
    counts: numbers of records in train.bin and in test.bin.
  """
  names = (TRAIN_NAME, TEST_NAME)
  train, test = (
    {'files': [name], 'count': count} for name, count in zip(names, counts)
  )
  value = {
    'classes': list(classes),
    'size': size,
    'channels': channels,
    'flip': flip,
    'train': train,
    'test': test,
    'sha256': {n: files.sha256(os.path.join(folder, n)) for n in names},
  }
  files.write_json(os.path.join(folder, FILE_NAME), value)
