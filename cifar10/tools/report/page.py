"""Renders a run as one HTML page that loads nothing else.

This module prepares numbers and images; page.html, a Jinja2 template, holds the
sections and their text, and page.css the style. The page leaves out sections
that have no data, and lists the reasons in `Run.left_out`.
"""

import datetime
import os
import platform
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import settings as settings_lib
from cifar10.settings import Settings
from cifar10.store import config
from cifar10.store import run_state
from cifar10.tools.report import charts
from cifar10.tools.report import confusion
from cifar10.tools.report import curves
from cifar10.tools.report import events

# Marks a file as a report, which a later report may overwrite.
MARK = '<meta name="generator" content="cifar10 report"/>'

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MAX_TABLE_CLASSES = 20  # A larger confusion matrix is drawn as an image.
_MAX_MISTAKES = 15
_MAX_IMAGES = 24
# Groups of settings that are shown only if a run used them.
_SPECIAL_GROUPS = 'towers', 'cluster'


class Run(NamedTuple):
  """The content of a page.

  Attributes:
    name: the name of the run in the title.
    settings: the Settings saved with the run; None if there is none.
    files: events.EventFiles of the trainer, the oldest first.
    starts: run_state.Starts, in order.
    durations: seconds of each start, see starts.durations.
    throughput: events.Points, images per second.
    precisions: what the evaluator found, see events.precisions.
    predictions: confusion.TestPredictions of the newest checkpoint; None if
      there are none.
    filters: weights of conv1, float array, [height, width, depth, filters];
      None if there are none.
    left_out: list of str, what the page leaves out and why.
  """

  name: str
  settings: Optional[Settings]
  files: List[events.EventFile]
  starts: Tuple[run_state.Start, ...]
  durations: List[Optional[float]]
  throughput: List[events.Point]
  precisions: Dict[str, List[events.Point]]
  predictions: Optional[confusion.TestPredictions]
  filters: Any
  left_out: List[str]


def render(run):
  """Renders the page.

  Args:
    run: Run.

  Returns:
    str of HTML that is also well-formed XML.
  """
  import jinja2

  environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_FOLDER),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
  )
  environment.filters.update(
    number=_number, percent=_percent, fraction=_fraction
  )
  content = {
    'mark': MARK,
    'run': run,
    'facts': _facts(run),
    'charts': curves.draw(run),
    'starts': _starts(run),
    'time': _date(datetime.datetime.now().timestamp()),
    'tensorflow': tf.__version__,
    'python': platform.python_version(),
  }
  if run.predictions is not None:
    content['classes'] = _classes(run.predictions)
    if len(run.predictions.classes) <= _MAX_TABLE_CLASSES:
      content['matrix'] = _matrix(run.predictions)
    else:
      content['matrix_image'] = _matrix_image(run.predictions)
    content['mistakes'] = _mistakes(run.predictions)
    content['images'] = _images(run.predictions)
  if run.filters is not None:
    content['filters'] = _filters(run.filters)
  if run.settings is not None:
    content['settings'] = _settings(run.settings)
  return environment.get_template('page.html').render(content)


def _facts(run):
  """The main results: tuples (name, value, note), str each."""
  facts = []
  if run.precisions:
    tag, points = next(iter(run.precisions.items()))
    name = 'Best evaluation'
    if tag != curves.DEFAULT_PRECISION:
      name += ', ' + curves.precision_labels([tag])[tag]
    best = max(points, key=lambda point: point.value)
    note = 'step %s; evaluations: %d' % (_number(best.step), len(points))
    facts.append((name, _percent(best.value, 2), note))
  if run.predictions is not None:
    precision = _percent(run.predictions.precision, 2)
    note = 'step ' + _number(run.predictions.step)
    facts.append(('Newest checkpoint', precision, note))
  if run.throughput:
    median = np.median([point.value for point in run.throughput])
    facts.append(('Images per second', _number(median), 'median'))
  if run.durations:
    known = [seconds for seconds in run.durations if seconds is not None]
    unknown = len(run.durations) - len(known)
    note = 'starts: %d' % len(run.durations)
    if unknown:
      note += ', of unknown length: %d' % unknown
    time = _duration(sum(known)) if known else 'unknown'
    facts.append(('Training time', time, note))
  return facts


def _starts(run):
  """The starts of a run: tuples (step, date, duration, changed settings).

  Empty if there is nothing to tell: a single start.
  """
  if len(run.starts) < 2 and not any(start.changed for start in run.starts):
    return []
  seconds = run.durations[len(run.durations) - len(run.starts) :]
  return [
    (
      start.step,
      _date(start.time),
      '–' if duration is None else _duration(duration),
      [
        '%s %s -> %s' % (_flag(name), _value(old), _value(new))
        for name, old, new in start.changed
      ],
    )
    for start, duration in zip(run.starts, seconds)
  ]


