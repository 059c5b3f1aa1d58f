#!/usr/bin/env python
"""Compares techniques fairly: each with the best of a few rates or strengths.

    python scripts/benchmarks/tuning.py \\
        scripts/benchmarks/experiments/tuning.json \\
        --before=docs/results/techniques.json --out=docs/results/tuning.json

The experiments are a JSON object:

    {"tuning_steps": 2500, "validation_examples": 5000,
     "steps": 10000, "seeds": [1, 2, 3], "points": 4,
     "variants": {"Adam": {"flags": ["--optimizer=adam"],
                           "values": {"learning_rate": [0.0003, 0.001, 0.003]}},
                  ...},
     "flags": ["--dataset=sample"]}            of all runs; may be left out

First each variant is trained with each of its values, for the steps of tuning;
the best value is that of the highest precision on the images held out. Then it
is trained with that value on all training images, for the steps of the
comparison, as compare.py does: with the first seed, and with the others if it
is within a point of the default. Test images choose nothing. Results are
written after each run: started again, it continues where it was stopped. Then
--time_rounds measures how long a step of each variant takes. Prints a table in
Markdown, and draws the differences from the default next to --out.
"""

import os
import sys
import tempfile

import package_path
from cifar10.store import run_state
from cifar10.tools import variants
from cifar10.tools.report import charts
from cifar10.util import files
import compare
import comparison

_NEAR = 0.01  # A difference in precision that other seeds are to settle.


def candidates(experiments):
  """All runs of tuning, a list of dicts: 'name', 'flags' and 'steps'."""
  seed = f'--seed={experiments["seeds"][0]}'
  held_out = f'--validation_examples={experiments["validation_examples"]}'
  return [{
      'name': name,
      'flags': [*variant['flags'], f'--{flag}={value}'],
      'tuning': [*experiments['flags'], held_out, seed],
      'steps': experiments['tuning_steps']
  }
          for name, variant in experiments['variants'].items()
          for flag, values in variant['values'].items()
          for value in values]


def tune(runner, candidate, jobs):
  """Trains a candidate: 'validation', its precision at the end, or 'error'."""
  with tempfile.TemporaryDirectory() as folder:
    steps = candidate['steps']
    error = runner.error(
        variants.command('cifar10_train.py', f'--train_dir={folder}',
                         f'--max_steps={steps}', f'--validation_steps={steps}',
                         *compare.thread_flags(jobs), *candidate['tuning'],
                         *candidate['flags']))
    if error:
      return {'error': error}
    return {'validation': run_state.load(folder).validations[-1][1]}


def tuned(experiments, tuning):
  """The flags of each variant with its best value, a dict by names."""
  best = {}
  for candidate in candidates(experiments):
    for result in variants.results_of(candidate, tuning):
      name, rank = result['name'], result.get('validation', 0)
      if name not in best or rank > best[name][0]:
        best[name] = rank, result['flags']
  return {name: flags for name, (_, flags) in best.items()}


def comparison_of(experiments, found):
  """The experiments of the comparison, which compare.py takes."""
  best = tuned(experiments, found['tuning'])
  return compare.with_default(dict(experiments, variants=best))


def wanted(experiments, results):
  """Runs of the comparison: of the first seed, and then those that follow.

  `experiments` is what compare.py takes. Other seeds are for variants within a
  point of the default, as far as `results` tell, and for the default itself.
  """
  first, *others = experiments['seeds']
  for name in experiments['variants']:
    yield comparison.variant(name, experiments, seed=first)
  for row in comparison.compared(experiments, results, []):
    if abs(row.get('at_steps', 1)) <= _NEAR:
      for seed in others:
        yield comparison.variant(row['name'], experiments, seed=seed)


def run_all(experiments, found, args, save):
  """Runs what has no result yet, `args.jobs` at a time.

  `found` has the lists 'tuning' and 'results'; calls `save()` after each run.
  """
  runner = variants.Runner()

  def done(result):
    save()
    shown = result.get('error') or result.get('validation')
    print(result['name'], *result['flags'], shown or '', file=sys.stderr)

  runner.run_missing(candidates(experiments), found['tuning'],
                     lambda c: tune(runner, c, args.jobs), done, args.jobs)
  best = comparison_of(experiments, found)
  for _ in range(2):  # The first seed tells whose others are wanted.
    runner.run_missing(list(wanted(best, found['results'])), found['results'],
                       lambda v: compare.run(runner, v, best, args), done,
                       args.jobs)


def compared(experiments, found, before):
  """Rows of `comparison.compared`, with 'tried' and 'before'.

  'tried' are pairs (flag, validation precision or None); 'before' is how far
  the variant of this name was from the default in `before`, the results of
  compare.py.
  """
  old = {row['name']: row for row in comparison.compared_in(before)}
  rows = comparison.compared(experiments, found['results'], found['times'])
  for row in rows:
    row['before'] = old.get(row['name'], {}).get('at_steps')
    row['tried'] = [(r['flags'][-1], r.get('validation'))
                    for r in found['tuning']
                    if r['name'] == row['name']]
  return rows


def tried(row):
  """The cell with the values of a row and their precisions, in order."""
  found = sorted((float(flag.split('=')[1]), precision or 0)
                 for flag, precision in row['tried'])
  return ', '.join(f'{value:g}: ' +
                   (comparison.percent(precision) if precision else 'diverges')
                   for value, precision in found)


def table(rows):
  """The rows as a table in Markdown, a str."""
  heads = ['variant', 'flags', 'validation precision of each value', 'before']
  heads += ['at half the steps', 'at equal steps', 'at equal time']
  heads += ['averaged', 'loss']
  cells = [[
      row['name'],
      comparison.flags_of(row),
      tried(row),
      *comparison.gains(row, 'before', 'at_half', 'at_steps', 'at_time'),
      comparison.averaged(row),
      '%.2f' % row['loss'] if row['runs'] else ''
  ] for row in rows]
  return variants.table(heads, cells, right=range(3, len(heads)))


def tune_all(args):
  """Runs what is missing, prints the table, and draws the chart."""
  experiments = compare.load_experiments(args.experiments, 'tuning_steps',
                                         'validation_examples')
  found, save = compare.open_results(args.out, 'tuning', 'results', 'times')
  if args.time_rounds:
    compare.time_all(comparison_of(experiments, found), found['times'],
                     args.time_rounds, save)
  else:
    run_all(experiments, found, args, save)
  before = files.read_json(args.before) or {'results': []}
  rows = compared(comparison_of(experiments, found), found, before)
  print(table(rows))
  chart = os.path.splitext(args.out)[0] + '.png'
  figure = comparison.draw(rows, 'before', ('tuned', 'as set before'))
  charts.save_png(figure, chart)


if __name__ == '__main__':
  parser = compare.make_parser(__doc__, '/tmp/cifar10_tuning')
  parser.add_argument('--before', default='',
                      help='the JSON file of compare.py to compare with')
  parser.run(tune_all, jobs=(1, None))
