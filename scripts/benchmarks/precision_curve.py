#!/usr/bin/env python
"""Evaluates the checkpoints of a run, with and without moving averages.

    python scripts/benchmarks/precision_curve.py /tmp/cifar10_train --out=curve.json

Writes precision @ 1 against steps and minutes as JSON, for plot.py to draw.
The minutes are those between the run's first checkpoint and the others.
"""

import argparse
import dataclasses
import json
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 2))
sys.path.insert(0, ROOT)

from cifar10 import cifar10_eval
from cifar10 import config as config_lib
from cifar10.data import datasets
from cifar10.util import files
from cifar10.util import session_settings
import tensorflow.compat.v1 as tf


def checkpoints_by_step(directory):
  """The checkpoints in `directory`: a dict of paths by global step."""
  found = {}
  for name in os.listdir(directory):
    match = re.match(r'(model\.ckpt-(\d+))\.index$', name)
    if match:
      found[int(match.group(2))] = os.path.join(directory, match.group(1))
  return dict(sorted(found.items()))


def evaluate(directory, every, batch_size):
  """Evaluates each checkpoint at a multiple of `every` steps.

  Returns:
    A dict for JSON: the points of the curve, and what they are points of.
  """
  run = config_lib.load(directory)
  config = dataclasses.replace(run, batch_size=batch_size, precision='float32')
  data = datasets.prepare(config)
  found = checkpoints_by_step(directory)
  begun = os.path.getmtime(found[min(found)] + '.index')
  points = []
  with tf.Graph().as_default():
    graph = cifar10_eval.build(data, config)
    for step, path in found.items():
      if step % every:
        continue
      minutes = (os.path.getmtime(path + '.index') - begun) / 60
      point = {'step': step, 'minutes': round(minutes, 2)}
      for kind in ('averaged', 'plain'):
        config = dataclasses.replace(
          config, use_moving_averages=kind == 'averaged'
        )
        result, _ = cifar10_eval.evaluate_checkpoint(graph, path, config)
        point[kind] = result.correct
      points.append(point)
      print(json.dumps(point), flush=True)
  return {
    'precision': run.precision,
    'batch_size': run.batch_size,
    'tensorflow': tf.__version__,
    'total': result.total,
    'points': points,
  }


def main():
  """Reads the flags, evaluates and writes."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('train_dir', help='folder of the checkpoints')
  parser.add_argument('--out', required=True, help='the JSON to write')
  parser.add_argument('--every', type=int, default=1000, help='steps')
  parser.add_argument('--batch_size', type=int, default=500)
  args = parser.parse_args()
  session_settings.start(config_lib.Config())
  result = evaluate(args.train_dir, args.every, args.batch_size)
  text = json.dumps(result, indent=1) + '\n'
  files.write_atomically(args.out, text.encode('utf-8'))


if __name__ == '__main__':
  main()
