#!/usr/bin/env python
"""Trains variants of the model for equal steps, and compares them.

    python scripts/benchmarks/compare.py \\
        scripts/benchmarks/experiments/techniques.json \\
        --out=docs/results/techniques.json

The experiments are a JSON object:

    {"steps": 5000,                            of each variant
     "seeds": [1, 2, 3],                       one run of each variant for each
     "flags": ["--dataset=sample"],            of all runs; may be left out
     "points": 1,                              checkpoints to evaluate, if not 5
     "variants": {"adam": ["--optimizer=adam"], ...}}

The variant `default`, without flags, joins by itself, and runs for twice as
many steps, so that others can be compared with it at equal time too. Results
are written after each run: started again, it continues where it was stopped.
That a run diverges is a result; any other error ends the comparison.
Prints a table in Markdown, and draws the precisions next to --out.

--time_rounds=3 measures the time of a step instead, three times for each
variant, in turns with the default. Nothing else should run meanwhile.
"""

import contextlib
import hashlib
import json
import os
from pathlib import Path
import statistics
import sys
import tempfile

import package_path
from cifar10.errors import UserError
from cifar10.tools import variants
from cifar10.tools.report import charts
from cifar10.util import arguments
from cifar10.util import files
import comparison

_CURVE = str(Path(__file__).resolve().parent / 'precision_curve.py')
POINTS = 5  # Checkpoints of a run to evaluate, if the experiments do not say.
_TAIL = 500  # How many of the last steps the mean loss is taken over.
_TIMED_STEPS = 100
_PER_DEFAULT = 4  # Variants that are timed after each turn of the default.


def load_experiments(path, *others):
  """Reads the file of experiments, a dict with all that may be left out.

  Raises UserError if it is missing, or lacks something; `others` are needed
  besides what all experiments have.
  """
  found = {'flags': [], 'points': POINTS, **files.need_json(path)}
  missing = {'steps', 'seeds', 'variants', *others} - set(found)
  if missing:
    raise UserError(f'{path}: expected {", ".join(sorted(missing))}')
  if found['steps'] % found['points']:
    raise UserError(f'{path}: steps={found["steps"]}: expected a multiple of '
                    f'points={found["points"]}')
  return found


def with_default(experiments):
  """Experiments with one more variant, the default."""
  found = {comparison.DEFAULT: [], **experiments['variants']}
  return dict(experiments, variants=found)


def run_name(variant):
  """The folder of a run; other flags or steps are another run."""
  text = json.dumps([variant['flags'], variant['steps']]).encode('utf-8')
  kind = hashlib.sha256(text).hexdigest()[:8]
  return f'{variant["name"]}-{variant["seed"]}-{kind}'


def run(runner, variant, experiments, args):
  """Trains a `comparison.variant` with a seed, and evaluates it.

  The run is kept in `args.runs`, and is one of `args.jobs` at a time.

  Returns:
    A dict for JSON: 'points' and 'total' of precision_curve.py, and 'loss'; or
    'error'.
  """
  directory = os.path.join(args.runs, run_name(variant))
  metrics = os.path.join(directory, 'metrics.jsonl')
  end = experiments['steps']
  os.makedirs(directory, exist_ok=True)
  found = train_and_evaluate(runner, directory, end // experiments['points'],
                             f'--seed={variant["seed"]}',
                             f'--max_steps={variant["steps"]}',
                             f'--metrics={metrics}', *thread_flags(args.jobs),
                             *variant['flags'])
  if 'error' in found:
    return found
  loss = statistics.mean(
      row['loss'] for row in rows(metrics) if end - _TAIL <= row['step'] < end)
  return {'points': found['points'], 'total': found['total'], 'loss': loss}


def train_and_evaluate(runner, directory, every, *flags):
  """Trains a run in `directory`, and evaluates it each `every` steps.

  Returns what precision_curve.py writes; or a dict of 'error'.
  """
  curve = os.path.join(directory, 'curve.json')
  error = runner.error(
      variants.command('cifar10_train.py', f'--train_dir={directory}',
                       '--save_secs=0', f'--save_steps={every}', *flags))
  error = error or runner.error(
      variants.command(_CURVE, directory, f'--every={every}', f'--out={curve}'))
  return {'error': error} if error else files.read_json(curve)


def evaluate(runner, train_dir, eval_dir, *flags):
  """The answer of cifar10_eval on the newest checkpoint of a run, a dict."""
  command = variants.command('cifar10_eval.py', f'--checkpoint_dir={train_dir}',
                             f'--eval_dir={eval_dir}', '--run_once', '--json',
                             *flags)
  return json.loads(runner.answer(command))


