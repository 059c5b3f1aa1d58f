"""Files that hang whoever opens or reads them, as on a network that is gone."""

import ctypes
import functools
import os
import tempfile

# From linux/fanotify.h and linux/fcntl.h.
_FAN_CLASS_CONTENT = 4
_FAN_CLOEXEC = 1
_FAN_MARK_ADD = 1
_FAN_OPEN_PERM, _FAN_ACCESS_PERM = 0x10000, 0x20000
_AT_FDCWD = -100


class Hang:
  """Has all who open or read some files wait; needs root.

  Size and type of the files stay as they are, for all to see. They are asked
  for from the kernel, which asks this process for permission, and waits. After
  `end`, or the end of this process, they may go on.
  """

  def __init__(self, paths):
    libc = ctypes.CDLL(None, use_errno=True)
    self._number = libc.fanotify_init(_FAN_CLASS_CONTENT | _FAN_CLOEXEC,
                                      os.O_RDONLY)
    if self._number < 0:
      raise OSError(ctypes.get_errno(), 'fanotify_init')
    events = ctypes.c_uint64(_FAN_OPEN_PERM | _FAN_ACCESS_PERM)
    for path in paths:
      if libc.fanotify_mark(self._number, _FAN_MARK_ADD, events, _AT_FDCWD,
                            os.fsencode(str(path))):
        self.end()
        raise OSError(ctypes.get_errno(), 'fanotify_mark', str(path))

  def end(self):
    """Lets all go on."""
    os.close(self._number)


@functools.lru_cache(maxsize=None)
def is_possible():
  """Whether this process may do so."""
  with tempfile.NamedTemporaryFile() as file:
    try:
      Hang([file.name]).end()
    except (AttributeError, OSError):
      return False
  return True
