#!/usr/bin/env python
"""Trains variants of the model for equal steps, and compares them.

    python scripts/benchmarks/compare.py \\
        scripts/benchmarks/experiments/techniques.json \\
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

--time_rounds=3 measures the time of a step instead, three times for each
variant, in turns with the default. Nothing else should run meanwhile.
"""

import argparse
from concurrent import futures
import hashlib
import json
import os
from pathlib import Path
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.errors import UserError
from cifar10.util import files
import comparison
import plot

_ROOT = Path(__file__).resolve().parents[2]
_TRAIN = str(_ROOT / 'cifar10' / 'cifar10_train.py')
_CURVE = str(_ROOT / 'scripts' / 'benchmarks' / 'precision_curve.py')
_POINTS = 5  # Checkpoints of a run to evaluate.
_TAIL = 500  # How many of the last steps the mean loss is taken over.
_TIMED_STEPS = 100
_PER_DEFAULT = 4  # Variants that are timed after each turn of the default.


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
    variants = {comparison.DEFAULT: []}
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
  flags = comparison.all_flags(name, experiments)
  steps = comparison.steps_of(name, experiments)
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
    error = _call(arguments)
    if error:
      return dict(result, error=error)
  found = files.read_json(curve)
  with open(metrics) as lines:
    rows = [json.loads(line) for line in lines]
  end = experiments['steps']
  losses = [r['loss'] for r in rows if end - _TAIL <= r['step'] < end]
  return dict(
    result,
    points=found['points'],
    total=found['total'],
    loss=statistics.mean(losses),
  )


def _call(arguments):
  """Runs a script; returns the last line of its errors, None if it succeeds."""
  process = subprocess.run(
    [sys.executable] + arguments,
    check=False,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.PIPE,
    universal_newlines=True,
  )
  if not process.returncode:
    return None
  return (process.stderr.strip().splitlines() or ['no message'])[-1]


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
    for name in experiments['variants']
    if (
      name,
      seed,
      tuple(comparison.all_flags(name, experiments)),
      comparison.steps_of(name, experiments),
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
            result.get('error')
            or comparison.percent(comparison.last(result, experiments)),
          ),
          file=sys.stderr,
        )
    finally:
      for future in waiting:
        future.cancel()


def time_all(experiments, times, rounds, save):
  """Measures how long a step of each variant takes, in turns with the default.

  Args:
    experiments: from `load_experiments`.
    times: list of dicts with the 'flags' of a variant and 'ratio', the time of
      a step as a multiple of the default's, to which new ones are added.
    rounds: how many ratios to find for each variant.
    save: function that writes the times.

  Raises:
    UserError: the default cannot be trained.
  """
  variants = [
    comparison.all_flags(name, experiments) for name in experiments['variants']
  ]
  for count in range(1, rounds + 1):
    missing = [
      flags
      for flags in variants
      if sum(t['flags'] == flags for t in times) < count
    ]
    for index, flags in enumerate(missing):
      if index % _PER_DEFAULT == 0:
        default = _speed(experiments['flags'])
        if not default:
          raise UserError('%s: fails' % _TRAIN)
      speed = _speed(flags)
      if speed:
        times.append({'flags': flags, 'ratio': default / speed})
        save()


def _speed(flags):
  """Examples per second with some flags, the median; None if they fail."""
  with tempfile.TemporaryDirectory() as folder:
    metrics = os.path.join(folder, 'metrics.jsonl')
    command = [
      _TRAIN,
      '--max_steps=%d' % _TIMED_STEPS,
      '--train_dir=' + os.path.join(folder, 'train'),
      '--metrics=' + metrics,
    ]
    if _call(command + flags):
      return None
    with open(metrics) as lines:
      speeds = [json.loads(line)['examples_per_sec'] for line in lines]
  return statistics.median(speeds[1:])


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
  parser.add_argument(
    '--time_rounds',
    type=int,
    default=0,
    help='how many times to measure the step time of each variant, instead of '
    'training; 0: train (default %(default)s)',
  )
  args = parser.parse_args()
  if args.jobs < 1:
    parser.error('--jobs: expected at least 1')
  try:
    experiments = load_experiments(args.experiments)
    found = files.read_json(args.out) or {}
    results, times = found.get('results', []), found.get('times', [])

    def save():
      files.write_json(args.out, {'results': results, 'times': times})

    if args.time_rounds:
      time_all(experiments, times, args.time_rounds, save)
    else:
      run_all(experiments, results, args.runs, args.jobs, save)
    rows = comparison.compared(experiments, results, times)
    print(comparison.table(rows))
    path = os.path.splitext(args.out)[0] + '.png'
    plot.save(comparison.draw(rows), path)
  except (UserError, OSError) as error:
    sys.exit('compare: error: %s' % error)
  except KeyboardInterrupt:
    sys.exit('compare: stopped; started again, it goes on from here')


if __name__ == '__main__':
  main()
