#!/usr/bin/env python
"""Runs cifar10/data/make_dataset.py; installed, it is the command cifar10_make_dataset."""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from cifar10.data.make_dataset import main

if __name__ == '__main__':
  main()
