"""The results of a comparison of variants: rows, a table and a chart."""

import statistics

from cifar10.tools import variants
import plot

DEFAULT = 'default'

_SHOWN = 0.1  # How far below the median precision the chart goes.


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


def last(result, experiments, kind='averaged'):
  """The precision of a result after the steps of all variants."""
  return precision_at(result, experiments['steps'], kind)


def precision_at(result, step, kind='averaged'):
  """The precision of a result at a step, between its checkpoints."""
  points = [(p['step'], p[kind] / result['total']) for p in result['points']]
  for (first, low), (second, high) in zip(points, points[1:]):
    if first <= step <= second:
      return low + (high - low) * (step - first) / (second - first)
  return points[-1][1]


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
    'at_steps', 'at_time', the averaged precision less that of the default after
    equal steps and in equal time; 'time', of a step, as a multiple of the
    default's, if it was measured.
  """
  by_name, errors = {}, {}
  for name in experiments['variants']:
    own = variants.results_of(variant(name, experiments), results)
    by_name[name] = [result for result in own if 'error' not in result]
    errors[name] = [result['error'] for result in own if 'error' in result]
  defaults = {result['seed']: result for result in by_name[DEFAULT]}
  rows = []
  for name, found in by_name.items():
    flags = {'flags': variant(name, experiments)['flags']}
    ratios = [time['ratio'] for time in variants.results_of(flags, times)]
    if not (found or errors[name] or ratios):
      continue
    row = {
        'name': name,
        'flags': experiments['variants'][name],
        'runs': len(found),
        'errors': errors[name]
    }
    rows.append(row)
    precisions = [last(result, experiments) for result in found]
    if found:
      row.update(
          averaged=statistics.mean(precisions), lowest=min(precisions),
          highest=max(precisions),
          plain=statistics.mean(last(r, experiments, 'plain') for r in found),
          loss=statistics.mean(r['loss'] for r in found))
    steps = {'at_steps': experiments['steps']}
    if ratios:
      row['time'] = statistics.median(ratios)
      steps['at_time'] = experiments['steps'] * row['time']
    pairs = [(r, defaults[r['seed']]) for r in found if r['seed'] in defaults]
    if pairs:
      for column, step in steps.items():
        row[column] = statistics.mean(
            last(r, experiments) - precision_at(d, step) for r, d in pairs)
  return rows


def percent(share):
  """A share as text."""
  return '%.1f %%' % (100 * share)


def table(rows):
  """The rows as a table in Markdown, a str."""
  heads = ['variant', 'flags', 'runs', 'averaged', 'range', 'plain', 'loss']
  heads += ['time a step', 'at equal steps', 'at equal time']
  return variants.table(heads, map(_cells, rows), right=range(2, len(heads)))


def _cells(row):
  """The cells of a row, a list of str."""
  cells = [row['name'], ' '.join(f'`{flag}`' for flag in row['flags'])]
  cells.append(str(row['runs'] + len(row['errors'])))
  if row['runs']:
    cells.append(percent(row['averaged']))
    cells.append('%.1f to %.1f' % (100 * row['lowest'], 100 * row['highest']))
    cells += [percent(row['plain']), '%.2f' % row['loss']]
  else:
    problem = row['errors'][0].split(';')[0] if row['errors'] else ''
    cells += [problem, '', '', '']
  cells.append('%.2f' % row['time'] if 'time' in row else '')
  for key in ('at_steps', 'at_time'):
    cells.append('%+.1f' % (100 * row[key]) if key in row else '')
  return cells


def draw(rows):
  """Draws the precision of each variant with its range; returns the figure.

  The best is at the top. Of those that are far below the others, the left edge
  has the number.
  """
  rows = [row for row in rows if row['runs']]
  rows.sort(key=lambda row: row['averaged'], reverse=True)
  left = 100 * (statistics.median(r['averaged'] for r in rows) - _SHOWN)
  figure = plot.new_figure(8, 1 + 0.22 * len(rows))
  axes = figure.subplots()
  for y, row in enumerate(rows):
    if 100 * row['averaged'] < left:
      text = '  ' + percent(row['averaged'])
      axes.text(left, y, text, va='center', color='tab:blue', fontsize=8)
      continue
    axes.plot([100 * row['lowest'], 100 * row['highest']], [y, y], color='0.6')
    axes.plot(100 * row['averaged'], y, 'o', color='tab:blue')
    axes.plot(100 * row['plain'], y, '|', color='tab:orange')
    if row['name'] == DEFAULT:
      axes.axvline(100 * row['averaged'], color='black', linewidth=0.8)
  axes.set_yticks(range(len(rows)), [row['name'] for row in rows])
  axes.set_ylim(len(rows) - 0.5, -0.5)
  axes.set_xlim(left=left)
  axes.set_xlabel(
      'precision @ 1 in %: averaged variables (dots, with their range) and '
      'plain ones (strokes)')
  return figure
