#!/usr/bin/env python
"""Runs cifar10/report/report.py; installed, it is the command cifar10_report."""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from cifar10.report.report import main

if __name__ == '__main__':
  main()
