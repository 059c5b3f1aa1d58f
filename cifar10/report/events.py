"""Reads event files: curves over the steps of a run, and times."""

import glob
import math
import os
from typing import Dict, List, NamedTuple

import tensorflow.compat.v1 as tf

_PRECISION = 'Precision @ 1'  # The evaluator's tag.


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
    truncated: whether the file ends in the middle of an event.
  """

  path: str
  start_time: float
  end_time: float
  scalars: Dict[str, List[Point]]
  truncated: bool


def read_folder(directory):
  """Reads the event files in a folder.

  Args:
    directory: the folder, which may be missing.

  Returns:
    List of EventFiles, the oldest first, without empty ones.
  """
  pattern = os.path.join(glob.escape(directory), 'events.out.tfevents.*')
  found = [_read(path) for path in glob.glob(pattern)]
  return sorted((file for file in found if file), key=lambda f: f.start_time)


def _read(path):
  """The EventFile at `path`, up to the first damage; None if it is empty."""
  times, scalars, truncated = [], {}, False
  try:
    for event in tf.train.summary_iterator(path):
      times.append(event.wall_time)
      for value in event.summary.value:
        number = value.simple_value
        if value.HasField('simple_value') and math.isfinite(number):
          point = Point(event.step, event.wall_time, number)
          scalars.setdefault(value.tag, []).append(point)
  except tf.errors.DataLossError:
    truncated = True
  if not times:
    return None
  return EventFile(path, times[0], times[-1], scalars, truncated)


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


def precisions(directory, since):
  """The precisions that the evaluator found.

  Args:
    directory: the evaluator's --eval_dir.
    since: Unix time at which the run began; older evaluations are of another
      run.

  Returns:
    List of Points, in the order of their steps; the newest one of each step.
  """
  by_step = {
    point.step: point
    for file in read_folder(directory)
    for point in file.scalars.get(_PRECISION, [])
    if point.time >= since
  }
  return sorted(by_step.values())


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
