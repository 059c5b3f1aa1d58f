"""Renders a run as one HTML page that loads nothing else.

This module prepares numbers and images; page.html, a Jinja2 template, holds the
sections and their text, and page.css the style. The page leaves out sections
that have no data, and lists the reasons in `Content.left_out`.
"""

import datetime
import os
import platform
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import settings as settings_lib
from cifar10.store import config
from cifar10.store import run_state
from cifar10.tools.report import charts
from cifar10.tools.report import confusion
from cifar10.tools.report import events

# Marks a file as a report, which a later report may overwrite.
MARK = '<meta name="generator" content="cifar10 report"/>'

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MAX_TABLE_CLASSES = 20  # A larger confusion matrix is drawn as an image.
_MAX_MISTAKES = 15
_MAX_IMAGES = 24


class Content(NamedTuple):
  """The content of a page; None where a run has no such thing."""

  name: str  # In the title.
  settings: Optional[settings_lib.Settings]  # Those saved with the run.
  files: List[events.EventLog]  # Of the trainer, the oldest first.
  starts: Tuple[run_state.Start, ...]  # In order.
  durations: List[Optional[float]]  # Seconds, see events.durations.
  throughput: List[events.Point]  # Images per second.
  precisions: Dict[str, List[events.Point]]  # See events.precisions.
  predictions: Optional[confusion.TestPredictions]  # Of the newest checkpoint.
  filters: Any  # Weights of conv1: float [height, width, depth, filters].
  left_out: List[str]  # Lines on what the page leaves out, and why.


# Formats of values in the template. Shares may be NaN, and seconds None.
_FILTERS = {
    # 2015-11-04 11:45, local time.
    'date': lambda secs: time.strftime('%Y-%m-%d %H:%M', time.localtime(secs)),
    # 1:23:45
    'duration': lambda seconds: ('–' if seconds is None else str(
        datetime.timedelta(seconds=round(seconds)))),
    'flag': lambda name:
            ('--' + name if name in settings_lib.with_policy('help') else name),
    # A number of the style sheet.
    'fraction': lambda share: f'{np.nan_to_num(share):.3f}',
    # 1,068,298
    'number': '{:,.0f}'.format,
    # 86.5 %
    'percent': lambda share, digits=1:
               ('–' if np.isnan(share) else f'{100 * share:.{digits}f}\u00a0%'),
    'value': lambda value: 'none' if value in (None, '') else str(value)
}


def render(run):
  """Renders a Content; returns a str of HTML that is also well-formed XML."""
  import jinja2

  environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_FOLDER),
                                   autoescape=True, trim_blocks=True,
                                   lstrip_blocks=True,
                                   undefined=jinja2.StrictUndefined)
  environment.filters.update(_FILTERS)
  parts = {}
  if run.throughput:
    parts['rate'] = np.median([point.value for point in run.throughput])
  if run.predictions is not None:
    parts.update(_prediction_parts(run.predictions))
  if run.filters is not None:
    parts['filters'] = _filters(run.filters)
  if run.settings is not None:
    parts['settings'] = _settings(run.settings)
  # A single start that changed nothing is not shown.
  if len(run.starts) > 1 or any(start.changed for start in run.starts):
    parts['starts'] = list(zip(run.starts, run.durations))
  return environment.get_template('page.html').render(
      parts, mark=MARK, run=run, default_precision=charts.DEFAULT_PRECISION,
      labels=charts.precision_labels, charts=charts.draw(run), time=time.time(),
      tensorflow=tf.__version__, python=platform.python_version())


def _prediction_parts(predictions):
  """The parts of the page on the predictions for test images, by name."""
  matrix, classes = predictions.confusion_matrix, predictions.classes
  right, totals = np.diag(matrix), matrix.sum(axis=1)
  shares = matrix / np.maximum(1, totals)[:, np.newaxis]
  # NaN if there are no predictions, or no images, of a class.
  with np.errstate(invalid='ignore'):
    precision, recall = right / matrix.sum(axis=0), right / totals
  mistakes = confusion.frequent_mistakes(matrix, _MAX_MISTAKES)
  parts = {
      'classes': list(zip(classes, totals, precision, recall)),
      'mistakes': [(classes[label], classes[wrong], count, shares[label, wrong])
                   for label, wrong, count in mistakes],
      # Number, URI, true and predicted class, and its probability.
      'images': [(i, charts.png_uri(predictions.images[i]),
                  classes[predictions.labels[i]],
                  classes[predictions.predicted[i]], predictions.confidences[i])
                 for i in predictions.most_confident_mistakes(_MAX_IMAGES)]
  }
  if len(classes) <= _MAX_TABLE_CLASSES:
    # Rows (class, cells); a cell: images, share of the class, right or wrong.
    kinds = np.where(np.eye(len(matrix), dtype=bool), 'right', 'wrong')
    parts['matrix'] = [(name, list(zip(*cells)))
                       for name, *cells in zip(classes, matrix, shares, kinds)]
  else:
    # A blue that shows on white and on black; the square root of the share, so
    # that rare mistakes show too, is its opacity.
    pixels = np.full([*shares.shape, 4], (64, 128, 255, 0), np.uint8)
    pixels[..., 3] = 255 * np.sqrt(shares)
    parts['matrix_image'] = charts.png_uri(pixels)
  return parts


def _filters(filters):
  """The weights of conv1 as URIs of images, one for each filter."""
  # Zero is medium gray, and the largest weight of each filter full intensity.
  largest = np.maximum(1e-12, np.abs(filters).max(axis=(0, 1, 2)))
  scaled = np.round(127.5 * (1 + filters / largest)).astype(np.uint8)
  return [charts.png_uri(scaled[..., i]) for i in range(scaled.shape[3])]


def _settings(settings):
  """The flags of a run: tuples (name, value, default), changed ones first.

  Those of towers and clusters are left out if the run had none.
  """
  default = settings_lib.Settings()
  groups = set(settings_lib.GROUP_OF.values())
  for group in ('towers', 'cluster'):
    if settings.of_groups(group) == default.of_groups(group):
      groups.remove(group)
  values, defaults = config.saved(settings), config.saved(default)
  rows = [(name, values[name], defaults[name])
          for name in settings_lib.flag_names(*groups)
          if name in values]
  return sorted(rows, key=lambda row: row[1] == row[2])