def thread_flags(jobs):
  """The flags of a trainer that shares the cores with `jobs` - 1 others."""
  # 0: one per core.
  threads = 0 if jobs == 1 else max(1, (os.cpu_count() or 1) // jobs)
  return f'--intra_op_threads={threads}', f'--inter_op_threads={threads}'


def rows(metrics):
  """The whole rows of JSON so far in a file, such as a trainer's --metrics."""
  if not os.path.exists(metrics):
    return []
  with open(metrics) as lines:
    return [json.loads(line) for line in lines if line.endswith('\n')]


def time_all(experiments, times, rounds, save):
  """Measures how long a step of each variant takes, in turns with the default.

  Adds to the list `times`, until each variant is there `rounds` times, dicts
  with its 'flags' and 'ratio', the time of a step as a multiple of the
  default's; calls `save()` after each. Raises UserError if the default cannot
  be trained.
  """
  timed = [{'flags': comparison.variant(name, experiments)['flags']}
           for name in experiments['variants']]  # yapf: disable
  for count in range(1, rounds + 1):
    missing = [
        variant for variant in timed
        if len(variants.results_of(variant, times)) < count
    ]
    for index, variant in enumerate(missing):
      if index % _PER_DEFAULT == 0:
        default = _speed(experiments['flags'])
      with contextlib.suppress(UserError):  # What fails has no time.
        ratio = default / _speed(variant['flags'])
        times.append(dict(variant, ratio=ratio))
      save()


def _speed(flags):
  """Examples per second with some flags, the median."""
  found = short_run(f'--max_steps={_TIMED_STEPS}', *flags, '--log_frequency=10')
  return statistics.median(row['examples_per_sec'] for row in found[1:])


def short_run(*flags):
  """Trains in a folder of its own; returns the `rows` of its --metrics.

  Raises UserError if that fails.
  """
  with tempfile.TemporaryDirectory() as folder:
    metrics = os.path.join(folder, 'metrics.jsonl')
    variants.Runner().answer(
        variants.command('cifar10_train.py', f'--train_dir={folder}/train',
                         f'--metrics={metrics}', *flags))
    return rows(metrics)


def open_results(path, *names):
  """The lists `names` of a JSON file, in a dict, and a function to save it.

  Saves it now: a run takes long, so find out first whether that works.
  """
  found = {**{name: [] for name in names}, **(files.read_json(path) or {})}

  def save(*_):
    files.write_json(path, found)

  with files.folders_around(path):
    save()
  return found, save


def compare(args):
  """Runs what is missing, prints the table, and draws the chart."""
  experiments = with_default(load_experiments(args.experiments))
  runner = variants.Runner()
  found, save = open_results(args.out, 'results', 'times')

  def done(result):
    save()
    precision = 'points' in result and comparison.percent(
        comparison.precision_at(result, experiments['steps']))
    print(f'{result["name"]}, seed {result["seed"]}:', precision or
          result['error'], file=sys.stderr)

  if args.time_rounds:
    time_all(experiments, found['times'], args.time_rounds, save)
  else:
    wanted = [
        comparison.variant(name, experiments, seed=seed)
        for seed in experiments['seeds']
        for name in experiments['variants']
    ]
    runner.run_missing(wanted, found['results'],
                       lambda v: run(runner, v, experiments, args), done,
                       args.jobs)
  compared = comparison.compared(experiments, found['results'], found['times'])
  print(comparison.table(compared))
  if any(row['runs'] for row in compared):
    chart = os.path.splitext(args.out)[0] + '.png'
    charts.save_png(comparison.draw(compared), chart)


def make_parser(doc, runs, has_times=True):
  """The parser of a program that compares runs; `runs` is a default."""
  parser = arguments.Parser(doc)
  parser.add_argument('experiments', help='the JSON file of experiments')
  parser.add_argument('--out', required=True, help='the JSON file of results')
  parser.add_argument('--runs', default=runs, help='folder of the runs')
  parser.add_argument('--jobs', default=1,
                      help='runs at a time, which share the cores')
  if has_times:
    parser.add_argument(
        '--time_rounds', default=0,
        help='how many times to measure the step time of each variant, instead '
        'of training; 0: train')
  return parser


if __name__ == '__main__':
  make_parser(__doc__, '/tmp/cifar10_compare').run(compare, jobs=(1, None))
