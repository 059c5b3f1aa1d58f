"""scripts/benchmarks/starts.py measures the memory of a process."""

import inspect
import subprocess
import sys

from tests import short_runs

starts = short_runs.module_of('benchmarks', 'starts')


def test_the_peak_of_a_process_is_not_that_of_its_parent():
  # A small process, whose parent, this one, has imported TensorFlow.
  program = 'import re\nfrom pathlib import Path\n%sprint(peak_memory())' % (
      inspect.getsource(starts.peak_memory))
  peak = subprocess.run([sys.executable, '-c', program], check=True,
                        stdout=subprocess.PIPE).stdout
  assert 1 < float(peak) < 50 < starts.peak_memory() / 2
