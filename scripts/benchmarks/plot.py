#!/usr/bin/env python
"""Draws what benchmark.py and precision_curve.py have measured, as PNG.

    python scripts/benchmarks/plot.py benchmark.json
    python scripts/benchmarks/plot.py bfloat16.json float32.json --out=both.png

Takes one file of benchmark.py, or any number of files of precision_curve.py,
which it draws together. Needs the extra `.[report]`.
"""

import os
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.errors import UserError
from cifar10.tools.report import charts
from cifar10.util import arguments
from cifar10.util import files
from cifar10.util import optional_packages


def new_figure(width, height):
  """An empty matplotlib Figure; width and height are in inches."""
  figure = optional_packages.need('matplotlib.figure', 'report',
                                  'charts are drawn with matplotlib')
  return figure.Figure(figsize=(width, height))


def draw_benchmark(result):
  """Draws the ratios of all rows as bars; returns the figure."""
  rows = [row for row in result['rows'] if row['form'] != row['baseline']]
  figure = new_figure(9, 1.2 + 0.25 * len(rows))
  axes = figure.subplots()
  for y, row in enumerate(rows):
    ratio = row['ratio']
    spread = [[ratio - row['lowest']], [row['highest'] - ratio]]
    color = 'tab:orange' if 'bfloat16' in row['form'] else 'tab:blue'
    axes.barh(y, ratio, xerr=spread, color=color, ecolor='0.4')
    axes.text(row['highest'], y, f' {ratio:.2f}', va='center')
  names = ['{what}: {form}'.format(**row) for row in rows]
  axes.set_yticks(range(len(rows)), names)
  axes.axvline(1, color='black', linewidth=1)
  axes.invert_yaxis()
  axes.margins(x=0.1, y=0.01)
  axes.set_xlabel(
      'times as good as the baseline (classical; for conv2, direct; for '
      'towers, one device):\nmedian and range')
  axes.set_title('{processor}, {cores} cores'.format(**result['machine']))
  return figure


def draw_curves(results):
  """Draws precision against steps and against minutes; returns the figure."""
  figure = new_figure(10, 4.2)
  both = figure.subplots(1, 2, sharey=True)
  for index, result in enumerate(results):
    points = result['points']
    for kind, style in (('averaged', '-'), ('plain', ':')):
      precisions = [100 * p[kind] / result['total'] for p in points]
      for axes, unit in zip(both, ('step', 'minutes')):
        if unit not in points[0]:
          continue
        axes.plot([point[unit] for point in points], precisions, style,
                  color=f'C{index}', label=f'{result["precision"]}, {kind}')
  for axes, unit in zip(both, ('steps', 'minutes')):
    axes.set_xlabel(unit)
    axes.set_ylim(bottom=60)
    axes.grid(alpha=0.3)
  both[0].set_ylabel('precision @ 1, %')
  both[0].legend(loc='lower right')
  return figure


def draw(paths, out):
  """Draws the results in the files at `paths` into the PNG file `out`.

  Raises UserError if matplotlib is not installed, or a file holds no results.
  """
  results = [files.read_json(path) for path in paths]
  for path, result in zip(paths, results):
    if result is None:
      raise UserError(f'{path}: no such file')
    if ('rows' in result) + ('points' in result) != 1:
      raise UserError(
          f'{path}: expected results of benchmark.py or precision_curve.py')
  if all('points' in result for result in results):
    figure = draw_curves(results)
  elif len(results) == 1:
    figure = draw_benchmark(results[0])
  else:
    raise UserError('results of benchmark.py are drawn one file at a time')
  figure.tight_layout()
  charts.save_png(figure, out, bbox_inches=None)


def main():
  """Reads the flags and draws."""
  parser = arguments.Parser(__doc__)
  parser.add_argument('results', nargs='+', help='files of JSON')
  parser.add_argument(
      '--out', help='the PNG file to write (default: beside the first file)')
  parser.run(lambda args: draw(
      args.results, args.out or os.path.splitext(args.results[0])[0] + '.png'))


if __name__ == '__main__':
  main()
