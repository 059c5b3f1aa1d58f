"""Reads event files: curves over the steps of a run, and times."""

import glob
import math
import os
import re
from typing import Dict, List, NamedTuple

from google.protobuf.message import DecodeError
import tensorflow.compat.v1 as tf

# What the tags of all precisions begin with, see summaries.precision_tag.
_PRECISION = re.compile(r'Precision @ (\d+)')


class Point(NamedTuple):
  """A value at a global step, and the Unix time at which it was written."""

  step: int
  time: float
  value: float


class EventFile(NamedTuple):
  """The content of one event file: what one session of a program wrote.

  Attributes:
    path: path of the file.
    start_time: Unix time of the first event.
    end_time: Unix time of the last event.
    scalars: dict from each tag to its Points; only finite values.
  """

  path: str
  start_time: float
  end_time: float
  scalars: Dict[str, List[Point]]


def read_folder(directory):
  """Reads the event files in a folder.

  Args:
    directory: the folder, which may be missing.

  Returns:
    files: list of EventFiles, the oldest first, without empty ones.
    left_out: list of str, a line for each file that is not shown in full.
  """
  pattern = os.path.join(glob.escape(directory), 'events.out.tfevents.*')
  files, left_out = [], []
  for path in sorted(glob.glob(pattern)):
    file, problem = _read(path)
    if file:
      files.append(file)
    if problem:
      left_out.append(problem)
  return sorted(files, key=lambda file: file.start_time), left_out


def _read(path):
  """Reads an event file up to the first damage.

  Args:
    path: the file.

  Returns:
    file: EventFile; None if it has no events.
    problem: str, what is not shown and why; None if all is.
  """
  if not os.path.isfile(path):  # Reading a pipe would block.
    return None, '%s is not a file: passed over.' % path
  times, scalars, problem = [], {}, None
  try:
    for event in tf.train.summary_iterator(path):
      times.append(event.wall_time)
      for value in event.summary.value:
        number = value.simple_value
        if value.HasField('simple_value') and math.isfinite(number):
          point = Point(event.step, event.wall_time, number)
          scalars.setdefault(value.tag, []).append(point)
  except (tf.errors.DataLossError, DecodeError):
    problem = '%s is damaged or cut off: only the events before are shown.'
  except tf.errors.OpError:
    problem = '%s cannot be read.'
  file = EventFile(path, times[0], times[-1], scalars) if times else None
  return file, problem and problem % path


def curve(files, tag):
  """The values of one tag over a whole run.

  Args:
    files: EventFiles of the run, the oldest first.
    tag: str.

  Returns:
    List of Points, in the order of their steps.
  """
  return _join(file.scalars.get(tag, []) for file in files)


def throughput(files, stretches):
  """Images per second between each summary and the one before it.

  The time between a stop and a restart does not count.

  Args:
    files: EventFiles of the run, the oldest first.
    stretches: pairs (first step, examples per step), from a RunState.

  Returns:
    List of Points, in the order of their steps.
  """
  return _join(
    _rates(file.scalars.get('learning_rate', []), stretches) for file in files
  )


def precisions(files, since):
  """The precisions of a run.

  Args:
    files: EventFiles of the evaluator and the trainer, the oldest of each
      first.
    since: Unix time at which the run began; older evaluations are of another
      run.

  Returns:
    dict from the tag of each kind of evaluation (see summaries.precision_tag)
    to its Points in the order of their steps, the newest one of each step. The
    precision @ 1 for the test images comes first.
  """
  by_tag = {}
  for file in files:
    for tag, points in file.scalars.items():
      for point in points:
        if _PRECISION.match(tag) and point.time >= since:
          by_tag.setdefault(tag, {})[point.step] = point
  return {
    tag: sorted(by_tag[tag].values()) for tag in sorted(by_tag, key=_rank)
  }


def _rank(tag):
  """What the tags of precisions are sorted by: k as a number, then the rest."""
  return int(_PRECISION.match(tag).group(1)), tag


def _join(pieces):
  """Joins the curves of successive sessions, the oldest first.

  A session that resumes from an older checkpoint repeats some steps; its points
  replace the earlier ones.
  """
  points = []
  for piece in pieces:
    if piece:
      points = [point for point in points if point.step < piece[0].step]
      points += piece
  return points


def _rates(points, stretches):
  """Images per second between neighboring `points`."""
  found = []
  for last, point in zip(points, points[1:]):
    if point.time > last.time:
      sizes = [size for start, size in stretches if start <= last.step]
      images = (point.step - last.step) * sizes[-1]
      rate = images / (point.time - last.time)
      found.append(Point(point.step, point.time, rate))
  return found
