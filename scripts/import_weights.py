#!/usr/bin/env python
"""Makes a checkpoint of weights of another framework (cifar10_import_weights).

    python scripts/import_weights.py weights.npz --out=/tmp/imported
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cifar10.tools.import_weights import main

if __name__ == '__main__':
  main()
