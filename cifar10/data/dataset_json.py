"""The file dataset.json: what the records in the files beside it are.

{
  "classes": ["cat", "dog"],      names, in the order of their labels
  "size": 48,                     height and width of the images
  "channels": 3,                  their colours, 3 or 1
  "flip": true,                   whether to mirror images in training
  "train": {"files": ["train.bin"], "count": 800},
  "test": {"files": ["test.bin"], "count": 200},
  "sha256": {"train.bin": "...", "test.bin": "..."}
}
"""

import json
import os
from typing import NamedTuple, Optional, Tuple

from cifar10.util import files
from cifar10.errors import UserError

FILE_NAME = 'dataset.json'

# The files of records that `save` describes.
TRAIN_NAME, TEST_NAME = 'train.bin', 'test.bin'

# Height and width of the smallest images that the model takes.
SMALLEST = 2

CHANNELS = (3, 1)


class Part(NamedTuple):
  """The training or the test records: paths, and how many if that is said."""

  files: Tuple[str, ...]
  count: Optional[int]


class Description(NamedTuple):
  """What a dataset.json says."""

  classes: Tuple[str, ...]
  size: int
  channels: int
  flip: bool
  train: Part
  test: Part


def load(path):
  """The Description in the file `path`.

  Raises:
    UserError: there is none.
  """
  value = files.read_json(path)
  if value is None:
    raise UserError('%s: no such file' % path)
  folder = os.path.dirname(path)

  def part(name):
    if not isinstance(value[name]['files'], list):
      raise TypeError('files of %s are no list' % name)
    paths = tuple(os.path.join(folder, n) for n in value[name]['files'])
    count = value[name].get('count')
    return Part(paths, None if count is None else int(count))

  try:
    said = Description(
      classes=tuple(str(name) for name in value['classes']),
      size=int(value['size']),
      channels=int(value['channels']),
      flip=bool(value['flip']),
      train=part('train'),
      test=part('test'),
    )
    _check(said)
    return said
  except (
    AttributeError,
    KeyError,
    OverflowError,
    TypeError,
    ValueError,
  ) as error:
    raise UserError(
      '%s: %r; expected classes, size, channels, flip, train and test as '
      'scripts/make_dataset.py writes them' % (path, error)
    ) from error


def _check(said):
  """Raises a ValueError if a Description is not one of images."""
  if len(said.classes) < 2:
    raise ValueError('%d classes; expected 2 or more' % len(said.classes))
  if len(set(said.classes)) < len(said.classes):
    raise ValueError('two classes of one name')
  for name in said.classes:
    name.encode('utf-8')  # A ValueError where it is no text.
  if said.size < SMALLEST:
    raise ValueError('size %d; expected %d or more' % (said.size, SMALLEST))
  if said.channels not in CHANNELS:
    raise ValueError('%d channels; expected 3 or 1' % said.channels)
  if not (said.train.files and said.test.files):
    raise ValueError('no files; expected some to train on and some to test on')


def save(folder, classes, size, channels, flip, counts):
  """Writes the dataset.json of a folder with a train.bin and a test.bin.

  Args:
    folder: path of the folder.
    classes: names of the classes, in the order of their labels.
    size: height and width of the images.
    channels: their colours, 3 or 1.
    flip: whether a mirrored image is of the same class.
    counts: how many records train.bin and test.bin hold.
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
  text = json.dumps(value, indent=2) + '\n'
  files.write_atomically(os.path.join(folder, FILE_NAME), text.encode('utf-8'))
