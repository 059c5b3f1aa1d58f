"""The starts of a run, and how long each of them trained."""

import os

from cifar10.store import checkpoints
from cifar10.store import run_state

# Seconds. A trainer notes its start before it opens its event file; the two
# clocks need not agree to the last digit.
_CLOCK_TOLERANCE = 1
# Seconds within which a trainer writes its start to disk. After that, the time
# of the file is that of a copy.
_WRITE_TOLERANCE = 60


def durations(starts, files, saved):
  """How long each start of a run trained.

  A start lasts up to the last event or checkpoint that it has written.

  Args:
    starts: run_state.Starts, in order. Those of earlier versions, which kept
      none, are known from their event files.
    files: events.EventFiles of the trainer, the oldest first.
    saved: Unix times at which checkpoints were written.

  Returns:
    List of seconds, first those of starts that only `files` tell of, then those
    of `starts`; None if nothing tells how long a start lasted.
  """
  first = starts[0].time - _CLOCK_TOLERANCE if starts else float('inf')
  begins = [file.start_time for file in files if file.start_time < first]
  begins += [start.time for start in starts]
  ends = [(file.start_time, file.end_time) for file in files]
  ends += [(time, time) for time in saved]
  found = []
  for begin, following in zip(begins, begins[1:] + [float('inf')]):
    own = [
      end for time, end in ends if begin <= time + _CLOCK_TOLERANCE < following
    ]
    found.append(max(0.0, max(own) - begin) if own else None)
  return found


def checkpoint_times(directory, starts):
  """When the checkpoints of a run were written.

  Args:
    directory: the training directory.
    starts: run_state.Starts of the run.

  Returns:
    List of Unix times; empty if the files have lost their times because they
    were copied.
  """
  path = os.path.join(directory, run_state.CONFIG_FILE)
  if not starts or not os.path.exists(path):
    return []
  if abs(os.path.getmtime(path) - starts[-1].time) > _WRITE_TOLERANCE:
    return []
  found = checkpoints.by_step(directory).values()
  return sorted(map(checkpoints.written, found))
