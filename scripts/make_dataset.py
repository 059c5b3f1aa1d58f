#!/usr/bin/env python
"""Makes a data set of pictures (cifar10_make_dataset, from a checkout).

    python scripts/make_dataset.py pictures --out=/tmp/my_data --size=48
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cifar10.data.make_dataset import main

if __name__ == '__main__':
  main()
