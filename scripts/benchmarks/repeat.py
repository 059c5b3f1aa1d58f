#!/usr/bin/env python
"""Trains and evaluates a recipe again and again, with seeds of its own.

    python scripts/benchmarks/repeat.py --recipe=fast --out=fast.json

Prints the precision @ 1 on the test images, with and without --tta, and the
minutes of each run. Results are written after each run: started again, it goes
on where it was stopped. Nothing else should run meanwhile.
"""

import argparse
import json
import os
from pathlib import Path
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import settings as settings_lib
from cifar10.run import recipes
from cifar10.errors import UserError
from cifar10.util import files

_PROGRAMS = Path(__file__).resolve().parents[2] / 'cifar10'


def run(recipe, seed, folder):
  """Trains with a seed, and evaluates the last checkpoint.

  Args:
    recipe: name of the recipe.
    seed: int.
    folder: where the run is kept.

  Returns:
    A dict for JSON: minutes of each part, and the evaluations.
  """
  directory = os.path.join(folder, '%s-%d' % (recipe, seed))
  metrics = os.path.join(folder, '%s-%d.jsonl' % (recipe, seed))
  if os.path.exists(metrics):  # Of a run that was stopped.
    os.remove(metrics)
  started = time.time()
  call(
    'cifar10_train.py',
    '--recipe=' + recipe,
    '--seed=%d' % seed,
    '--train_dir=' + directory,
    '--metrics=' + metrics,
    '--overwrite',
  )
  trained = time.time()
  with open(metrics) as lines:
    first = json.loads(next(lines))
  result = {
    'seed': seed,
    'minutes to first step': (first['time'] - started) / 60,
    'minutes of training': (trained - started) / 60,
    'evaluations': [],
  }
  for flags in ([], ['--tta']):
    began = time.time()
    line = call(
      'cifar10_eval.py',
      '--checkpoint_dir=' + directory,
      '--eval_dir=' + os.path.join(folder, 'eval'),
      '--run_once',
      '--json',
      *flags,
    )
    found = dict(json.loads(line), minutes=(time.time() - began) / 60)
    result['evaluations'].append(found)
  return result


def call(program, *flags):
  """Runs a program; returns its last line.

  Raises:
    UserError: it fails; its own error is on the console.
  """
  process = subprocess.run(
    [sys.executable, str(_PROGRAMS / program), *flags],
    check=False,
    stdout=subprocess.PIPE,
    universal_newlines=True,
  )
  if process.returncode:
    raise UserError('%s ended with status %d' % (program, process.returncode))
  return process.stdout.strip().splitlines()[-1]


def show(result):
  """Prints the line of a run."""
  plain, tta = result['evaluations']
  print(
    'seed %d: %.2f %%, with --tta %.2f %%, %.1f minutes of training'
    % (
      result['seed'],
      100 * plain['precision @ 1'],
      100 * tta['precision @ 1'],
      result['minutes of training'],
    ),
    flush=True,
  )


def summarize(results):
  """Prints mean and standard deviation over all runs."""
  for name, values in (
    ('precision @ 1', [percent(r, 0) for r in results]),
    ('precision @ 1 with --tta', [percent(r, 1) for r in results]),
    ('minutes of training', [r['minutes of training'] for r in results]),
  ):
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    print(
      '%s: mean %.2f, standard deviation %.2f, %.2f to %.2f, %d runs'
      % (
        name,
        statistics.mean(values),
        deviation,
        min(values),
        max(values),
        len(values),
      )
    )


def percent(result, index):
  """The precision @ 1 of an evaluation of a run, in percent."""
  return 100 * result['evaluations'][index]['precision @ 1']


def main():
  """Reads the flags and makes the runs that are missing."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument(
    '--recipe',
    default='fast',
    choices=settings_lib.FIELDS['recipe'].metadata['choices'],
  )
  parser.add_argument(
    '--seeds',
    type=lambda text: [int(part) for part in text.split(',')],
    default='1,2,3,4,5',
    help='numbers with commas between (default %(default)s)',
  )
  parser.add_argument('--out', required=True, help='JSON file')
  parser.add_argument(
    '--runs', help='where to keep the runs (default: nowhere)'
  )
  arguments = parser.parse_args()
  settings = recipes.settings(arguments.recipe)
  described = {'recipe': arguments.recipe, 'settings': settings}
  content = files.read_json(arguments.out) or dict(described, results=[])
  if any(content.get(name) != value for name, value in described.items()):
    raise UserError('%s: holds runs of other settings' % arguments.out)
  results = content['results']
  done = {result['seed'] for result in results}
  # A run takes long: whether its numbers can be written shows before.
  files.write_json(arguments.out, content)
  with tempfile.TemporaryDirectory() as temporary:
    folder = arguments.runs or temporary
    os.makedirs(folder, exist_ok=True)
    for seed in arguments.seeds:
      if seed not in done:
        results.append(run(arguments.recipe, seed, folder))
        files.write_json(arguments.out, content)
        show(results[-1])
  summarize(results)


if __name__ == '__main__':
  try:
    main()
  except (UserError, OSError) as error:
    sys.exit('repeat.py: error: %s' % error)
