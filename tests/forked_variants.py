"""Programs that variants.Runner starts, forked: see fork_server.py."""

import signal
import subprocess
import types

from cifar10.tools import variants
from tests import processes
from tests import synthetic_records


class _Program(processes.Process):
  """A program by the command that `variants.command` returns."""

  def __init__(self, command, **options):
    super().__init__(command[1:], **options)

  def terminate(self):
    self.send_signal(signal.SIGTERM)


def quick_flags(folder):
  """The flags of quick trainings on a data set, which is made in a folder."""
  data_dir = synthetic_records.make_three_classes(folder, 8, 1)
  return [f'--data_dir={data_dir}', '--batch_size=4', '--log_frequency=1']


def fork(monkeypatch):
  """Has variants.Runner fork its programs from now on."""
  forking = types.SimpleNamespace(Popen=_Program, DEVNULL=subprocess.DEVNULL,
                                  TimeoutExpired=subprocess.TimeoutExpired)
  monkeypatch.setattr(variants, 'subprocess', forking)
  monkeypatch.setattr(variants.processes, 'ending_with_parent', list)
  monkeypatch.setattr(variants, 'POLL_SECS', 0.05)
