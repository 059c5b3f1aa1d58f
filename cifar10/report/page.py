"""Renders a run as one HTML page that loads nothing else.

This module prepares numbers and images; page.html, a Jinja2 template, holds the
sections and their text, and page.css the style. The page leaves out sections
that have no data, and lists the reasons in `Run.left_out`.
"""

import datetime
import os
import platform
from typing import Any, List, NamedTuple, Optional

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.config import Config
from cifar10.report import charts
from cifar10.report import confusion
from cifar10.report import events

# Marks a file as a report, which a later report may overwrite.
MARK = '<meta name="generator" content="cifar10 report"/>'

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MAX_TABLE_CLASSES = 20  # A larger confusion matrix is drawn as an image.
_MAX_MISTAKES = 15
_MAX_IMAGES = 24


class Run(NamedTuple):
  """The content of a page.

  Attributes:
    name: the name of the run in the title.
    config: the Config saved with the run; None if there is none.
    files: events.EventFiles of the trainer, the oldest first.
    throughput: events.Points, images per second.
    precisions: events.Points, precision @ 1 found by the evaluator.
    predictions: confusion.TestPredictions of the newest checkpoint; None if
      there are none.
    filters: weights of conv1, float array, [height, width, depth, filters];
      None if there are none.
    left_out: list of str, what the page leaves out and why.
  """

  name: str
  config: Optional[Config]
  files: List[events.EventFile]
  throughput: List[events.Point]
  precisions: List[events.Point]
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
    'charts': _charts(run),
    'time': datetime.datetime.now().strftime('%Y-%m-%d %H:%M'),
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
  if run.config is not None:
    content['settings'] = _settings(run.config)
  return environment.get_template('page.html').render(content)


def _facts(run):
  """The main results: tuples (name, value, note), str each."""
  facts = []
  if run.precisions:
    best = max(run.precisions, key=lambda point: point.value)
    note = 'step %d; evaluations: %d' % (best.step, len(run.precisions))
    facts.append(('Best evaluation', _percent(best.value, 2), note))
  if run.predictions is not None:
    precision = _percent(run.predictions.precision, 2)
    note = 'step %d' % run.predictions.step
    facts.append(('Newest checkpoint', precision, note))
  if run.throughput:
    median = np.median([point.value for point in run.throughput])
    facts.append(('Images per second', _number(median), 'median'))
  if run.files:
    seconds = sum(file.end_time - file.start_time for file in run.files)
    time = datetime.timedelta(seconds=round(seconds))
    note = 'sessions: %d' % len(run.files)
    facts.append(('Training time', str(time), note))
  return facts


def _charts(run):
  """The charts that have points: pairs (title, str of SVG)."""
  learning_rate, total, raw_total, cross_entropy = (
    events.curve(run.files, tag)
    for tag in (
      'learning_rate',
      'losses/total_loss',
      'losses/total_loss_raw',
      'losses/cross_entropy',
    )
  )
  # The moving averages start at 0, before the first loss.
  total, cross_entropy = (
    charts.smooth([point for point in points if point.value])
    for points in (total, cross_entropy)
  )
  losses = [
    ('total, raw', raw_total, 'faint'),
    ('cross entropy', cross_entropy, 'second'),
    ('total', total, 'main'),
  ]
  # The precision of an untrained model, at step 0, would squeeze the others.
  precisions = [p for p in run.precisions if p.step] or run.precisions
  precisions = [p._replace(value=100 * p.value) for p in precisions]
  throughputs = [
    ('between summaries', run.throughput, 'faint'),
    ('median', charts.smooth(run.throughput), 'main'),
  ]
  return [
    (title, charts.line_chart(title, curves, **options))
    for title, curves, options in (
      ('Loss', losses, {'log': True}),
      ('Precision @ 1, %', [('', precisions, 'main')], {}),
      ('Learning rate', [('', learning_rate, 'main')], {'log': True}),
      ('Images per second', throughputs, {'bottom': 0}),
    )
    if curves[0][1]
  ]


def _class_shares(matrix):
  """The confusion matrix in fractions of each true class; 0 without images."""
  return matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))


def _matrix(predictions):
  """The confusion matrix by rows: pairs (true class, cells).

  The cells are pairs (number of images, fraction of the true class).
  """
  matrix = predictions.confusion_matrix
  return [
    (name, list(zip(counts, shares)))
    for name, counts, shares in zip(
      predictions.classes, matrix, _class_shares(matrix)
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


def _settings(config):
  """The saved settings: tuples (name, value, default, whether changed).

  Changed settings come first.
  """
  defaults = Config().saved_settings()
  settings = [
    (name, value, defaults[name], value != defaults[name])
    for name, value in config.saved_settings().items()
  ]
  return sorted(settings, key=lambda setting: not setting[3])


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
