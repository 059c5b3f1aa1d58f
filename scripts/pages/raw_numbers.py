"""Numbers from the raw files in docs/results and from tables of programs."""

import functools
import json
from pathlib import Path
import re
from statistics import mean
from statistics import median
import sys

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / 'scripts' / 'benchmarks'
sys.path[:0] = [str(ROOT), str(BENCHMARKS)]

import compare
import comparison
import tuning

NUMBER = re.compile(r'(`[^`]*`|\]\([^)]*\))|(?<![\w.])[+-]?[\d,]*\.?\d+')


@functools.lru_cache(maxsize=None)
def read(name):
  """The content of a JSON file of docs/results."""
  path = ROOT / 'docs' / 'results' / f'{name}.json'
  return json.loads(path.read_text(encoding='utf-8'))


def percents(counts, total=10000):
  """Shares of `total` in percent, a list."""
  return [100 * count / total for count in counts]


def spread(values):
  """The mean and the range of several runs; of one run, its value."""
  return [mean(values), min(values), max(values)] if values[1:] else values


def times_as_fast(ours, theirs):
  """The median and the range of the ratios of all rounds."""
  found = [x / y for x, y in zip(ours, theirs)]
  return [median(found), min(found), max(found)]


def ratios(name, what, form):
  """The ratio of a row of benchmark.py, and its range."""
  (row,) = [
      row for row in read(name)['rows']
      if (row['what'], row['form']) == (what, form)
  ]
  return [row[key] for key in ('ratio', 'lowest', 'highest')]


def rates(name, what='training, batch 128'):
  """The values of all rounds of a measurement, a list by form."""
  return {
      row['form']: row['values']
      for row in read(name)['rows']
      if row['what'] == what
  }


def evaluated(run):
  """The precision of a run of repeat.py, and with --tta, in percent."""
  return percents(e['correct'] for e in run['evaluations'][:2])


def runs(name):
  """The precisions of compare.py by variant and step, a list over the seeds."""
  found = {}
  for result in read(name)['results']:
    for point in result.get('points', ()):
      share = 100 * point['averaged'] / result['total']
      found.setdefault((result['name'], point['step']), []).append(share)
  return found


def compared():
  """The rows of the comparison of techniques, by name."""
  rows = comparison.compared_in(read('techniques'))
  return {row['name']: row for row in rows}


def compared_when_tuned():
  """The rows of the comparison of tuned techniques, by name."""
  experiments = compare.load_experiments(
      str(BENCHMARKS / 'experiments' / 'tuning.json'))
  found = read('tuning')
  rows = tuning.compared(tuning.comparison_of(experiments, found), found,
                         read('techniques'))
  return {row['name']: row for row in rows}


def numbers(text):
  """The numbers in a text, without those in code and links, as text."""
  return [m.group() for m in NUMBER.finditer(text) if not m.group(1)]


def printed(table):
  """The numbers of a table in Markdown that a program prints, as text."""
  return [
      numbers(row.split('|', 2)[2])
      for row in table.splitlines()
      if row.startswith('| ')
  ][1:]


def printed_by_flags(rows, table):
  """As `printed`, by the flags of the rows."""
  return {
      ' '.join(row['flags']): numbers
      for row, numbers in zip(rows, printed(table(rows)))
  }