def _class_shares(matrix):
  """The confusion matrix in fractions of each true class; 0 without images."""
  return matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))


def _matrix(predictions):
  """The confusion matrix by rows: pairs (true class, cells).

  The cells are tuples (number of images, fraction of the true class, 'right' or
  'wrong').
  """
  matrix = predictions.confusion_matrix
  kinds = np.where(np.eye(len(matrix), dtype=bool), 'right', 'wrong')
  return [
    (name, list(zip(*cells)))
    for name, *cells in zip(
      predictions.classes, matrix, _class_shares(matrix), kinds
    )
  ]


def _matrix_image(predictions):
  """The confusion matrix as the URI of an image, a pixel for each pair."""
  shares = _class_shares(predictions.confusion_matrix)
  # A blue that shows on white and on black; the square root of the fraction,
  # so that rare mistakes show too, is its opacity.
  pixels = np.full(shares.shape + (4,), (64, 128, 255, 0), np.uint8)
  pixels[..., 3] = 255 * np.sqrt(shares)
  return charts.png_uri(pixels)


def _classes(predictions):
  """Tuples (class, number of images, precision, recall)."""
  matrix = predictions.confusion_matrix
  precision, recall = confusion.precision_and_recall(matrix)
  return list(zip(predictions.classes, matrix.sum(axis=1), precision, recall))


def _mistakes(predictions):
  """Tuples (true class, predicted class, images, fraction of the class)."""
  matrix, classes = predictions.confusion_matrix, predictions.classes
  return [
    (classes[label], classes[wrong], count, count / matrix[label].sum())
    for label, wrong, count in confusion.frequent_mistakes(
      matrix, _MAX_MISTAKES
    )
  ]


def _images(predictions):
  """The most confident mistakes.

  Tuples (image number, URI, true class, predicted class, probability).
  """
  return [
    (
      i,
      charts.png_uri(predictions.images[i]),
      predictions.classes[predictions.labels[i]],
      predictions.classes[predictions.predicted[i]],
      predictions.confidences[i],
    )
    for i in predictions.most_confident_mistakes(_MAX_IMAGES)
  ]


def _filters(filters):
  """The weights of conv1 as URIs of images, one for each filter."""
  # Zero is medium gray, and the largest weight of each filter full intensity.
  largest = np.maximum(1e-12, np.abs(filters).max(axis=(0, 1, 2)))
  scaled = np.round(127.5 * (1 + filters / largest)).astype(np.uint8)
  return [charts.png_uri(scaled[..., i]) for i in range(scaled.shape[3])]


def _settings(settings):
  """The flags of a run: tuples (flag, value, default, whether changed).

  Changed settings come first. Left out are settings that are not flags, and
  those of towers and clusters if the run had none.
  """
  default = Settings()
  unused = [
    group
    for group in _SPECIAL_GROUPS
    if settings.of_groups(group) == default.of_groups(group)
  ]
  defaults = config.saved(default)
  rows = [
    (
      _flag(name),
      _value(value),
      _value(defaults[name]),
      value != defaults[name],
    )
    for name, value in config.saved(settings).items()
    if _is_flag(name) and settings_lib.GROUP_OF[name] not in unused
  ]
  return sorted(rows, key=lambda row: not row[3])


def _is_flag(name):
  """Whether a setting is a flag of a program."""
  field = settings_lib.FIELDS.get(name)
  return field is not None and 'help' in field.metadata


def _flag(name):
  """A setting as its flag, if it is one."""
  return '--' + name if _is_flag(name) else name


def _value(value):
  """The value of a setting; 'none' for None and for no text."""
  return 'none' if value in (None, '') else str(value)


def _date(time):
  """A Unix time as local date and time: 2015-11-04 11:45."""
  return datetime.datetime.fromtimestamp(time).strftime('%Y-%m-%d %H:%M')


def _duration(seconds):
  """A number of seconds as hours, minutes and seconds: 1:23:45."""
  return str(datetime.timedelta(seconds=round(seconds)))


def _number(number):
  """A number with separators of thousands: 1,068,298."""
  return '{:,.0f}'.format(number)


def _percent(share, digits=1):
  """A fraction as 86.5 %; a dash for NaN."""
  if np.isnan(share):
    return '–'
  return '%.*f\u00a0%%' % (digits, 100 * share)


def _fraction(share):
  """A fraction as a number of the style sheet; 0 for NaN."""
  return '%.3f' % np.nan_to_num(share)
