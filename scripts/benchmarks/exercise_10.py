#!/usr/bin/env python
"""Compares synchronous, asynchronous and model-parallel training.

    python scripts/benchmarks/exercise_10.py --out=docs/results/exercise_10.json

A parameter server and two workers, processes of this machine, train the model
in each way, in turns: for equal steps, each of 128 examples, and with --secs
for equal time, counted from the first step. Prints a table in Markdown. Results
are written after each run: started again, it continues where it was stopped.
"""

import os
import statistics
import sys
import tempfile
import time

import package_path
from cifar10.errors import UserError
from cifar10.tools import variants
from cifar10.util import arguments
import compare

WAYS = {
    'synchronous': ['--batch_size=64'],
    'asynchronous': ['--nosync'],
    'filters': ['--model_parallelism=filters'],
    'columns': ['--model_parallelism=filters', '--columns=2'],
}
_MOST_STEPS = 1000000


def run(runner, variant, data_dir):
  """Trains in one way, and evaluates; returns a dict for JSON.

  `variant` has the `way`, and a limit of `steps` or `secs`.
  """
  with tempfile.TemporaryDirectory() as folder:
    train_dir = os.path.join(folder, 'train')
    metrics = os.path.join(folder, 'metrics.jsonl')
    steps = variant.get('steps', _MOST_STEPS)

    def is_over():
      rows = compare.rows(metrics)
      return rows and time.time() - rows[0]['time'] > variant.get('secs', 1e9)

    status = runner.run(
        variants.command('cluster/local_cluster.py', '--num_workers=2',
                         f'--data_dir={data_dir}', f'--train_dir={train_dir}',
                         f'--log_dir={folder}', f'--metrics={metrics}',
                         f'--max_steps={steps}', *WAYS[variant['way']]),
        is_over, stdout=sys.stderr)
    if status:
      raise UserError(f'{variant}: ended with status {status}')
    rows = compare.rows(metrics)
    evaluation = compare.evaluate(runner, train_dir, folder,
                                  f'--data_dir={data_dir}')
  rates = [row['examples_per_sec'] for row in rows[1:]]
  return {
      'rates': rates,
      'secs_taken': rows[-1]['time'] - rows[0]['time'],
      'evaluation': evaluation
  }


def table(results):
  """The means over all rounds, in Markdown."""
  rows = []
  for limit in ('steps', 'secs'):
    for way in WAYS:
      of_way = [r for r in results if r['way'] == way and limit in r]
      if of_way:
        found = [r['evaluation'] for r in of_way]
        rows.append([
            way, f'{of_way[0][limit]} {limit}',
            f'{statistics.mean(e["step"] for e in found):,.0f}',
            f'{statistics.median(x for r in of_way for x in r["rates"]):,.0f}',
            ', '.join(f'{100 * e["precision @ 1"]:.1f} %' for e in found)
        ])
  heads = ['training', 'limit', 'steps', 'examples/s', 'precision @ 1']
  return variants.table(heads, rows, right=(2, 3, 4))


def compare_all(args):
  """Makes the runs that are missing, and prints the table."""
  found, save = compare.open_results(args.out, 'results')
  limits = [{'steps': args.steps}] + [{'secs': args.secs}] * bool(args.secs)
  runner = variants.Runner()
  runner.run_missing([
      dict(limit, round=number, way=way)
      for number in range(args.rounds)
      for limit in limits
      for way in WAYS
  ], found['results'], lambda variant: run(runner, variant, args.data_dir),
                     save)
  print(table(found['results']))


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('--steps', default=400, help='steps of each run')
  parser.add_argument('--secs', default=0,
                      help='seconds of the runs of equal time; 0: none')
  parser.add_argument('--rounds', default=1, help='turns of each way')
  parser.add_argument('--data_dir', default='/tmp/cifar10_data',
                      help='the folder of CIFAR-10')
  parser.add_argument('--out', required=True, help='JSON file of results')
  parser.run(compare_all, steps=(20, None), secs=(0, None), rounds=(1, None))
