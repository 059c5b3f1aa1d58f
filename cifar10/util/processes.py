"""Processes that end when the one that has started them is gone.

    python processes.py PROGRAM ARGUMENTS...

asks Linux to send SIGTERM to this process when its parent dies, and becomes the
program. Elsewhere the program outlives its parent.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def ending_with_parent(command):
  """The command, a list, that runs `command` as a process of that kind."""
  return [sys.executable, os.path.abspath(__file__), *command]


if __name__ == '__main__':
  if sys.platform == 'linux':
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
  os.execv(sys.argv[1], sys.argv[1:])
