"""Makes a data set of your own pictures, for --data_dir of all programs.

    python scripts/make_dataset.py pictures --out=/tmp/my_data --size=48

The pictures (PNG, JPEG, BMP, GIF) lie in folders named after their classes:
pictures/<class>/*. Of each class a part is set aside for the test, unless
they are divided already: pictures/train/<class>/* and pictures/test/<class>/*.
The middle square of each is scaled to --size. The same pictures, flags and
seed make the same bytes.

A broken picture is named and left out. The status is 1, and nothing is made,
if a class then has none left to train on or none to test on.
"""

import argparse
import os
import shlex
import signal
import sys
from typing import NamedTuple, Optional

import numpy as np

from cifar10.util import progress_bar
from cifar10.data import datasets
from cifar10.data import dataset_json
from cifar10.util import files
from cifar10.data import pictures
from cifar10.errors import UserError

_PARTS = ('train', 'test')
_FILES = dict(zip(_PARTS, (dataset_json.TRAIN_NAME, dataset_json.TEST_NAME)))


class Picture(NamedTuple):
  """Where a picture is, its label, and its part: None if still to be chosen."""

  path: str
  label: int
  part: Optional[str]


def find(folder):
  """Finds the pictures in `folder` and what their classes are.

  Returns:
    classes: list of names, sorted.
    found: list of Picture, sorted by part, class and name.

  Raises:
    OSError: a folder cannot be read.
    UserError: there are fewer than two classes, or one has no picture.
  """
  parts = {None: folder}
  inside = _folders_in(folder)
  if set(_PARTS) <= set(inside):
    if len(inside) > len(_PARTS):
      raise UserError(
        '%s: found %s; expected train and test alone, or a folder for each '
        'class' % (folder, ', '.join(inside))
      )
    parts = {part: os.path.join(folder, part) for part in _PARTS}
  names = {name for path in parts.values() for name in _folders_in(path)}
  classes = sorted(names)
  if len(classes) < 2:
    raise UserError(
      '%s: found %d folder(s) of classes; expected two or more, as in '
      'FOLDER/<class>/<pictures> or FOLDER/train/<class>/<pictures> and '
      'FOLDER/test/<class>/<pictures>' % (folder, len(classes))
    )
  for name in classes:
    try:
      name.encode('utf-8')
    except UnicodeEncodeError as error:
      raise UserError(
        '%s: the name of the class %r is no text in UTF-8' % (folder, name)
      ) from error
  found = [
    Picture(picture, label, part)
    for part, path in parts.items()
    for label, name in enumerate(classes)
    if os.path.isdir(os.path.join(path, name))
    for picture in pictures.in_folder(os.path.join(path, name))
  ]
  for part, path in parts.items():
    there = {picture.label for picture in found if picture.part == part}
    empty = set(range(len(classes))) - there
    if empty:
      raise UserError(
        '%s: no picture found of class %s' % (path, classes[min(empty)])
      )
  return classes, found


def tell_of_others(folder, found):
  """Says which files are passed over; of hidden ones nothing is said."""
  taken = {picture.path for picture in found}
  others = sorted(
    os.path.join(path, name)
    for path, folders, names in os.walk(folder)
    for name in names
    if not name.startswith('.') and os.path.join(path, name) not in taken
  )
  if others:
    print(
      '%d other file(s) left out: %s%s'
      % (len(others), ', '.join(others[:3]), ', ...' if others[3:] else ''),
      file=sys.stderr,
    )


def _folders_in(folder):
  """Names of the folders in `folder`, sorted, without hidden ones."""
  return sorted(
    name
    for name in os.listdir(folder)
    if not name.startswith('.') and os.path.isdir(os.path.join(folder, name))
  )


def tests_of(count, fraction):
  """How many of `count` pictures of a class are set aside for the test."""
  if count < 2:
    return 0
  return max(1, min(count - 1, int(count * fraction + 0.5)))


