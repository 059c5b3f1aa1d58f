#!/usr/bin/env python
"""Searches for good settings (cifar10_search, from a checkout).

    python scripts/search.py space.json --trials=20 --out=/tmp/search
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cifar10.tools.search.search import main

if __name__ == '__main__':
  main()
