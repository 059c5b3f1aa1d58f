"""Processes that end with their parent.

    python processes.py PARENT PROGRAM ARGUMENTS...

asks Linux to send SIGTERM to this process when its parent, process PARENT,
dies, and becomes the program. On other systems it outlives its parent.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def ending_with_parent(command):
  """The command, a list, that runs `command` until this process ends."""
  return [sys.executable, os.path.abspath(__file__), str(os.getpid()), *command]


if __name__ == '__main__':
  if sys.platform == 'linux':
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(sys.argv[1]):  # It died before.
      sys.exit(1)
  os.execv(sys.argv[2], sys.argv[2:])
