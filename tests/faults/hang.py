"""Files that hang whoever opens or reads them, as on a network that is gone."""

import contextlib
import ctypes
import os

# From linux/fanotify.h and linux/fcntl.h.
_FAN_CLASS_CONTENT = 4
_FAN_CLOEXEC = 1
_FAN_MARK_ADD = 1
_FAN_OPEN_PERM, _FAN_ACCESS_PERM = 0x10000, 0x20000
_AT_FDCWD = -100


@contextlib.contextmanager
def hung(paths):
  """Has all who open or read some files wait; needs root.

  Size and type of the files stay as they are, for all to see. They are asked
  for from the kernel, which asks this process for permission, and waits. After
  the body, or the end of this process, they may go on.
  """
  libc = ctypes.CDLL(None, use_errno=True)
  number = libc.fanotify_init(_FAN_CLASS_CONTENT | _FAN_CLOEXEC, os.O_RDONLY)
  if number < 0:
    raise OSError(ctypes.get_errno(), 'fanotify_init')
  try:
    events = ctypes.c_uint64(_FAN_OPEN_PERM | _FAN_ACCESS_PERM)
    for path in paths:
      if libc.fanotify_mark(number, _FAN_MARK_ADD, events, _AT_FDCWD,
                            os.fsencode(str(path))):
        raise OSError(ctypes.get_errno(), 'fanotify_mark', str(path))
    yield
  finally:
    os.close(number)
