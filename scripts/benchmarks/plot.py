#!/usr/bin/env python
"""Draws what the scripts beside this one have measured, as PNG.

    python scripts/benchmarks/plot.py benchmark.json             -> benchmark.png
    python scripts/benchmarks/plot.py bfloat16.json float32.json --out=precision.png

Takes one file of benchmark.py, or any number of files of precision_curve.py
to be drawn together. Needs the extra `.[plot]`.
"""

import argparse
import io
import json
import os
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 2))
sys.path.insert(0, ROOT)

from cifar10.util import files
import matplotlib
from matplotlib import pyplot

matplotlib.use('Agg')  # No screen.


def draw_benchmark(result):
  """Draws the ratios of all rows as bars; returns the figure."""
  rows = [row for row in result['rows'] if row['form'] != row['baseline']]
  figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.25 * len(rows)))
  for y, row in enumerate(rows):
    spread = [
      [row['ratio'] - row['lowest']],
      [row['highest'] - row['ratio']],
    ]
    color = 'tab:orange' if row['form'] == 'bfloat16' else 'tab:blue'
    axes.barh(y, row['ratio'], xerr=spread, color=color, ecolor='0.4')
    axes.text(row['highest'], y, ' %.2f' % row['ratio'], va='center')
  axes.set_yticks(
    range(len(rows)), ['%s: %s' % (row['what'], row['form']) for row in rows]
  )
  axes.axvline(1, color='black', linewidth=1)
  axes.invert_yaxis()
  axes.margins(x=0.1, y=0.01)
  axes.set_xlabel(
    'times as good as the baseline (classical; for towers, one device): '
    'median and range'
  )
  axes.set_title('{processor}, {cores} cores'.format(**result['machine']))
  return figure


def draw_curves(results):
  """Draws precision against steps and against minutes; returns the figure."""
  figure, both = pyplot.subplots(1, 2, figsize=(10, 4.2), sharey=True)
  for index, result in enumerate(results):
    points = result['points']
    for kind, style in (('averaged', '-'), ('plain', ':')):
      precisions = [100 * p[kind] / result['total'] for p in points]
      for axes, unit in zip(both, ('step', 'minutes')):
        if unit not in points[0]:
          continue
        axes.plot(
          [point[unit] for point in points],
          precisions,
          style,
          color='C%d' % index,
          label='%s, %s' % (result['precision'], kind),
        )
  for axes, unit in zip(both, ('steps', 'minutes')):
    axes.set_xlabel(unit)
    axes.set_ylim(bottom=60)
    axes.grid(alpha=0.3)
  both[0].set_ylabel('precision @ 1, %')
  both[0].legend(loc='lower right')
  return figure


def main():
  """Reads the files and draws them."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('results', nargs='+', help='files of JSON')
  parser.add_argument('--out', help='the PNG; default: beside the first file')
  args = parser.parse_args()
  results = []
  for path in args.results:
    with open(path, encoding='utf-8') as file:
      results.append(json.load(file))
  if 'rows' in results[0]:
    figure = draw_benchmark(results[0])
  else:
    figure = draw_curves(results)
  figure.tight_layout()
  png = io.BytesIO()
  figure.savefig(png, format='png', dpi=100)
  path = args.out or os.path.splitext(args.results[0])[0] + '.png'
  files.write_atomically(path, png.getvalue())


if __name__ == '__main__':
  main()
