#!/usr/bin/env python
"""Measures the three inputs, --input=queues, preloaded and tf_data.

    python scripts/benchmarks/inputs.py --out=inputs.json

Each turn is a process of its own, which takes batches of 128 training images
without training: the seconds to the first batch of its session, the images a
second after that, and its peak memory. The three take turns. Prints a table;
compare the ratios.
"""

import json
import os
import time

import package_path
from cifar10 import pipelines
from cifar10.data import datasets
from cifar10.settings import Settings
from cifar10.tools import variants
from cifar10.util import arguments
from cifar10.util import session_settings
import starts
import tensorflow.compat.v1 as tf
import turns

SOURCES = ('queues', 'preloaded', 'tf_data')

WARM_UP = 50  # Batches; those that were ready before the clock starts.

# The unit of each measurement, and its name in the table.
MEASUREMENTS = {
    'first_batch': ('first batch of the session', 's'),
    'rate': ('input', 'images/s'),
    'peak': ('peak memory', 'MB')
}


def take_batches(source, count, data_dir):
  """Takes `count` batches of one of SOURCES; prints MEASUREMENTS as JSON."""
  settings = Settings(data_dir=data_dir, input=source)
  session_settings.start_threads(Settings())
  data = datasets.prepare(settings)
  with tf.Graph().as_default():
    batch = [tensor.op for tensor in pipelines.distorted_inputs(settings, data)]
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
  rate = count * settings.examples_per_machine / seconds
  peak = starts.peak_memory()
  print(json.dumps({'first_batch': first_batch, 'rate': rate, 'peak': peak}))


def measure(args):
  """Measures all inputs, in turns, and writes --out."""
  commands = {
      source: variants.command(os.path.abspath(__file__),
                               f'--data_dir={args.data_dir}',
                               f'--steps={args.steps}',
                               f'--source={source}') for source in SOURCES
  }
  table = turns.Table()
  table.add_programs(commands, args.rounds, MEASUREMENTS, SOURCES[0])
  table.write(args.out, args.rounds)


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('--rounds', default=5, help='turns of each')
  parser.add_argument('--steps', default=1000, help='batches')
  parser.add_argument('--source', choices=SOURCES,
                      help='measure this one alone, once')
  parser.add_argument('--out', default='inputs.json', help='file to write to')
  parser.add_argument('--data_dir', default=Settings.data_dir,
                      help='the folder of CIFAR-10')
  parser.run(
      lambda args: (take_batches(args.source, args.steps, args.data_dir)
                    if args.source else measure(args)), rounds=(1, None),
      steps=(1, None))
