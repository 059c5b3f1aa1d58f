#!/usr/bin/env python
"""Reports on a training run (cifar10_report, from a checkout).

    python scripts/report.py /tmp/cifar10_train --out=report.html
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cifar10.tools.report.report import main

if __name__ == '__main__':
  main()
