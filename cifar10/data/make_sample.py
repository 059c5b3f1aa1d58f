"""Makes the bundled sample: a few records of each class of CIFAR-10.

    python -m cifar10.data.make_sample /tmp/cifar10_data/cifar-10-batches-bin

Writes 1,000 training and 500 test records to cifar10/data/sample/. Takes the
records with the smallest SHA-256 of each class and sorts them by their SHA-256,
so that the result does not depend on the order of the records.
"""

import argparse
import hashlib
import os
import sys

from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.util import console
from cifar10.util import files


def sample(paths, per_class):
  """Selects `per_class` records of each class from files of CIFAR-10's format.

  Returns the records, as bytes. Raises UserError if a file is damaged, or if
  the files hold too few records of a class.
  """
  layout = records_lib.Layout()
  for path in paths:
    records_lib.check_file(path, layout, len(datasets.CLASSES))
  records = [row.tobytes() for row in records_lib.load(paths, layout)]
  records.sort(key=lambda record: hashlib.sha256(record).digest())
  taken = dict.fromkeys(range(len(datasets.CLASSES)), 0)
  chosen = []
  for record in records:
    label = record[layout.label_bytes - 1]
    if taken[label] < per_class:
      taken[label] += 1
      chosen.append(record)
  if len(chosen) < per_class * len(taken):
    raise UserError(
        f'{", ".join(paths)}: found {list(taken.values())} records by class; '
        f'expected {per_class} of each')
  return b''.join(chosen)


def make(folder, out):
  """Writes a sample of the files in `folder`; prints its files' SHA-256.

  Raises OSError if a file cannot be read or written, and UserError if one is
  missing or damaged.
  """
  data = datasets.in_folder(folder)
  os.makedirs(out, exist_ok=True)
  for name, paths, per_class in (('data_batch_1.bin', data.train_files, 100),
                                 ('test_batch.bin', data.test_files, 50)):
    content = sample(paths, per_class)
    files.write_atomically(os.path.join(out, name), content)
    print(f'{name}: {hashlib.sha256(content).hexdigest()}')


def main():
  """The program."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('folder', help='folder of the .bin files of CIFAR-10')
  parser.add_argument('--out', default=datasets.SAMPLE_FOLDER,
                      help='folder to write to (cifar10/data/sample)')
  console.open_streams()
  args = parser.parse_args()
  sys.exit(console.guarded(lambda: make(args.folder, args.out)))


if __name__ == '__main__':
  main()