def write(folder, classes, found, args):
  """Writes train.bin and test.bin into `folder`, in an order by chance.

  Each picture is read when it is written. Those that are broken are told.

  Args:
    folder: path of an empty folder.
    classes: list of names.
    found: list of Picture.
    args: the flags.

  Returns:
    counts: {part: array [classes], pictures of each class}.
    broken: how many pictures are left out.
  """
  layout = datasets.layout_for(args.size, args.channels, classes)
  counts = {part: np.zeros(len(classes), int) for part in _PARTS}
  broken = 0
  shown = progress_bar.Bar('Pictures', len(found))
  order = np.random.RandomState(args.seed).permutation(len(found))
  train, test = (os.path.join(folder, _FILES[part]) for part in _PARTS)
  with open(train, 'wb') as train_file, open(test, 'wb') as test_file:
    outputs = {'train': train_file, 'test': test_file}
    for done, index in enumerate(order, 1):
      path, label, part = found[index]
      try:
        picture = pictures.read(path)
      except UserError as error:
        broken += 1
        shown.clear()
        print(error, file=sys.stderr)
      else:
        image = pictures.fit(picture, args.size, args.channels)
        part = part or _part_of_next(label, counts, args.test_fraction)
        counts[part][label] += 1
        outputs[part].write(pictures.record(image, layout, label).tobytes())
      shown.show(done)
    for output in outputs.values():
      output.flush()
      os.fsync(output.fileno())
  shown.end()
  return counts, broken


def _part_of_next(label, counts, fraction):
  """Where the next good picture of a class goes.

  So that broken ones do not count, this is decided one by one: after each,
  there are as many for the test as `tests_of` says.
  """
  tests = counts['test'][label]
  total = counts['train'][label] + tests + 1
  return 'test' if tests_of(total, fraction) > tests else 'train'


def check(counts, classes, args):
  """Checks that each class has pictures to train on and to test on.

  Raises:
    UserError: names the first class that has not.
  """
  for name, train, test in zip(classes, counts['train'], counts['test']):
    if not (train and test):
      raise UserError(
        '%s: class %s has %d picture(s) to train on and %d to test on; '
        'expected one or more of each' % (args.folder, name, train, test)
      )


def make(args):
  """Makes the data set that the flags ask for, whole or not at all.

  Raises:
    OSError: a folder cannot be read or written.
    UserError: names the folder or class, and what is wrong with it.
  """
  pictures.need_pillow()
  out = os.path.abspath(args.out)
  if os.path.lexists(out):
    raise UserError('--out=%s: is there already' % args.out)
  classes, found = find(args.folder)
  tell_of_others(args.folder, found)
  os.makedirs(os.path.dirname(out), exist_ok=True)
  with files.new_folder(out) as temporary:
    counts, broken = write(temporary, classes, found, args)
    check(counts, classes, args)
    totals = [int(counts[part].sum()) for part in _PARTS]
    dataset_json.save(
      temporary, classes, args.size, args.channels, args.flip, totals
    )
  print(
    '%s: %d classes, %d pictures to train on, %d to test on; %d broken.'
    % (args.out, len(classes), totals[0], totals[1], broken)
  )
  print(
    'To train: python cifar10/cifar10_train.py --data_dir=%s'
    % shlex.quote(args.out)
  )


def _number(kind, lowest, below):
  """A type for argparse: a number within limits."""

  def parse(text):
    try:
      value = kind(text)
    except ValueError:
      value = below
    if not lowest <= value < below:
      raise argparse.ArgumentTypeError(
        'found %s; expected a number from %s to below %s'
        % (text, lowest, below)
      )
    return value

  return parse


def flags():
  """The flags of the command line."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('folder', help='the folder of the classes')
  parser.add_argument('--out', required=True, help='the folder to make')
  parser.add_argument(
    '--size',
    type=_number(int, dataset_json.SMALLEST, 10000),
    default=32,
    help='height and width of the images (32)',
  )
  parser.add_argument(
    '--channels',
    type=int,
    choices=dataset_json.CHANNELS,
    default=3,
    help='3: colour, 1: grey (3)',
  )
  parser.add_argument(
    '--test_fraction',
    type=_number(float, 0, 1),
    default=0.2,
    help='share of each class to test on, one picture at least (0.2)',
  )
  parser.add_argument(
    '--seed',
    type=_number(int, 0, 2**32),
    default=0,
    help='of the choice and order of the pictures (0)',
  )
  parser.add_argument(
    '--flip',
    action='store_true',
    default=True,
    help='mirror images at random in training, as is the default',
  )
  parser.add_argument(
    '--noflip',
    dest='flip',
    action='store_false',
    help='do not, as is right for letters and digits',
  )
  return parser.parse_args()


def main():
  """The console command."""
  args = flags()
  # The temporary folder goes away then too.
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
  try:
    make(args)
  except (UserError, OSError) as error:
    sys.exit('make_dataset: error: %s' % error)
  except KeyboardInterrupt:
    sys.exit(130)
