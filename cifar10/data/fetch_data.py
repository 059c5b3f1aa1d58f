"""Fetches a data set and checks it; does nothing where it is there and whole.

python scripts/fetch_data.py --data_dir=/tmp/cifar10_data
python scripts/fetch_data.py --dataset=svhn
"""

from cifar10 import cli
from cifar10.data import datasets



def main():
  """The console command."""
  flags = ('dataset', 'data_dir', 'data_url', 'data_sha256')
  cli.run(datasets.prepare, flags, __doc__)
