"""Fetches a data set if it is missing, and checks its files.

    cifar10_fetch_data --data_dir=/tmp/cifar10_data
    cifar10_fetch_data --dataset=svhn

Without an internet connection, put the official files into --data_dir first.
"""

import os

from cifar10 import flags
from cifar10.data import datasets


def fetch(settings):
  """Fetches the data set of the settings, and says where it is."""
  data = datasets.prepare(settings)
  print(f'{settings.dataset} is in {os.path.dirname(data.train_files[0])}.')


def main():
  """The console command."""
  flags.run(fetch, ('data', 'download'), __doc__)


if __name__ == '__main__':
  main()
