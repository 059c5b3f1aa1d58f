#!/usr/bin/env python
"""Trains variants of the model for equal steps, and compares them.

    python scripts/benchmarks/compare.py scripts/benchmarks/techniques.json \\
        --out=docs/results/techniques.json

The experiments are a JSON object:

    {"steps": 5000,                            of each variant
     "seeds": [1, 2, 3],                       one run of each variant for each
     "flags": ["--dataset=sample"],            of all runs; may be left out
     "variants": {"adam": ["--optimizer=adam"], ...}}

The variant `default`, without flags, joins by itself, and runs for twice as
many steps, so that others can be compared with it at equal time too. Results
are written after each run: started again, it goes on where it was stopped.
Prints a table in Markdown, and draws the precisions next to --out.
"""

import argparse
from concurrent import futures
import hashlib
import io
import json
import os
from pathlib import Path
import statistics
import subprocess
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.errors import UserError
from cifar10.util import files
import plot

DEFAULT = 'default'

_ROOT = Path(__file__).resolve().parents[2]
_TRAIN = str(_ROOT / 'cifar10' / 'cifar10_train.py')
_CURVE = str(_ROOT / 'scripts' / 'benchmarks' / 'precision_curve.py')
_POINTS = 5  # Checkpoints of a run to evaluate.
_TAIL = 500  # How many of the last steps the mean loss is taken over.


def load_experiments(path):
  """Reads the file of experiments.

  Returns:
    dict with 'steps', 'seeds', 'flags' and 'variants', a dict of lists of
    flags.

  Raises:
    UserError: it is missing or something else.
  """
  found = files.read_json(path)
  if found is None:
    raise UserError('%s: no such file' % path)
  try:
    steps, seeds = int(found['steps']), [int(seed) for seed in found['seeds']]
    variants = {DEFAULT: []}
    for name, flags in found['variants'].items():
      variants[name] = [str(flag) for flag in flags]
    if steps < _POINTS or steps % _POINTS or not seeds:
      raise ValueError('steps=%d, seeds=%s' % (steps, seeds))
  except (AttributeError, KeyError, TypeError, ValueError) as error:
    raise UserError(
      '%s: %r; expected steps, a multiple of %d, seeds and variants'
      % (path, error, _POINTS)
    ) from error
  return {
    'steps': steps,
    'seeds': seeds,
    'flags': list(found.get('flags', ())),
    'variants': variants,
  }


def steps_of(name, experiments):
  """How many steps a variant is trained for."""
  return experiments['steps'] * (2 if name == DEFAULT else 1)


