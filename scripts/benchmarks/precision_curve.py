#!/usr/bin/env python
"""Evaluates the checkpoints of a run, with and without moving averages.

    python scripts/benchmarks/precision_curve.py /tmp/cifar10_train \\
        --out=curve.json

Writes precision @ 1 against steps and minutes as JSON, for plot.py to draw.
The minutes are those from the run's first checkpoint on.
"""

import dataclasses
import json

import package_path
from cifar10 import cifar10_eval
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.util import arguments
from cifar10.util import files
from cifar10.util import session_settings
import tensorflow.compat.v1 as tf


def evaluate(args):
  """Evaluates checkpoints, and writes the points of the curve into `args.out`.

  Raises UserError if there is no such run, or its data or a checkpoint is
  unusable.
  """
  session_settings.start_threads(Settings())
  directory = args.train_dir
  run, found = config.load(directory), checkpoints.by_step(directory)
  chosen = {s: path for s, path in found.items() if s % args.every == 0}
  if run is None or not chosen:
    raise UserError(
        f'{directory}: expected the --train_dir of a run, with checkpoints at '
        f'multiples of --every={args.every} steps')
  settings = dataclasses.replace(
      run, batch_size=args.batch_size, precision='float32',
      **run_state.trained_on(run_state.load(directory), run))
  data = datasets.prepare(settings)
  begun = checkpoints.write_time(found[min(found)])
  points = []
  with tf.Graph().as_default():
    graph = cifar10_eval.build(data, settings)
    for step, path in chosen.items():
      minutes = (checkpoints.write_time(path) - begun) / 60
      point = {'step': step, 'minutes': round(minutes, 2)}
      for kind in ('averaged', 'plain'):
        model = dataclasses.replace(settings,
                                    use_moving_averages=kind == 'averaged')
        result, _ = cifar10_eval.eval_once(graph, path, model)
        point[kind] = result.correct
      points.append(point)
      print(json.dumps(point))
  files.write_json(
      args.out, {
          'precision': run.precision,
          'batch_size': run.batch_size,
          'tensorflow': tf.__version__,
          'total': result.total,
          'points': points
      })


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('train_dir', help='folder of the run')
  parser.add_argument('--out', required=True, help='the JSON file to write')
  parser.add_argument('--every', default=1000,
                      help='steps between the checkpoints to evaluate')
  parser.add_argument('--batch_size', default=500, help='images in a batch')
  parser.run(evaluate, every=(1, None), batch_size=(1, None))
