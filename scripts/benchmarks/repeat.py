#!/usr/bin/env python
"""Trains and evaluates a recipe again and again, each time with another seed.

    python scripts/benchmarks/repeat.py --recipe=fast --out=fast.json
    python scripts/benchmarks/repeat.py --recipe=tutorial --out=tutorial.json \\
        --seeds=1,2,3 --runs=/tmp/tutorial -- --max_steps=100000

Flags of cifar10_train follow `--`. Prints the precision @ 1 on the test images,
with and without --tta, and the minutes of each run. Results are written after
each run: started again, it continues where it was stopped; with --runs, a run
that was stopped resumes too. Nothing else should run meanwhile.
"""

import os
import statistics
import tempfile
import time

import package_path
from cifar10 import settings as settings_lib
from cifar10.run import recipes
from cifar10.errors import UserError
from cifar10.tools import variants
from cifar10.util import arguments
from cifar10.util import files
import compare


def run(runner, args, seed, folder):
  """Trains with a seed, or resumes it in `folder`, and evaluates the end.

  Returns a dict for JSON: minutes of each part, and the evaluations.
  """
  directory = os.path.join(folder, f'{args.recipe}-{seed}')
  metrics = directory + '.jsonl'
  # In the file of the trainer's steps, a line without a step is a start.
  files.append_json_line(metrics, {'time': time.time()})
  runner.answer(
      variants.command('cifar10_train.py', f'--recipe={args.recipe}',
                       f'--seed={seed}', f'--train_dir={directory}',
                       f'--metrics={metrics}', *args.flags))
  rows = [*compare.rows(metrics), {'time': time.time(), 'step': None}]
  evaluations = []
  for flags in ([], ['--tta']):
    began = time.time()
    found = compare.evaluate(runner, directory, os.path.join(folder, 'eval'),
                             *flags)
    minutes = (time.time() - began) / 60
    evaluations.append(dict(found, minutes=minutes))
  first = next(row for row in rows if 'step' in row)
  # From each start to the last step that followed.
  seconds = sum(row['time'] - before['time']
                for before, row in zip(rows, rows[1:])
                if 'step' in row)
  return {
      'minutes to first step': (first['time'] - rows[0]['time']) / 60,
      'minutes of training': seconds / 60,
      'evaluations': evaluations
  }


def show(result):
  """Prints the line of a run."""
  print('seed %d: %.2f %%, with --tta %.2f %%, %.1f minutes of training' %
        (result['seed'], percent(result, 0), percent(
            result, 1), result['minutes of training']))


def summarize(results):
  """Prints mean and standard deviation over all runs."""
  for name, values in (
      ('precision @ 1', [percent(r, 0) for r in results]),
      ('precision @ 1 with --tta', [percent(r, 1) for r in results]),
      ('minutes of training', [r['minutes of training'] for r in results])
  ):  # yapf: disable
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
  about = {
      'recipe': args.recipe,
      'settings': recipes.settings(args.recipe),
      'flags': args.flags
  }
  held = {'flags': [], **(files.read_json(args.out) or about)}
  if not about.items() <= held.items():
    raise UserError(f'{args.out}: holds runs of other settings')
  found, save = compare.open_results(args.out, 'results')
  found.update(about)
  save()
  runner = variants.Runner()

  def done(result):
    save()
    show(result)

  with tempfile.TemporaryDirectory() as temporary:
    folder = args.runs or temporary
    os.makedirs(folder, exist_ok=True)
    missing = [{'seed': seed} for seed in args.seeds]
    runner.run_missing(missing, found['results'],
                       lambda v: run(runner, args, v['seed'], folder), done)
  summarize(found['results'])


def seeds(text):
  """The numbers in a text, a list."""
  return [int(part) for part in text.split(',')]


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('--recipe', default='fast',
                      choices=settings_lib.FIELDS['recipe'].metadata['choices'],
                      help='the recipe to run again and again')
  parser.add_argument('--seeds', type=seeds, default='1,2,3,4,5',
                      help='numbers separated by commas')
  parser.add_argument('--out', required=True, help='JSON file')
  parser.add_argument('--runs',
                      help='folder where to keep the runs (default: nowhere)')
  parser.add_argument('flags', nargs='*', help='flags of cifar10_train')
  parser.run(repeat)
