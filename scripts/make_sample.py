#!/usr/bin/env python
"""Makes the bundled sample: a few records of each class of CIFAR-10.

    python scripts/make_sample.py /tmp/cifar10_data/cifar-10-batches-bin

Writes 1,000 training and 500 test records to cifar10/data/sample/. Takes the
records with the smallest SHA-256 of each class and sorts them by their SHA-256,
so that the result does not depend on the order of the records.
"""

import hashlib
import os
from pathlib import Path
import sys

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.util import arguments
from cifar10.util import files


def sample(paths, per_class):
  """Selects `per_class` records of each class from files; returns their bytes.

  Raises UserError if a file is damaged.
  """
  layout = records_lib.Layout()
  for path in paths:
    records_lib.check_file(path, layout, len(datasets.CLASSES))
  records = sorted(records_lib.load(paths, layout),
                   key=lambda record: hashlib.sha256(record).digest())
  labels = records_lib.labels(np.array(records), layout)
  chosen = [
      np.flatnonzero(labels == label)[:per_class]
      for label in range(len(datasets.CLASSES))
  ]
  return b''.join(records[i] for i in sorted(np.concatenate(chosen)))


def make(folder, out):
  """Writes a sample of the files in `folder`; prints the SHA-256 of each."""
  data = datasets.in_folder(folder)
  os.makedirs(out, exist_ok=True)
  for name, paths, per_class in (('data_batch_1.bin', data.train_files, 100),
                                 ('test_batch.bin', data.test_files, 50)):
    content = sample(paths, per_class)
    files.write_atomically(os.path.join(out, name), content)
    print(f'{name}: {hashlib.sha256(content).hexdigest()}')


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('folder', help='folder of the .bin files of CIFAR-10')
  parser.add_argument('--out', default=datasets.SAMPLE_FOLDER,
                      help='folder to write to')
  parser.run(lambda args: make(args.folder, args.out))
