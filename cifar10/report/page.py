"""A run as one HTML page that needs nothing else.

What there is nothing to tell of has no section; `Run.left_out` says why.
"""

import dataclasses
import datetime
from html import escape
import os
import platform
import string
from typing import Any, List, NamedTuple, Optional

from cifar10.config import Config
import numpy as np
from cifar10.report import confusion
from cifar10.report import charts
from cifar10.report import events
import tensorflow.compat.v1 as tf

# Tells a report from other files.
MARK = '<meta name="generator" content="cifar10 report"/>'

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MATRIX_CLASSES = 20  # More are not readable as a table.
_MISTAKES = 15
_PICTURES = 24


class Run(NamedTuple):
  """All that a page tells.

  Attributes:
    name: what the page is called after.
    config: the saved Config; None where there is none.
    files: the trainer's events.EventFiles.
    precisions: events.Points of the evaluator.
    answers: answers.Answers of the newest checkpoint; None where it has none.
    filters: float array [height, width, depth, filters]; None likewise.
    left_out: what the page does not tell and why, lines of text.
  """

  name: str
  config: Optional[Config]
  files: List[events.EventFile]
  precisions: List[events.Point]
  answers: Optional[confusion.Answers]
  filters: Any
  left_out: List[str]


def render(run):
  """The page of a Run, a str of HTML."""
  with open(os.path.join(_FOLDER, 'page.html'), encoding='utf-8') as file:
    page = string.Template(file.read())
  with open(os.path.join(_FOLDER, 'page.css'), encoding='utf-8') as file:
    style = file.read()
  throughput = events.throughput(run.files, run.config or Config())
  body = _facts(run, throughput) + ''.join(
    '<p>%s</p>\n' % escape(line) for line in run.left_out
  )
  body += _curves(run, throughput)
  if run.answers is not None:
    body += _confusion(run.answers) + '<div class="beside">'
    body += _classes(run.answers) + _mistakes(run.answers) + '</div>'
    body += _pictures(run.answers)
  if run.filters is not None:
    body += _filters(run.filters)
  if run.config is not None:
    body += _settings(run.config)
  return page.substitute(
    mark=MARK,
    title=escape(run.name),
    style=style,
    body=body,
    when=datetime.datetime.now().strftime('%Y-%m-%d %H:%M'),
    tensorflow=tf.__version__,
    python=platform.python_version(),
  )


def _facts(run, throughput):
  """The numbers that one looks for first."""
  facts = []
  if run.precisions:
    best = max(run.precisions, key=lambda point: point.value)
    where = 'step %d, of %d' % (best.step, len(run.precisions))
    facts.append(('Best evaluation', _percent(best.value, 2), where))
  if run.answers is not None:
    precision = _percent(run.answers.precision, 2)
    facts.append(('Newest checkpoint', precision, 'step %d' % run.answers.step))
  if throughput:
    median = np.median([point.value for point in throughput])
    facts.append(('Images a second', '{:,.0f}'.format(median), 'median'))
  if run.files:
    seconds = round(sum(file.ended - file.begun for file in run.files))
    starts = 'starts: %d' % len(run.files)
    time = datetime.timedelta(seconds=seconds)
    facts.append(('Training time', str(time), starts))
  return '<dl>%s</dl>\n' % ''.join(
    '<div><dt>%s</dt><dd><b>%s</b> %s</dd></div>' % fact for fact in facts
  )


def _curves(run, throughput):
  """The charts; those without a point are left out."""

  rate, loss, raw, entropy = (
    events.curve(run.files, tag)
    for tag in (
      'learning_rate',
      'losses/total_loss',
      'losses/total_loss_raw',
      'losses/cross_entropy',
    )
  )
  # Averages begin at 0, which is none.
  loss, entropy = ([p for p in c if p.value] for c in (loss, entropy))
  losses = [
    ('total, raw', raw, 'faint'),
    ('cross entropy', charts.smooth(entropy), 'second'),
    ('total', charts.smooth(loss), 'main'),
  ]
  # Chance, before the first step, would press the rest to the upper edge.
  precisions = [p for p in run.precisions if p.step] or run.precisions
  precisions = [p._replace(value=100 * p.value) for p in precisions]
  throughputs = [
    ('between summaries', throughput, 'faint'),
    ('median', charts.smooth(throughput), 'main'),
  ]
  drawn = [
    '<div class="chart">%s</div>\n' % charts.lines(title, curves, **options)
    for title, curves, options in (
      ('Loss', losses, {'log': True}),
      ('Precision @ 1, %', [('', precisions, 'main')], {}),
      ('Learning rate', [('', rate, 'main')], {'log': True}),
      ('Images a second', throughputs, {'low': 0}),
    )
    if curves[0][1]
  ]
  return '<div class="charts">%s</div>\n' % ''.join(drawn)


