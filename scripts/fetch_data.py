#!/usr/bin/env python
"""Runs cifar10/data/fetch_data.py; installed, it is the command cifar10_fetch_data."""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from cifar10.data.fetch_data import main

if __name__ == '__main__':
  main()
