"""Fetches a data set if it is missing, and checks its files.

    cifar10_fetch_data --data_dir=/tmp/cifar10_data
    cifar10_fetch_data --dataset=svhn

Without a network, put the official files into --data_dir first.
"""

from cifar10 import flags
from cifar10.data import datasets


def fetch(settings):
  """Fetches the data set that the settings name if it is missing; checks it.

  Raises:
    UserError: the data set cannot be fetched, or a file is missing or damaged.
  """
  datasets.prepare(settings)


def main():
  """The console command."""
  flags.run(fetch, ('data', 'download'), __doc__)


if __name__ == '__main__':
  main()
