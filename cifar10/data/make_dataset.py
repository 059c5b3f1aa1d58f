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

import os
import shlex
import sys

import numpy as np

from cifar10.data import dataset_json
from cifar10.data import datasets
from cifar10.data import pictures
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.settings import Settings
from cifar10.util import arguments
from cifar10.util import commands
from cifar10.util import console
from cifar10.util import files
from cifar10.util import paths

_FILES = dataset_json.FILES

# If all folders have such names and hold folders, they are not classes.
_PART_NAMES = frozenset(
    'train training val valid validation dev test testing'.split())

_EXPECTED = (
    'FOLDER/<class>/<pictures>, or FOLDER/train/<class>/<pictures> and '
    'FOLDER/test/<class>/<pictures>')


def find(folder):
  """Finds the classes and pictures in a folder.

  Returns the sorted names of the classes, and a sorted list of tuples: path,
  number of the class, and part, 'train', 'test' or None. Raises UserError if
  the folder does not hold the pictures of a data set.
  """
  if not os.path.isdir(folder):
    raise UserError(f'{folder}: no such folder; expected {_EXPECTED}')
  parts, names = {None: folder}, _folders_in(folder)
  has_parts = names and all(
      name.lower() in _PART_NAMES and _folders_in(os.path.join(folder, name))
      for name in names)
  if has_parts or set(_FILES) <= set(names):
    if names != sorted(_FILES):
      raise UserError(
          f'{folder}: found {", ".join(names)}; expected only train and test, '
          'or one folder per class')
    parts = {part: os.path.join(folder, part) for part in _FILES}
  classes = sorted({n for path in parts.values() for n in _folders_in(path)})
  if len(classes) < 2:
    raise UserError(
        f'{folder}: class folders: found {len(classes)}, expected two or more: '
        f'{_EXPECTED}')
  for name in classes:
    if not paths.is_text(name):
      raise UserError(f'{folder}: the class name {name!r} is not valid UTF-8')
  found = []
  for part, path in parts.items():
    for label, name in enumerate(classes):
      inside = os.path.join(path, name)
      of_class = pictures.in_folder(inside) if os.path.isdir(inside) else []
      if not of_class:
        raise UserError(f'{path}: no pictures found of class {name}')
      found += [(picture, label, part) for picture in of_class]
  return classes, found


def _folders_in(folder):
  """The sorted names of the folders in `folder`, without hidden ones."""
  return sorted(
      name for name in os.listdir(folder)
      if not name.startswith('.') and os.path.isdir(os.path.join(folder, name)))


def _part(counts, label, fraction):
  """The part of a class's next picture: about `fraction` are for testing."""
  num_train, num_test = (counts[name][label] for name in _FILES)
  count = num_train + num_test + 1
  wanted = min(count - 1, max(1, int(count * fraction + 0.5)))
  return 'test' if num_test < wanted else 'train'


def write(folder, classes, found, args):
  """Writes the pictures to train.bin and test.bin, in random order.

  Prints an error for each broken one. Returns the numbers of pictures of each
  class, a dict of int arrays [classes] by part, and the number of broken ones.
  """
  layout = records.layout_for(args.size, args.channels, classes)
  counts = {part: np.zeros(len(classes), int) for part in _FILES}
  broken = 0
  shown = console.ProgressBar('Pictures', len(found))
  order = np.random.RandomState(args.seed).permutation(len(found))
  new = [os.path.join(folder, name) for name in _FILES.values()]
  with files.new_file(new[0]) as train, files.new_file(new[1]) as test:
    outputs = {'train': train, 'test': test}
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
        # After the reading, so that broken pictures do not count.
        part = part or _part(counts, label, args.test_fraction)
        counts[part][label] += 1
        record = records.encode(image, layout, label)
        outputs[part].write(record.tobytes())
      shown.show(done)
  shown.end()
  return counts, broken


def make(args):
  """Makes a data set by the flags; after an error, writes nothing."""
  pictures.need_pillow()
  paths.check(args.out, '--out')
  if os.path.lexists(args.out):
    raise UserError(f'--out={args.out}: already exists; expected a new folder')
  classes, found = find(args.folder)
  # Elsewhere, this begins with `..`; hidden folders are not classes.
  inside = os.path.relpath(*map(os.path.realpath, (args.out, args.folder)))
  if not inside.startswith('.'):
    raise UserError(
        f'--out={args.out}: is in {args.folder}, whose folders hold '
        'the pictures; expected a folder elsewhere')
  pictures.report_others(args.folder, [path for path, _, _ in found])
  with files.new_folder(args.out) as temporary:
    counts, broken = write(temporary, classes, found, args)
    for name, train, test in zip(classes, counts['train'], counts['test']):
      if not (train and test):
        raise UserError(
            f'{args.folder}: pictures of class {name}: found {train} to train '
            f'on and {test} to test on, expected at least one of each')
    totals = [int(counts[part].sum()) for part in _FILES]
    dataset_json.save(temporary, classes, args.size, args.channels, args.flip,
                      totals)
  datasets.prepare(Settings(data_dir=args.out))  # Warns, as a trainer will.
  for line in (
      f'{args.out}: {len(classes)} classes, {totals[0]} pictures to train on, '
      f'{totals[1]} to test on; {broken} broken.',
      f'To train: {commands.command("cifar10_train")} '
      f'--data_dir={shlex.quote(args.out)} '
      f'--train_dir={shlex.quote(args.out.rstrip("/"))}_run'):
    print(printable(line))


def parser():
  """The parser of the command line, an arguments.Parser."""
  result = arguments.Parser(__doc__)
  add = result.add_argument
  add('folder', help='folder that holds one folder per class')
  add('--out', required=True, help='folder to write; must not exist')
  add('--size', default=32, help='height and width of the images',
      type=arguments.number(int, dataset_json.MIN_SIZE, dataset_json.MAX_SIZE))
  add('--channels', choices=dataset_json.CHANNELS, default=3,
      help='color channels: 3, or 1 for gray')
  add('--test_fraction', type=arguments.number(float, 0, 0.999999), default=0.2,
      help='fraction of each class to test on, at least one picture')
  add('--seed', type=arguments.number(int, 0, 2**32 - 1), default=0,
      help='seed of the random split and order of the pictures')
  add('--flip', action='store_true',
      help='mirror images at random in training (the default)')
  add('--noflip', dest='flip', action='store_false',
      help='do not mirror images; for letters and digits')
  result.set_defaults(flip=True)
  return result


def main():
  """The console command."""
  parser().run(make)


if __name__ == '__main__':
  main()
