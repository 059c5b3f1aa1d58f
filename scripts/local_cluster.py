#!/usr/bin/env python
"""Runs cifar10/cluster/local_cluster.py; installed, it is the command cifar10_local_cluster."""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from cifar10.cluster.local_cluster import main

if __name__ == '__main__':
  main()
