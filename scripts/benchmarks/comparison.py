"""The results of a comparison of variants: rows, a table and a chart."""

import math
import re
import statistics

from cifar10.errors import DivergedError
from cifar10.tools import variants
from cifar10.tools.report import charts
import numpy as np

DEFAULT = 'default'

_SHOWN = 6  # Points below the default that the chart shows.


def variant(name, experiments, **seed):
  """A variant, or with `seed` one run of it, as variants.Runner takes it.

  A dict. Its 'flags' are its own and those of all runs; the default takes twice
  as many 'steps' as the others.
  """
  return {
      'name': name,
      **seed, 'flags': experiments['flags'] + experiments['variants'][name],
      'steps': experiments['steps'] * (2 if name == DEFAULT else 1)
  }


def precision_at(result, step, kind='averaged'):
  """The precision of a result at a step, between its checkpoints."""
  steps, right = zip(*((p['step'], p[kind]) for p in result['points']))
  return float(np.interp(step, steps, np.divide(right, result['total'])))


def compared(experiments, results, times):
  """One row for each variant that has a result.

  Args:
    experiments: from `compare.load_experiments`.
    results: list of dicts, each a `variant` with a seed, and what `compare.run`
      returns.
    times: list of dicts from `compare.time_all`.

  Returns:
    A list of dicts: 'name', 'flags', 'runs', 'errors', and the means over the
    runs: 'averaged', 'plain', precisions; 'lowest', 'highest'; 'loss';
    'at_steps', 'at_half', 'at_time', the averaged precision less that of the
    default after equal steps, half as many, and in equal time; 'spread', the
    least and the most of the first one; 'time', of a step, as a multiple of the
    default's, if it was measured and the variant does not always diverge.
  """
  rows, defaults, end = [], {}, experiments['steps']
  for name, flags in experiments['variants'].items():
    wanted = variant(name, experiments)
    own = variants.results_of(wanted, results)
    found = [result for result in own if 'error' not in result]
    if name == DEFAULT:
      defaults = {result['seed']: result for result in found}
    timed = variants.results_of({'flags': wanted['flags']}, times)
    if own or timed:
      errors = [result['error'] for result in own if 'error' in result]
      row = {'name': name, 'flags': flags, 'runs': len(found), 'errors': errors}
      if timed and name != DEFAULT and (found or not errors):
        row['time'] = statistics.median(time['ratio'] for time in timed)
      row.update(_means(found, end))
      row.update(_differences(found, defaults, end, row.get('time')))
      rows.append(row)
  return rows


def compared_in(found):
  """The rows of a file of compare.py, from its content alone, a dict."""
  results = found['results']
  steps = min((result['steps'] for result in results), default=0)
  flags = {DEFAULT: []}  # First: the others are compared with it.
  flags.update((result['name'], result['flags']) for result in results)
  experiments = {'flags': [], 'steps': steps, 'variants': flags}
  return compared(experiments, results, found.get('times', []))


def _means(found, end):
  """The columns of a row that need no run of the default."""
  if not found:
    return {}
  precisions = [precision_at(result, end) for result in found]
  plain = [precision_at(result, end, 'plain') for result in found]
  return {
      'averaged': statistics.mean(precisions),
      'plain': statistics.mean(plain),
      'lowest': min(precisions),
      'highest': max(precisions),
      'loss': statistics.mean(result['loss'] for result in found)
  }


def _differences(found, defaults, end, time):
  """The columns of a row that compare it with `defaults`, results by seed."""
  columns = {}
  steps = {'at_steps': (end, end), 'at_half': (end / 2, end / 2)}
  if time:
    steps['at_time'] = end, end * time
  for column, (own, its) in steps.items():
    differences = [
        precision_at(result, own) - precision_at(defaults[result['seed']], its)
        for result in found
        if result['seed'] in defaults
    ]
    if differences:
      columns[column] = statistics.mean(differences)
      columns.setdefault('spread', (min(differences), max(differences)))
  return columns


