"""Makes a data set of your own pictures, for --data_dir of all programs.

    cifar10_make_dataset pictures --out=/tmp/my_data --size=48

The pictures, in any format that Pillow reads, are in one folder per class,
pictures/<class>/*. The program holds out a part of each class for testing,
unless the pictures are split already: pictures/train/<class>/* and
pictures/test/<class>/*. It scales the central square of each picture to --size.
The same pictures, flags and seed yield the same bytes.

The program names broken pictures and skips them. If a class is left without a
training or a test picture, it writes nothing and exits with status 1.
"""

import argparse
import contextlib
import os
import shlex
import sys
from typing import NamedTuple, Optional

import numpy as np

from cifar10.data import dataset_json
from cifar10.data import pictures
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.util import commands
from cifar10.util import console
from cifar10.util import files
from cifar10.util import paths
from cifar10.util import progress_bar

_PARTS = ('train', 'test')
_FILES = dict(zip(_PARTS, (dataset_json.TRAIN_NAME, dataset_json.TEST_NAME)))
_EXPECTED = (
  'FOLDER/<class>/<pictures>, or FOLDER/train/<class>/<pictures> and '
  'FOLDER/test/<class>/<pictures>'
)


class Picture(NamedTuple):
  """A picture file.

  Attributes:
    path: path of the file.
    label: number of its class.
    part: 'train' or 'test'; None if it is not assigned yet.
  """

  path: str
  label: int
  part: Optional[str]


def find(folder):
  """Finds the classes and pictures in a folder.

  Args:
    folder: path of the folder.

  Returns:
    classes: sorted list of names.
    found: list of Picture, sorted by part, class and name.

  Raises:
    OSError: a folder cannot be read.
    UserError: there is no such folder, there are fewer than two classes, or
      one has no pictures.
  """
  if not os.path.isdir(folder):
    raise UserError('%s: no such folder; expected %s' % (folder, _EXPECTED))
  parts = {None: folder}
  inside = _folders_in(folder)
  if set(_PARTS) <= set(inside):
    if len(inside) > len(_PARTS):
      raise UserError(
        '%s: found %s; expected only train and test, or one folder per '
        'class' % (folder, ', '.join(inside))
      )
    parts = {part: os.path.join(folder, part) for part in _PARTS}
  names = {name for path in parts.values() for name in _folders_in(path)}
  classes = sorted(names)
  if len(classes) < 2:
    raise UserError(
      '%s: class folders: found %d, expected two or more: %s'
      % (folder, len(classes), _EXPECTED)
    )
  for name in classes:
    try:
      name.encode('utf-8')
    except UnicodeEncodeError as error:
      raise UserError(
        '%s: the class name %r is not valid UTF-8' % (folder, name)
      ) from error
  found = [
    Picture(picture, label, part)
    for part, path in parts.items()
    for label, name in enumerate(classes)
    if os.path.isdir(os.path.join(path, name))
    for picture in pictures.in_folder(os.path.join(path, name))
  ]
  for part, path in parts.items():
    present = {picture.label for picture in found if picture.part == part}
    empty = set(range(len(classes))) - present
    if empty:
      raise UserError(
        '%s: no pictures found of class %s' % (path, classes[min(empty)])
      )
  return classes, found


def _folders_in(folder):
  """The sorted names of the folders in `folder`, without hidden ones."""
  return sorted(
    name
    for name in os.listdir(folder)
    if not name.startswith('.') and os.path.isdir(os.path.join(folder, name))
  )


def num_test_pictures(count, fraction):
  """How many of `count` pictures of a class to hold out for testing.

  Args:
    count: pictures of the class.
    fraction: fraction of them to hold out, 0 to 1.

  Returns:
    An int, which leaves at least one picture for training, and if possible at
    least one for testing.
  """
  if count < 2:
    return 0
  return max(1, min(count - 1, int(count * fraction + 0.5)))


