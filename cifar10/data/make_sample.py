"""Makes the bundled sample: a few records of CIFAR-10, as many of each class.

    python scripts/make_sample.py /tmp/cifar10_data/cifar-10-batches-bin

Writes 1,000 training and 500 test records to cifar10/sample/. Of each class
the records with the smallest SHA-256 are taken, in the order of their SHA-256
over all classes: the same bytes come out, however the records are ordered.
"""

import argparse
import hashlib
import os
import sys

import numpy as np

from cifar10.data import datasets
from cifar10.util import files
from cifar10.errors import UserError

_TRAIN_PER_CLASS = 100
_TEST_PER_CLASS = 50


def sample(paths, per_class):
  """Takes `per_class` records of each class.

  Args:
    paths: files of records of CIFAR-10's binary version.
    per_class: how many records to take of each class.

  Returns:
    The records, as bytes.

  Raises:
    UserError: a file is damaged, or holds fewer records of a class.
  """
  layout = datasets.Layout()
  records = []
  for path in paths:
    datasets.check_file(path)
    content = np.fromfile(path, np.uint8).reshape(-1, layout.record_bytes)
    records.extend(row.tobytes() for row in content)
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
      '%s: found %s records by class; expected %d of each'
      % (', '.join(paths), list(taken.values()), per_class)
    )
  return b''.join(chosen)


def main():
  """The command line."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('folder', help='the folder of the .bin files')
  parser.add_argument('--out', default=datasets.SAMPLE_FOLDER)
  arguments = parser.parse_args()
  data = datasets.in_folder(arguments.folder)
  os.makedirs(arguments.out, exist_ok=True)
  for name, paths, per_class in (
    ('data_batch_1.bin', data.train_files, _TRAIN_PER_CLASS),
    ('test_batch.bin', data.test_files, _TEST_PER_CLASS),
  ):
    content = sample(paths, per_class)
    files.write_atomically(os.path.join(arguments.out, name), content)
    print('%s: %s' % (name, hashlib.sha256(content).hexdigest()))


if __name__ == '__main__':
  try:
    main()
  except (UserError, OSError) as error:
    sys.exit('make_sample: error: %s' % error)