def percent(share):
  """A share as text."""
  return '%.1f %%' % (100 * share)


def points(difference):
  """A difference in percentage points as text; 0 has no sign."""
  text = f'{100 * difference:+.1f}'
  return text if float(text) else '0.0'


def flags_of(row):
  """The cell with the flags of a row."""
  flags = ' '.join(row['flags'])
  return f'`{flags}`' if flags else ''


def averaged(row):
  """The cell with the precision of a row and its range, or with its error."""
  if not row['runs']:
    (error, *_) = row['errors'] or ['']  # A variant may be timed only.
    step = re.search(r'step \d+', error)
    is_known = step and DivergedError.MARK in error
    return f'diverges at {step.group()}' if is_known else error.split(';')[0]
  if row['runs'] == 1:
    return percent(row['averaged'])
  ends = (100 * row[end] for end in ('lowest', 'highest'))
  return percent(row['averaged']) + ' (%.1f to %.1f)' % tuple(ends)


def gains(row, *columns):
  """The cells of differences; the default has none from itself."""
  return [
      '' if row['name'] == DEFAULT or row.get(column) is None else points(
          row[column]) for column in columns
  ]


def table(rows):
  """The rows as a table in Markdown, a str."""
  heads = ['variant', 'flags', 'averaged', 'plain', 'loss', 'time a step']
  heads += ['at equal steps', 'at equal time']
  cells = [[
      row['name'],
      flags_of(row),
      averaged(row),
      percent(row['plain']) if row['runs'] else '',
      '%.2f' % row['loss'] if row['runs'] else '',
      '%.2f' % row['time'] if 'time' in row else '',
      *gains(row, 'at_steps', 'at_time')
  ] for row in rows]
  return variants.table(heads, cells, right=range(2, len(heads)))


def draw(rows, other='at_time', labels=('equal steps', 'equal time')):
  """Draws the differences of variants from the default; returns the figure.

  The best is at the top. A difference beyond the left edge is there as text,
  and so is a run that has diverged.

  Args:
    rows: from `compared`.
    other: the key of a second difference, drawn as an open dot.
    labels: what the filled and the open dots are.
  """
  rows = sorted(
      (row for row in rows
       if row['name'] != DEFAULT and ('at_steps' in row or row['errors'])),
      key=lambda row: row.get('at_steps', -math.inf), reverse=True)
  figure = charts.new_figure(1 + 0.19 * len(rows))
  axes = figure.subplots()
  for y, row in enumerate(rows):
    _draw_row(axes, y, row, other)
  for face, label in zip(('tab:blue', 'none'), labels):
    axes.plot([], [], 'o', color='tab:blue', markerfacecolor=face, label=label)
  axes.legend(loc='lower right')
  axes.axvline(0, color='black', linewidth=0.8)
  axes.grid(axis='x', alpha=0.3)
  axes.set_xlim(left=-_SHOWN - 0.3)
  axes.set_yticks(range(len(rows)))
  axes.set_yticklabels([row['name'] for row in rows])
  axes.set_ylim(len(rows) - 0.5, -0.5)
  axes.set_xlabel('points of accuracy from the default')
  return figure


def _draw_row(axes, y, row, other):
  """Draws a row of `draw` at `y`."""
  value = 100 * row.get('at_steps', -math.inf)
  if value < -_SHOWN:
    text = f'{value:+.1f}'
    if value == -math.inf:
      is_known = DivergedError.MARK in row['errors'][0]
      text = 'diverges' if is_known else 'fails'
    axes.text(-_SHOWN, y, '  ' + text, va='center', color='tab:blue')
    return
  low, high = (100 * end for end in row['spread'])
  axes.plot([max(low, -_SHOWN), high], [y, y], color='tab:blue', alpha=0.4)
  second = row.get(other)
  if second is not None and 100 * second >= -_SHOWN:
    axes.plot(100 * second, y, 'o', color='tab:blue', markerfacecolor='none')
  axes.plot(value, y, 'o', color='tab:blue')
