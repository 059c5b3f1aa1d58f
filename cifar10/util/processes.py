"""Processes that end with their parent.

    python processes.py PARENT PROGRAM ARGUMENTS...

asks Linux to send SIGTERM to this process when its parent, process PARENT,
dies, and becomes the program. On other systems it outlives its parent.
"""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def ending_with_parent(command):
  """The command, a list, that runs `command` until this process ends."""
  return [sys.executable, os.path.abspath(__file__), str(os.getpid()), *command]


def adopt_orphans():
  """Makes Linux give children of dead children to this process."""
  if sys.platform == 'linux':
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def wait_for_children():
  """Waits until all children of this process have ended."""
  with contextlib.suppress(ChildProcessError):
    while True:
      os.wait()


if __name__ == '__main__':
  if sys.platform == 'linux':
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(sys.argv[1]):  # It died before.
      sys.exit(1)
  os.execv(sys.argv[2], sys.argv[2:])
