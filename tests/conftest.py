"""What every test needs."""

import os

if 'PYTEST_XDIST_WORKER' in os.environ:
  # One core for each worker of pytest-xdist, and for the processes it starts.
  os.environ.setdefault('TF_NUM_INTRAOP_THREADS', '1')

from cifar10.settings import Settings
from cifar10.util import session_settings
from tests import processes

# As every program does at its start.
session_settings.start_threads(Settings())

processes.heed_signals()
