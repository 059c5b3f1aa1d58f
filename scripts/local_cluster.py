#!/usr/bin/env python
"""Runs a cluster on one machine (cifar10_local_cluster, from a checkout).

    python scripts/local_cluster.py --num_ps=1 --num_workers=2 --max_steps=500
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cifar10.cluster.local_cluster import main

if __name__ == '__main__':
  main()
