#!/usr/bin/env python
"""Fetches a data set (cifar10_fetch_data, from a checkout).

    python scripts/fetch_data.py --data_dir=/tmp/cifar10_data
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cifar10.data.fetch_data import main

if __name__ == '__main__':
  main()