def write(folder, classes, found, args):
  """Writes the pictures to train.bin and test.bin, in random order.

  Reads one picture at a time. Prints an error for each broken one.

  Args:
    folder: path of an empty folder, which is to become `args.out`.
    classes: list of names.
    found: list of Picture.
    args: the flags.

  Returns:
    counts: dict of part: int array [classes], the pictures of each class.
    broken: number of broken pictures.

  Raises:
    OSError: a file cannot be written; the error names it by its path in
      `args.out`.
  """
  layout = records.layout_for(args.size, args.channels, classes)
  counts = {part: np.zeros(len(classes), int) for part in _PARTS}
  broken = 0
  shown = progress_bar.Bar('Pictures', len(found))
  order = np.random.RandomState(args.seed).permutation(len(found))
  with contextlib.ExitStack() as opened:
    outputs = {}
    for part, name in _FILES.items():
      output = open(os.path.join(folder, name), 'wb', buffering=0)
      outputs[part] = opened.enter_context(output)
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
        record = records.encode(image, layout, label).tobytes()
        with files.naming(os.path.join(args.out, _FILES[part])):
          _write_all(outputs[part], record)
      shown.show(done)
    for part, output in outputs.items():
      with files.naming(os.path.join(args.out, _FILES[part])):
        os.fsync(output.fileno())
  shown.end()
  return counts, broken


def _write_all(output, content):
  """Writes all bytes to an unbuffered file, which may take them in parts.

  A buffered file would fail again on closing, with an error of its own.
  """
  while content:
    content = content[output.write(content) :]


def _part_of_next(label, counts, fraction):
  """The part that the next picture of a class belongs to.

  Decided after a picture is read, so that broken ones do not count. After each
  picture, `num_test_pictures` of those so far are test pictures.
  """
  tests = counts['test'][label]
  total = counts['train'][label] + tests + 1
  return 'test' if num_test_pictures(total, fraction) > tests else 'train'


def check(counts, classes, args):
  """Checks that each class has training and test pictures.

  Args:
    counts: dict of part: int array [classes], from `write`.
    classes: list of names.
    args: the flags.

  Raises:
    UserError: a class has no training or no test pictures.
  """
  for name, train, test in zip(classes, counts['train'], counts['test']):
    if not (train and test):
      raise UserError(
        '%s: pictures of class %s: found %d to train on and %d to test on, '
        'expected at least one of each' % (args.folder, name, train, test)
      )


def make(args):
  """Makes a data set; after an error, writes nothing.

  Args:
    args: the flags.

  Raises:
    OSError: a folder cannot be read or written.
    UserError: the folder does not hold the pictures of a data set, `args.out`
      exists, or Pillow is not installed.
  """
  pictures.need_pillow()
  paths.check(args.out, '--out')
  if os.path.lexists(args.out):
    raise UserError(
      '--out=%s: already exists; expected a new folder' % args.out
    )
  classes, found = find(args.folder)
  pictures.report_others(args.folder, [picture.path for picture in found])
  with files.new_folder(args.out) as temporary:
    counts, broken = write(temporary, classes, found, args)
    check(counts, classes, args)
    totals = [int(counts[part].sum()) for part in _PARTS]
    dataset_json.save(
      temporary, classes, args.size, args.channels, args.flip, totals
    )
  for line in (
    '%s: %d classes, %d pictures to train on, %d to test on; %d broken.'
    % (args.out, len(classes), totals[0], totals[1], broken),
    'To train: %s --data_dir=%s'
    % (commands.command('cifar10_train'), shlex.quote(args.out)),
  ):
    print(printable(line))


def _number(kind, lowest, below):
  """A type for argparse: a number from `lowest` to below `below`."""

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
  """Parses the command line; returns the flags, an argparse.Namespace."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('folder', help='folder that holds one folder per class')
  parser.add_argument(
    '--out', required=True, help='folder to write; must not exist'
  )
  parser.add_argument(
    '--size',
    type=_number(int, dataset_json.SMALLEST, dataset_json.LARGEST + 1),
    default=32,
    help='height and width of the images (32)',
  )
  parser.add_argument(
    '--channels',
    type=int,
    choices=dataset_json.CHANNELS,
    default=3,
    help='color channels: 3, or 1 for gray (3)',
  )
  parser.add_argument(
    '--test_fraction',
    type=_number(float, 0, 1),
    default=0.2,
    help='fraction of each class to test on, at least one picture (0.2)',
  )
  parser.add_argument(
    '--seed',
    type=_number(int, 0, 2**32),
    default=0,
    help='seed of the random split and order of the pictures (0)',
  )
  parser.add_argument(
    '--flip',
    action='store_true',
    default=True,
    help='mirror images at random in training (the default)',
  )
  parser.add_argument(
    '--noflip',
    dest='flip',
    action='store_false',
    help='do not mirror images; for letters and digits',
  )
  return parser.parse_args()


def main():
  """The console command."""
  console.open_streams()
  args = flags()
  console.exit_on_signals()
  sys.exit(console.guarded(lambda: make(args)))


if __name__ == '__main__':
  main()
