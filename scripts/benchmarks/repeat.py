#!/usr/bin/env python
"""Trains and evaluates a recipe again and again, with seeds of its own.

    python scripts/benchmarks/repeat.py --recipe=fast --out=fast.json

Prints the precision @ 1 on the test images, with and without --tta, and the
minutes of each run. Results are written after each run: started again, it goes
on where it was stopped. Nothing else should run meanwhile.
"""

import contextlib
import json
import os
from pathlib import Path
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import settings as settings_lib
from cifar10.run import recipes
from cifar10.errors import UserError
from cifar10.tools import variants
from cifar10.util import arguments
from cifar10.util import files


def run(runner, recipe, seed, folder):
  """Trains with a seed, and evaluates the last checkpoint.

  Args:
    runner: variants.Runner.
    recipe: name of the recipe.
    seed: int.
    folder: where the run is kept.

  Returns:
    A dict for JSON: minutes of each part, and the evaluations.
  """
  directory = os.path.join(folder, f'{recipe}-{seed}')
  metrics = directory + '.jsonl'
  with contextlib.suppress(FileNotFoundError):  # Of a run that was stopped.
    os.remove(metrics)
  started = time.time()
  runner.answer(
      variants.command('cifar10_train.py', f'--recipe={recipe}',
                       f'--seed={seed}', f'--train_dir={directory}',
                       f'--metrics={metrics}', '--overwrite'))
  trained = time.time()
  with open(metrics) as lines:
    first = json.loads(next(lines))
  evaluations = []
  for flags in ([], ['--tta']):
    began = time.time()
    line = runner.answer(
        variants.command('cifar10_eval.py', f'--checkpoint_dir={directory}',
                         f'--eval_dir={os.path.join(folder, "eval")}',
                         '--run_once', '--json', *flags))
    minutes = (time.time() - began) / 60
    evaluations.append(dict(json.loads(line), minutes=minutes))
  return {
      'minutes to first step': (first['time'] - started) / 60,
      'minutes of training': (trained - started) / 60,
      'evaluations': evaluations
  }


def show(result):
  """Prints the line of a run."""
  print('seed %d: %.2f %%, with --tta %.2f %%, %.1f minutes of training' %
        (result['seed'], percent(result, 0), percent(
            result, 1), result['minutes of training']))


def summarize(results):
  """Prints mean and standard deviation over all runs."""
  for name, values in (('precision @ 1', [percent(r, 0) for r in results
                                         ]), ('precision @ 1 with --tta',
                                              [percent(r, 1) for r in results]),
                       ('minutes of training',
                        [r['minutes of training'] for r in results])):
    mean, low, high = statistics.mean(values), min(values), max(values)
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    print(f'{name}: mean {mean:.2f}, standard deviation {deviation:.2f}, '
          f'{low:.2f} to {high:.2f}, {len(values)} runs')


def percent(result, index):
  """The precision @ 1 of an evaluation of a run, in percent."""
  return 100 * result['evaluations'][index]['precision @ 1']


def repeat(args):
  """Makes the runs that are missing.

  Raises UserError if a run fails, or `args.out` holds runs of other settings.
  """
  about = {'recipe': args.recipe, 'settings': recipes.settings(args.recipe)}
  content = files.read_json(args.out) or dict(about, results=[])
  if not about.items() <= content.items():
    raise UserError(f'{args.out}: holds runs of other settings')
  # A run takes long, so find out first whether its numbers can be written.
  with files.folders_around(args.out):
    files.write_json(args.out, content)
  runner = variants.Runner()

  def done(result):
    files.write_json(args.out, content)
    show(result)

  with tempfile.TemporaryDirectory() as temporary:
    folder = args.runs or temporary
    os.makedirs(folder, exist_ok=True)
    runner.run_missing(
        [{
            'seed': seed
        } for seed in args.seeds], content['results'],
        lambda variant: run(runner, args.recipe, variant['seed'], folder), done)
  summarize(content['results'])


def main():
  """Reads the flags and makes the runs."""
  parser = arguments.Parser(__doc__)
  parser.add_argument('--recipe', default='fast',
                      choices=settings_lib.FIELDS['recipe'].metadata['choices'],
                      help='the recipe to run again and again')
  parser.add_argument('--seeds',
                      type=lambda text: [int(part) for part in text.split(',')],
                      default='1,2,3,4,5', help='numbers separated by commas')
  parser.add_argument('--out', required=True, help='JSON file')
  parser.add_argument('--runs',
                      help='where to keep the runs (default: nowhere)')
  parser.run(repeat)


if __name__ == '__main__':
  main()
