#!/usr/bin/env python
"""Evaluates the checkpoints of a run, with and without moving averages.

    python scripts/benchmarks/precision_curve.py /tmp/cifar10_train \\
        --out=curve.json

Writes precision @ 1 against steps and minutes as JSON, for plot.py to draw.
The minutes are those from the run's first checkpoint on.
"""

import dataclasses
import argparse
import json
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.settings import Settings
from cifar10 import cifar10_eval
from cifar10.store import config as config_lib
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10 import zoo
from cifar10.store import run_state
from cifar10.util import files
from cifar10.util import session_settings
import tensorflow.compat.v1 as tf


def evaluate(directory, every, batch_size):
  """Evaluates each checkpoint at a multiple of `every` steps.

  Args:
    directory: the --train_dir of the run.
    every: steps between the checkpoints to evaluate.
    batch_size: images in a batch.

  Returns:
    A dict for JSON: the points of the curve, and the settings behind them.

  Raises:
    UserError: there is no such run, or its data or a checkpoint is unusable.
  """
  run = config_lib.load(directory)
  if run is None:
    raise UserError(
      '%s: holds no %s; expected the --train_dir of a run'
      % (directory, run_state.CONFIG_FILE)
    )
  found = checkpoints.by_step(directory)
  if not found:
    raise UserError('%s: holds no checkpoint' % directory)
  chosen = {step: path for step, path in found.items() if step % every == 0}
  if not chosen:
    raise UserError(
      '%s: holds no checkpoint at a multiple of --every=%d steps; found those '
      'of steps %d to %d' % (directory, every, min(found), max(found))
    )
  config = run.replace(
    batch_size=batch_size,
    precision='float32',
    **run_state.trained_on(run_state.load(directory), run.data),
  )
  data = datasets.prepare(config)
  begun = checkpoints.written(found[min(found)])
  points = []
  with tf.Graph().as_default():
    graph = cifar10_eval.build(data, config)
    for step, path in chosen.items():
      minutes = (checkpoints.written(path) - begun) / 60
      point = {'step': step, 'minutes': round(minutes, 2)}
      for kind in ('averaged', 'plain'):
        result, _ = cifar10_eval.eval_once(
          graph,
          path,
          dataclasses.replace(config, use_moving_averages=kind == 'averaged'),
        )
        point[kind] = result.correct
      points.append(point)
      print(json.dumps(point), flush=True)
  return {
    'precision': run.session.precision,
    'batch_size': run.input.batch_size,
    'tensorflow': tf.__version__,
    'total': result.total,
    'points': points,
  }


def main():
  """Reads the flags, evaluates and writes."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('train_dir', help='folder of the run')
  parser.add_argument('--out', required=True, help='the JSON file to write')
  parser.add_argument(
    '--every',
    type=int,
    default=1000,
    help='steps between the checkpoints to evaluate (default %(default)s)',
  )
  parser.add_argument(
    '--batch_size',
    type=int,
    default=500,
    help='images in a batch (default %(default)s)',
  )
  args = parser.parse_args()
  if args.every < 1 or args.batch_size < 1:
    parser.error('--every and --batch_size: expected at least 1')
  session_settings.start_threads(Settings())
  try:
    directory = zoo.directory(args.train_dir, 'train_dir')
    result = evaluate(directory, args.every, args.batch_size)
    files.write_json(args.out, result)
  except (UserError, OSError) as error:
    sys.exit('precision_curve: error: %s' % error)


if __name__ == '__main__':
  main()
