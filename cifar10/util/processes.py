"""Processes that end when the one that has started them is gone.

    python processes.py PARENT PROGRAM ARGUMENTS...

asks Linux to send SIGTERM to this process when its parent, process number
PARENT, dies, and becomes the program. Elsewhere it outlives its parent.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def ending_with_parent(command):
  """The command, a list, that runs `command` and ends with its parent."""
  return [sys.executable, os.path.abspath(__file__), str(os.getpid()), *command]


if __name__ == '__main__':
  if sys.platform == 'linux':
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(sys.argv[1]):  # It died before.
      sys.exit(1)
  os.execv(sys.argv[2], sys.argv[2:])
