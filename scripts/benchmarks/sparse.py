#!/usr/bin/env python
"""Compares ways to a sparse network: its precision, and that of the dense one.

    python scripts/benchmarks/sparse.py \\
        scripts/benchmarks/experiments/sparse.json --out=sparse.json

The experiments are as those of compare.py. Each variant is trained twice for
as many steps: dense; and, from its checkpoint after four fifths of them, with
the smallest weights of the whole network set to zero by cifar10_sparsify, and
held there by --hold_zeros. Results are written after each run: started again,
it continues where it was stopped. Prints a table in Markdown.
"""

import math
import os
import sys

import package_path
from cifar10.store import checkpoints
from cifar10.tools import sparsify
from cifar10.tools import variants
import compare
import comparison
import numpy as np

_SPARSIFY = 'tools/sparsify.py'


def run(runner, variant, folder):
  """Trains a variant in `folder`, as it is and with zeros.

  Returns:
    A dict for JSON: 'own_zeros', the share of the weights that training itself
    had set to zero before the cut; 'threshold', the size of the largest weight
    that was cut; 'zeros_at_end', of the averages; 'points' and 'dense_points'
    of precision_curve.py, and their 'total'; or 'error'.
  """
  steps, dense = variant['steps'], os.path.join(folder,
                                                compare.run_name(variant))
  flags = [
      f'--max_steps={steps}', f'--seed={variant["seed"]}', *variant['flags']
  ]
  of_dense = compare.train_and_evaluate(runner, dense, steps // 5, *flags)
  if 'error' in of_dense:
    return of_dense
  source, sparse = checkpoints.at_step(dense, steps * 4 // 5), dense + '-sparse'
  values = checkpoints.read(source)
  weights = sparsify.weights_of(values).values()
  sizes = np.sort(np.concatenate([np.abs(w).ravel() for w in weights]))
  threshold = float(sizes[max(0, math.ceil(variant['zeros'] * len(sizes)) - 1)])
  if not os.path.exists(sparse):
    runner.answer(
        variants.command(_SPARSIFY, source, f'--out={sparse}',
                         f'--threshold={threshold!r}'))
  found = compare.train_and_evaluate(runner, sparse, steps // 5, *flags,
                                     '--hold_zeros')
  if 'error' in found:
    return found
  plain = {n: v for n, v in values.items() if checkpoints.AVERAGE not in n}
  end = checkpoints.read(checkpoints.at_step(sparse, steps))
  return {
      'own_zeros': float(sparsify.share_of_zeros(plain)),
      'threshold': threshold,
      'zeros_at_end': float(sparsify.share_of_zeros(end)),
      'points': found['points'],
      'dense_points': of_dense['points'],
      'total': found['total']
  }


def _cells(result):
  """The cells of the row of a result."""
  flags = comparison.flags_of(result)
  if 'error' in result:
    return [result['name'], flags, result['error'], '', '', '', '', '']
  after_cut, at_end = (p['averaged'] / result['total']
                       for p in (result['points'][0], result['points'][-1]))
  dense = result['dense_points'][-1]['averaged'] / result['total']
  shares = [
      result['own_zeros'], result['zeros_at_end'], dense, after_cut, at_end
  ]
  return [
      result['name'], flags, *map(comparison.percent, shares),
      comparison.points(at_end - dense)
  ]


def compare_all(args):
  """Runs what is missing, and prints the table."""
  experiments = compare.with_default(compare.load_experiments(args.experiments))
  runner = variants.Runner()
  found, save = compare.open_results(args.out, 'results')
  wanted = [
      dict(comparison.variant(name, experiments, seed=seed),
           steps=experiments['steps'], zeros=args.zeros)
      for seed in experiments['seeds']
      for name in experiments['variants']
  ]

  def done(result):
    save()
    print(*_cells(result), file=sys.stderr)

  os.makedirs(args.runs, exist_ok=True)
  runner.run_missing(wanted, found['results'],
                     lambda variant: run(runner, variant, args.runs), done,
                     args.jobs)
  heads = [
      'variant', 'flags', 'zeros by training', 'zeros', 'dense',
      'after the cut', 'sparse', 'difference'
  ]
  rows = [
      _cells(result)
      for variant in wanted
      for result in variants.results_of(variant, found['results'])
  ]
  print(variants.table(heads, rows, right=range(2, len(heads))))


if __name__ == '__main__':
  parser = compare.make_parser(__doc__, '/tmp/cifar10_sparse', has_times=False)
  parser.add_argument('--zeros', default=0.9,
                      help='share of the weights to set to zero')
  parser.run(compare_all, jobs=(1, None), zeros=(0, 1))
