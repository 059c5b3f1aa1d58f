"""Fetches a data set if it is missing, and checks its files.

    cifar10_fetch_data --data_dir=/tmp/cifar10_data
    cifar10_fetch_data --dataset=svhn

Without an internet connection, put the official files into --data_dir first.
"""

import os

from cifar10 import flags
from cifar10.data import dataset_json
from cifar10.data import datasets


def fetch(settings):
  """Fetches the data set of the settings, and says where it is."""
  data = datasets.prepare(settings)
  folder = os.path.dirname(data.train_files[0])
  if datasets.kind_of(settings) == 'own':
    print(f'The data set {data.name} is in {folder}, by its '
          f'{dataset_json.FILE_NAME}: nothing to fetch.')
  else:
    print(f'{settings.dataset} is in {folder}.')


def main():
  """The console command."""
  flags.run(fetch, ('data', 'download'), __doc__)


if __name__ == '__main__':
  main()