def _confusion(answers):
  """What is taken for what: a matrix, and the most frequent mistakes."""
  counts, classes = answers.confusion, answers.classes
  shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
  if len(classes) <= _MATRIX_CLASSES:
    rows = [
      [escape(name)]
      + [
        _shaded('{:,}'.format(count), share, 'right' if i == j else 'wrong')
        for j, (count, share) in enumerate(zip(counts[i], shares[i]))
      ]
      for i, name in enumerate(classes)
    ]
    names = ['<span>%s</span>' % escape(name) for name in classes]
    matrix = _table([''] + names, rows, 'matrix')
  else:
    # The share as the opacity of a blue that is seen on black and on white.
    pixels = np.full(counts.shape + (4,), (64, 128, 255, 0), np.uint8)
    pixels[..., 3] = 255 * np.sqrt(shares)  # So that a few are seen too.
    matrix = '<img class="matrix" src="%s" alt="Confusion matrix"/>' % (
      charts.picture(pixels)
    )
  return _section(
    'What is taken for what',
    '<p>Each row is a right class, each column an answer.</p>' + matrix,
  )


def _mistakes(answers):
  """The pairs of classes that are mistaken most often."""
  counts, classes = answers.confusion, answers.classes
  rows = [
    (
      escape(classes[label]),
      escape(classes[answer]),
      '{:,}'.format(count),
      _percent(count / counts[label].sum()),
    )
    for label, answer, count in confusion.frequent_mistakes(counts, _MISTAKES)
  ]
  return _section(
    'The most frequent mistakes',
    _table(('Right class', 'Answer', 'Images', 'Of the class'), rows),
  )


def _classes(answers):
  """Precision and recall of each class."""
  rows = [
    (
      escape(name),
      '{:,}'.format(images),
      _shaded(_percent(precision), precision, 'bar'),
      _shaded(_percent(recall), recall, 'bar'),
    )
    for name, images, precision, recall in zip(
      answers.classes,
      answers.confusion.sum(axis=1),
      *confusion.precision_and_recall(answers.confusion),
    )
  ]
  return _section(
    'Class by class',
    '<p>Precision: how many answers that name the class are right. Recall: '
    'how many images of the class are answered so.</p>'
    + _table(('Class', 'Images', 'Precision', 'Recall'), rows),
  )


def _pictures(answers):
  """The test images that are answered wrong with most confidence."""
  figures = [
    '<figure><img src="%s" alt="Test image %d"/>'
    '<figcaption>%s<br/><b>%s</b> %s</figcaption></figure>\n'
    % (
      charts.picture(answers.images[i]),
      i,
      escape(answers.classes[answers.labels[i]]),
      escape(answers.classes[answers.answers[i]]),
      _percent(answers.confidences[i]),
    )
    for i in answers.most_confidently_wrong(_PICTURES)
  ]
  return _section(
    'Most confidently wrong',
    '<p>Below each test image its right class, and then the answer and its '
    'probability.</p><div class="pictures">%s</div>' % ''.join(figures),
  )


def _filters(filters):
  """The weights of conv1 as pictures."""
  # Zero is a middle grey, and the strongest weight of each filter full.
  strongest = np.maximum(1e-12, np.abs(filters).max(axis=(0, 1, 2)))
  scaled = np.round(127.5 * (1 + filters / strongest)).astype(np.uint8)
  images = [
    '<img src="%s" alt=""/>' % charts.picture(scaled[..., i])
    for i in range(scaled.shape[3])
  ]
  return _section(
    'Filters of the first layer',
    '<p>The weights of conv1, each filter scaled by itself; grey is zero.</p>'
    '<div class="filters">%s</div>' % ''.join(images),
  )


def _settings(config):
  """All settings of the run, those that are not the defaults first."""
  changed, others = [], []
  for field in dataclasses.fields(Config):
    value = escape(str(getattr(config, field.name)))
    default = escape(str(field.default))
    if value == default:
      others.append((field.name, value, default))
    else:
      changed.append((field.name, '<b>%s</b>' % value, default))
  rows = changed + others
  return _section('Settings', _table(('', 'Here', 'Default'), rows, 'settings'))


def _section(title, body):
  return '<section>\n<h2>%s</h2>\n%s\n</section>\n' % (title, body)


def _table(head, rows, kind=''):
  """A table of HTML texts; the first of each row is its heading."""
  heads = ''.join('<th scope="col">%s</th>' % text for text in head)
  body = ''
  for name, *texts in rows:
    cells = ''.join('<td>%s</td>' % text for text in texts)
    body += '<tr><th scope="row">%s</th>%s</tr>\n' % (name, cells)
  return (
    '<div class="scroll" tabindex="0"><table class="%s"><thead><tr>%s</tr>'
    '</thead>\n<tbody>%s</tbody></table></div>\n' % (kind, heads, body)
  )


def _shaded(text, share, kind):
  """Text that the style sheet shades by a share; NaN is no share."""
  share = np.nan_to_num(share)
  return '<i class="%s" style="--share:%.3f">%s</i>' % (kind, share, text)


def _percent(share, digits=1):
  """A share as 86.5 %."""
  if np.isnan(share):
    return '–'
  return '%.*f\u00a0%%' % (digits, 100 * share)
