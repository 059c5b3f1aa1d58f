#!/usr/bin/env python
"""Measures the three inputs, --input=queues, preloaded and tf_data.

    python scripts/benchmarks/inputs.py --out=inputs.json

Each turn is a process of its own, which takes batches of 128 training images
without training: the seconds to the first batch of its session, the images a
second after that, and its peak memory. The three take turns. Prints a table;
compare the ratios.
"""

import argparse
import json
from pathlib import Path
import sys
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import cifar10
from cifar10.settings import Settings
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.util import files
from cifar10.util import session_settings
import benchmark
import repeat
import starts
import tensorflow.compat.v1 as tf
import turns

SOURCES = ('queues', 'preloaded', 'tf_data')

WARM_UP = 50  # Batches; those that were ready before the clock starts.


def take_batches(source, count, data_dir):
  """Takes batches of one input and prints what was measured, as JSON.

  Args:
    source: one of SOURCES.
    count: how many batches to measure.
    data_dir: the folder of CIFAR-10.
  """
  config = Settings(data_dir=data_dir, input=source)
  session_settings.start_threads(Settings())
  data = datasets.prepare(config)
  with tf.Graph().as_default():
    batch = [tensor.op for tensor in cifar10.distorted_inputs(data, config)]
    begun = time.perf_counter()
    with tf.train.MonitoredSession() as session:
      session.run(batch)
      first_batch = time.perf_counter() - begun
      for _ in range(WARM_UP):
        session.run(batch)
      begun = time.perf_counter()
      for _ in range(count):
        session.run(batch)
      seconds = time.perf_counter() - begun
  result = {
    'first_batch': first_batch,
    'rate': count * config.examples_per_machine / seconds,
    'peak': starts.memory('VmHWM'),
  }
  print(json.dumps(result))


def measure(args):
  """Measures all inputs, in turns, and writes --out."""
  measurements = {
    'first_batch': ('first batch of the session', 's'),
    'rate': ('input', 'images/s'),
    'peak': ('peak memory', 'MB'),
  }
  found = {name: {source: [] for source in SOURCES} for name in measurements}
  for _ in range(args.rounds):
    for source in SOURCES:
      line = repeat.call(
        str(Path(__file__).resolve()),
        '--data_dir=%s' % args.data_dir,
        '--steps=%d' % args.steps,
        '--source=%s' % source,
      )
      result = json.loads(line)
      for name in measurements:
        found[name][source].append(result[name])
  table = turns.Table()
  for name, (what, unit) in measurements.items():
    table.add(what, unit, found[name], SOURCES[0])
  files.write_json(
    args.out,
    {
      'machine': benchmark.machine(),
      'rounds': args.rounds,
      'rows': table.rows,
    },
  )


def main():
  """Reads the flags and measures."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
    '--rounds', type=int, default=5, help='turns of each (default %(default)s)'
  )
  parser.add_argument(
    '--steps', type=int, default=1000, help='batches (default %(default)s)'
  )
  parser.add_argument(
    '--source', choices=SOURCES, help='measure this one alone, once'
  )
  parser.add_argument(
    '--out',
    default='inputs.json',
    help='file to write to (default %(default)s)',
  )
  parser.add_argument(
    '--data_dir',
    default=Settings.data_dir,
    help='the folder of CIFAR-10 (default %(default)s)',
  )
  args = parser.parse_args()
  try:
    if args.source:
      take_batches(args.source, args.steps, args.data_dir)
    else:
      measure(args)
  except (UserError, OSError) as error:
    sys.exit('inputs: error: %s' % error)


if __name__ == '__main__':
  main()
