"""What event files tell of a run: curves over its steps, and times."""

import glob
import math
import os
from typing import Dict, List, NamedTuple

import tensorflow.compat.v1 as tf

_PRECISION = 'Precision @ 1'  # As the evaluator calls it.


class Point(NamedTuple):
  """A value at a global step, and when it was written (seconds of Unix)."""

  step: int
  time: float
  value: float


class EventFile(NamedTuple):
  """One event file: a program from its start to its end.

  Attributes:
    path: where it is.
    begun, ended: times of its first and its last event, seconds of Unix.
    scalars: the Points of each tag, finite numbers only.
    cut_off: whether it ends within an event, so that there was more.
  """

  path: str
  begun: float
  ended: float
  scalars: Dict[str, List[Point]]
  cut_off: bool


def read_folder(directory):
  """The EventFiles in `directory`, the oldest first; empty ones left out."""
  pattern = os.path.join(glob.escape(directory), 'events.out.tfevents.*')
  found = [_read(path) for path in glob.glob(pattern)]
  return sorted((file for file in found if file), key=lambda f: f.begun)


def _read(path):
  """The EventFile at `path`, as far as it is whole; None if it is empty."""
  times, scalars, cut_off = [], {}, False
  try:
    for event in tf.train.summary_iterator(path):
      times.append(event.wall_time)
      for value in event.summary.value:
        number = value.simple_value
        if value.HasField('simple_value') and math.isfinite(number):
          point = Point(event.step, event.wall_time, number)
          scalars.setdefault(value.tag, []).append(point)
  except tf.errors.DataLossError:
    cut_off = True
  if not times:
    return None
  return EventFile(path, times[0], times[-1], scalars, cut_off)


def curve(files, tag):
  """The Points of `tag` in all EventFiles of a run, by step."""
  return _joined(file.scalars.get(tag, []) for file in files)


def throughput(files, config):
  """Images a second between summaries: Points at the later one of each two.

  Args:
    files: EventFiles of a run. No time between a stop and a restart counts.
    config: Config of the run; tells the examples of a step.
  """
  return _joined(
    _rates(file.scalars.get('learning_rate', []), config) for file in files
  )


def precisions(directory, since):
  """The evaluator's precisions: Points by step, the newest for each.

  Args:
    directory: the evaluator's --eval_dir.
    since: when the run began; what was written before is of another run.
  """
  by_step = {
    point.step: point
    for file in read_folder(directory)
    for point in file.scalars.get(_PRECISION, [])
    if point.time >= since
  }
  return sorted(by_step.values())


def _joined(pieces):
  """One curve of the pieces of each start, the oldest first.

  A run that goes on from an older checkpoint takes some steps again; of those
  the last time counts.
  """
  points = []
  for piece in pieces:
    if piece:
      points = [point for point in points if point.step < piece[0].step]
      points += piece
  return points


def _rates(points, config):
  """Images a second between each two neighbours of `points`."""
  stretches = config.stretches or ((0, config.examples_per_step),)
  found = []
  for last, point in zip(points, points[1:]):
    if point.time > last.time:
      sizes = [size for start, size in stretches if start <= last.step]
      images = (point.step - last.step) * sizes[-1]
      rate = images / (point.time - last.time)
      found.append(Point(point.step, point.time, rate))
  return found
