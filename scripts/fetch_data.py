"""Fetches a data set and checks it; does nothing where it is there and whole.

python scripts/fetch_data.py --data_dir=/tmp/cifar10_data
python scripts/fetch_data.py --dataset=svhn
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cifar10 import cli
from cifar10 import dataset

if __name__ == '__main__':
  flags = ('dataset', 'data_dir', 'data_url', 'data_sha256')
  cli.run(dataset.prepare, flags, __doc__)