def run(name, seed, experiments, folder, threads):
  """Trains and evaluates a variant with a seed.

  Args:
    name: name of the variant.
    seed: int.
    experiments: from `load_experiments`.
    folder: where runs are kept.
    threads: how many threads it may use; 0: one per core.

  Returns:
    A dict for JSON: what was run, and what it gave, or its error.
  """
  flags = experiments['flags'] + experiments['variants'][name]
  steps = steps_of(name, experiments)
  # Other flags or steps are another run.
  text = json.dumps([flags, steps]).encode('utf-8')
  kind = hashlib.sha256(text).hexdigest()[:8]
  directory = os.path.join(folder, '%s-%d-%s' % (name, seed, kind))
  metrics = os.path.join(directory, 'metrics.jsonl')
  command = [
    '--seed=%d' % seed,
    '--max_steps=%d' % steps,
    '--save_secs=0',
    '--save_steps=%d' % (experiments['steps'] // _POINTS),
    '--train_dir=' + directory,
    '--metrics=' + metrics,
    '--intra_op_threads=%d' % threads,
    '--inter_op_threads=%d' % threads,
  ]
  result = {'name': name, 'seed': seed, 'flags': flags, 'steps': steps}
  os.makedirs(directory, exist_ok=True)
  curve = os.path.join(directory, 'curve.json')
  every = '--every=%d' % (experiments['steps'] // _POINTS)
  for arguments in (
    [_TRAIN] + command + flags,
    [_CURVE, directory, every, '--out=' + curve],
  ):
    process = subprocess.run(
      [sys.executable] + arguments,
      check=False,
      stdout=subprocess.DEVNULL,
      stderr=subprocess.PIPE,
      universal_newlines=True,
    )
    if process.returncode:
      lines = process.stderr.strip().splitlines() or ['no message']
      return dict(result, error=lines[-1])
  found = files.read_json(curve)
  with open(metrics) as lines:
    rows = [json.loads(line) for line in lines]
  speeds = [row['examples_per_sec'] for row in rows]
  end = experiments['steps']
  losses = [r['loss'] for r in rows if end - _TAIL <= r['step'] < end]
  return dict(
    result,
    points=found['points'],
    total=found['total'],
    loss=statistics.mean(losses),
    seconds_per_step=found['batch_size'] / statistics.median(speeds),
  )


def run_all(experiments, results, folder, jobs, save):
  """Runs what has no result yet.

  Args:
    experiments: from `load_experiments`.
    results: list of dicts from `run`, to which new ones are added.
    folder: where runs are kept.
    jobs: how many to run at a time.
    save: function that writes the results.
  """
  done = {
    (r['name'], r['seed'], tuple(r['flags']), r['steps']) for r in results
  }
  missing = [
    (name, seed)
    for seed in experiments['seeds']
    for name, flags in experiments['variants'].items()
    if (
      name,
      seed,
      tuple(experiments['flags'] + flags),
      steps_of(name, experiments),
    )
    not in done
  ]
  threads = 0 if jobs == 1 else max(1, (os.cpu_count() or 1) // jobs)
  with futures.ThreadPoolExecutor(jobs) as pool:
    waiting = {
      pool.submit(run, name, seed, experiments, folder, threads)
      for name, seed in missing
    }
    try:
      for future in futures.as_completed(waiting):
        result = future.result()
        results.append(result)
        save()
        print(
          '%s, seed %d: %s'
          % (
            result['name'],
            result['seed'],
            result.get('error') or _percent(last(result, experiments)),
          ),
          file=sys.stderr,
        )
    finally:
      for future in waiting:
        future.cancel()


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


def compared(experiments, results):
  """One row for each variant that has a result.

  Args:
    experiments: from `load_experiments`.
    results: list of dicts from `run`.

  Returns:
    A list of dicts: 'name', 'flags', 'runs', 'errors', and the means over the
    runs: 'averaged', 'plain', precisions; 'lowest', 'highest'; 'loss';
    'at_steps', 'at_time', the averaged precision less that of the default after
    equal steps and in equal time; 'time', of a step, as a multiple of the
    default's.
  """
  by_name = {name: [] for name in experiments['variants']}
  errors = {name: [] for name in by_name}
  for result in results:
    name = result['name']
    flags = experiments['variants'].get(name)
    if flags is None or result['steps'] != steps_of(name, experiments):
      continue
    if result['flags'] == experiments['flags'] + flags:
      kind = errors if 'error' in result else by_name
      kind[result['name']].append(result)
  defaults = {result['seed']: result for result in by_name[DEFAULT]}
  rows = []
  for name, found in by_name.items():
    row = {
      'name': name,
      'flags': experiments['variants'][name],
      'runs': len(found),
      'errors': [result['error'] for result in errors[name]],
    }
    precisions = [last(result, experiments) for result in found]
    if found:
      row.update(
        averaged=statistics.mean(precisions),
        lowest=min(precisions),
        highest=max(precisions),
        plain=statistics.mean(last(r, experiments, 'plain') for r in found),
        loss=statistics.mean(r['loss'] for r in found),
      )
    pairs = [(r, defaults[r['seed']]) for r in found if r['seed'] in defaults]
    if pairs:
      times = [r['seconds_per_step'] / d['seconds_per_step'] for r, d in pairs]
      row['time'] = statistics.median(times)
      steps = experiments['steps']
      for column, step in (
        ('at_steps', steps),
        ('at_time', steps * row['time']),
      ):
        row[column] = statistics.mean(
          last(r, experiments) - precision_at(d, step) for r, d in pairs
        )
    rows.append(row)
  return [row for row in rows if row['runs'] or row['errors']]


def _percent(share):
  return '%.1f %%' % (100 * share)


def table(rows):
  """The rows as a table in Markdown, a str."""
  lines = [
    '| variant | flags | runs | averaged | range | plain | loss | time a step '
    '| at equal steps | at equal time |',
    '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|',
  ]
  for row in rows:
    cells = [row['name'], ' '.join('`%s`' % flag for flag in row['flags'])]
    cells.append('%d' % (row['runs'] + len(row['errors'])))
    if row['runs']:
      cells.append(_percent(row['averaged']))
      cells.append('%.1f to %.1f' % (100 * row['lowest'], 100 * row['highest']))
      cells += [_percent(row['plain']), '%.2f' % row['loss']]
    else:
      cells += [row['errors'][0]] + [''] * 3
    if 'time' in row:
      cells.append('%.2f' % row['time'])
      cells += ['%+.1f' % (100 * row[key]) for key in ('at_steps', 'at_time')]
    else:
      cells += [''] * 3
    lines.append('| %s |' % ' | '.join(cells))
  return '\n'.join(lines)


def draw(rows):
  """Draws the precision of each variant with its range; returns the figure."""
  rows = [row for row in rows if row['runs']]
  figure = plot.new_figure(8, 1 + 0.22 * len(rows))
  axes = figure.subplots()
  for y, row in enumerate(rows):
    axes.plot([100 * row['lowest'], 100 * row['highest']], [y, y], color='0.6')
    axes.plot(100 * row['averaged'], y, 'o', color='tab:blue')
    axes.plot(100 * row['plain'], y, '|', color='tab:orange')
    if row['name'] == DEFAULT:
      axes.axvline(100 * row['averaged'], color='black', linewidth=0.8)
  axes.set_yticks(range(len(rows)), [row['name'] for row in rows])
  axes.invert_yaxis()
  axes.margins(y=0.02)
  axes.set_xlabel(
    'precision @ 1 in %: averaged variables (dots, with their range) and '
    'plain ones (strokes)'
  )
  return figure


def main():
  """Reads the flags, runs, and reports."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('experiments', help='the JSON file of experiments')
  parser.add_argument('--out', required=True, help='the JSON file of results')
  parser.add_argument(
    '--runs',
    default='/tmp/cifar10_compare',
    help='folder of the runs (default %(default)s)',
  )
  parser.add_argument(
    '--jobs',
    type=int,
    default=1,
    help='runs at a time, which share the cores (default %(default)s)',
  )
  args = parser.parse_args()
  if args.jobs < 1:
    parser.error('--jobs: expected at least 1')
  try:
    experiments = load_experiments(args.experiments)
    results = (files.read_json(args.out) or {'results': []})['results']

    def save():
      text = json.dumps({'results': results}, indent=1) + '\n'
      files.write_atomically(args.out, text.encode('utf-8'))

    run_all(experiments, results, args.runs, args.jobs, save)
    rows = compared(experiments, results)
    print(table(rows))
    chart = io.BytesIO()
    draw(rows).savefig(chart, format='png', dpi=100, bbox_inches='tight')
    path = os.path.splitext(args.out)[0] + '.png'
    files.write_atomically(path, chart.getvalue())
  except (UserError, OSError) as error:
    sys.exit('compare: error: %s' % error)
  except KeyboardInterrupt:
    sys.exit('compare: stopped; started again, it goes on from here')


if __name__ == '__main__':
  main()
