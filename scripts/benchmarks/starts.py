#!/usr/bin/env python
"""The start of a training process and its memory, for benchmark.py.

    starts.py FORM STEPS DATASET DATA_DIR

is one such process.
"""

import json
import os
from pathlib import Path
import re
import sys
import time

BEGUN = time.time()

import package_path
from cifar10.data import datasets
from cifar10.settings import Settings
from cifar10.tools import variants
from cifar10.util import session_settings
import baselines
import tensorflow.compat.v1 as tf


def measure(table, args, rounds, steps):
  """Measures the first step and the memory of new processes.

  Args:
    table: turns.Table.
    args: argparse.Namespace with `dataset` and `data_dir`.
    rounds: processes of each form.
    steps: steps in each process.
  """
  commands = {
      form: variants.command(os.path.abspath(__file__), form, str(steps),
                             args.dataset,
                             args.data_dir) for form in baselines.FORMS
  }
  shown = {
      'first_batch': ('first batch of the session', 's'),
      'first_step': ('first step of the process', 's'),
      'peak': (f'peak memory, {steps} steps', 'MB')
  }
  table.add_programs(commands, rounds, shown, baselines.CLASSICAL)


def peak_memory():
  """The most memory that this process has taken, in MB."""
  # Not that of getrusage, which counts what the parent had taken at the fork.
  status = Path('/proc/self/status').read_text()
  return int(re.search(r'VmHWM:\s*(\d+) kB', status).group(1)) / 1e3


def train(form, steps, data):
  """Trains `steps` steps; prints their start and memory, as JSON."""
  with tf.Graph().as_default():
    images, labels = baselines.distorted_inputs(form, data, 128)
    train_op = baselines.train(images, labels, form, data)
    with tf.train.MonitoredSession() as session:
      started = time.perf_counter()
      session.run([images.op, labels.op])
      first_batch = time.perf_counter() - started
      session.run(train_op)
      first_step = time.time() - BEGUN
      for _ in range(steps):
        session.run(train_op)
  found = {'first_batch': first_batch, 'first_step': first_step}
  print(json.dumps(dict(found, peak=peak_memory())))


def main():
  """Prepares the data set and trains."""
  form, steps, dataset, data_dir = sys.argv[1:]
  session_settings.start_threads(Settings())
  data = datasets.prepare(Settings(dataset=dataset, data_dir=data_dir))
  train(form, int(steps), data)


if __name__ == '__main__':
  main()
