#!/usr/bin/env python
"""Makes a trained model sparse (cifar10_sparsify, from a checkout).

    python scripts/sparsify.py /tmp/cifar10_train --keep=0.1 --out=/tmp/sparse
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cifar10.tools.sparsify import main

if __name__ == '__main__':
  main()
