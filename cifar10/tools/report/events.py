"""Reads event files: curves over the steps of a run, and times."""

import math
import os
import re
from typing import Dict, List, NamedTuple, Optional

from google.protobuf.message import DecodeError
import tensorflow.compat.v1 as tf

from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.util import files as files_lib

# The tags of all precisions, see precision.tag. In titles of charts,
# matplotlib takes what is between dollar signs for mathematics.
_PRECISION = re.compile(r'Precision @ (\d{1,9})(?:, [^$]+)?')
# A trainer notes its start before it opens its event file; the two clocks need
# not agree to the last digit.
_CLOCK_SECS = 1
# A trainer writes its start to disk within this time. After it, the time of the
# file is that of a copy.
_WRITE_SECS = 60


class Point(NamedTuple):
  """A value at a global step, and the Unix time at which it was written."""

  step: int
  time: float
  value: float


class EventLog(NamedTuple):
  """The content of one event file, which one session of a program wrote."""

  start_time: float  # Unix time of the first event.
  end_time: float  # Of the last one.
  scalars: Dict[str, List[Point]]  # By tag; only finite values.
  # The first step of its sessions; None if it notes none, as of an evaluator.
  first_step: Optional[int] = None


def read_folder(directory):
  """Reads the event files in a folder, which may be missing.

  Returns a list of EventLogs, the oldest first, without empty ones; and a line
  for each file that is not shown in full. Steps that a trainer has lost, as the
  start of its next session tells, are left out.
  """
  paths = files_lib.matching(directory, 'events.out.tfevents.*')
  read = [_read(path) for path in sorted(paths)]
  files = [file for file, _ in read if file]
  files.sort(key=lambda file: file.start_time)
  of_trainer = [file for file in files if file.first_step is not None]
  for number, file in enumerate(of_trainer):
    for earlier in of_trainer[:number]:
      _drop(earlier.scalars, file.first_step)
  return files, [problem for _, problem in read if problem]


def _drop(scalars, first_step):
  """Drops the points of a step and later ones, as TensorBoard does."""
  for points in scalars.values():
    points[:] = [point for point in points if point.step < first_step]


def _read(path):
  """The EventLog up to the first damage, and a line on the rest; or Nones."""
  if not os.path.isfile(path):  # Reading a pipe would block.
    return None, '%s is not a file: passed over.' % path
  times, starts, scalars, problem = [], [], {}, None
  try:
    for event in tf.train.summary_iterator(path):
      if event.step < 0 or not 0 <= event.wall_time <= run_state.LATEST:
        raise DecodeError
      times.append(event.wall_time)
      if event.session_log.status == tf.SessionLog.START:
        _drop(scalars, event.step)
        starts.append(event.step)
      for value in event.summary.value:
        number = value.simple_value
        if value.HasField('simple_value') and math.isfinite(number):
          point = Point(event.step, event.wall_time, number)
          scalars.setdefault(value.tag, []).append(point)
  except (tf.errors.DataLossError, DecodeError):
    problem = '%s is damaged or cut off: only the events before are shown.'
  except tf.errors.OpError:
    problem = '%s cannot be read.'
  if not times:
    return None, problem and problem % path
  file = EventLog(times[0], times[-1], scalars, min(starts, default=None))
  return file, problem and problem % path


def curve(files, tag):
  """The Points of a tag in order of steps; `files` begins with the oldest."""
  return _join(file.scalars.get(tag, []) for file in files)


def throughput(files, stretches):
  """Points of images per second between each summary and the one before it.

  The time between a stop and a restart does not count. `stretches` are those of
  a RunState.
  """
  of_files = (file.scalars.get('learning_rate', []) for file in files)
  return _join(_rates(points, stretches) for points in of_files)


def precisions(files, since):
  """The precisions of a run, from files of the evaluator and the trainer.

  Evaluations before the Unix time `since` are of another run. Returns Points in
  the order of their steps, the newest one of each step: a dict of lists by the
  tags of precision.tag, with precision @ 1 for the test images first.
  """
  by_tag = {}
  for file in files:
    for tag, points in file.scalars.items():
      is_precision = tag.isprintable() and _PRECISION.fullmatch(tag)
      for point in points:
        if is_precision and point.time >= since:
          by_tag.setdefault(tag, {})[point.step] = point
  # By k as a number, then by the rest.
  tags = sorted(by_tag, key=lambda t: (int(_PRECISION.match(t).group(1)), t))
  return {tag: sorted(by_tag[tag].values()) for tag in tags}


def _join(pieces):
  """Joins the curves of successive sessions, the oldest first.

  The steps that a resumed session repeats replace the earlier ones.
  """
  points = []
  for piece in pieces:
    while piece and points and points[-1].step >= piece[0].step:
      points.pop()
    points += piece
  return points


def _rates(points, stretches):
  """Images per second between neighboring `points`."""
  found = []
  for last, point in zip(points, points[1:]):
    if point.time > last.time:
      size = [size for start, size in stretches if start <= last.step][-1]
      rate = (point.step - last.step) * size / (point.time - last.time)
      found.append(point._replace(value=rate))
  return found


def durations(starts, files, saved):
  """The seconds that each start of a run trained; None if nothing tells.

  A start lasts until its last event or checkpoint; `saved` are the Unix times
  of checkpoints. Without `starts`, as of the published code, event files tell.
  """
  begins = ([start.time for start in starts] or
            [file.start_time for file in files])
  ends = [(file.start_time, file.end_time) for file in files]
  ends += zip(saved, saved)
  found = []
  for begin, following in zip(begins, [*begins[1:], math.inf]):
    own = [end for time, end in ends if begin <= time + _CLOCK_SECS < following]
    found.append(max(0.0, max(own) - begin) if own else None)
  return found


def checkpoint_times(directory, starts):
  """The Unix times at which the checkpoints of a run were written, sorted.

  Empty if the files have lost their times because they were copied.
  """
  path = os.path.join(directory, config.FILE_NAME)
  if (not starts or not os.path.exists(path) or
      abs(os.path.getmtime(path) - starts[-1].time) > _WRITE_SECS):
    return []
  found = checkpoints.by_step(directory).values()
  return sorted(map(checkpoints.write_time, found))
