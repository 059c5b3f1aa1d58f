#!/usr/bin/env python
"""Measures this project against the tutorial's classical form, side by side.

    python scripts/benchmarks/benchmark.py           all of it
    python scripts/benchmarks/benchmark.py --quick   the main part, in minutes

The classical form is a queue of single images, distorted one by one, and
TensorFlow's own local response normalization, in float32. The forms take
turns, so that whatever slows the machine down slows all of them down. Compare
the ratios between them: the median of all rounds, with the smallest and the
largest. Prints a table and writes `benchmark.json` and `benchmark.png` into
--out. Needs the extra `.[report]`.
"""

import argparse
import contextlib
import json
import os
from pathlib import Path
import platform
import re
import subprocess
import sys
import time

BEGUN = time.time()
# TensorFlow 2 logs an error where the classical form transposes bytes.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import cifar10_multi_gpu_train
from cifar10.config import Config
from cifar10.settings import Data
from cifar10.settings import Download
from cifar10.settings import Session
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.model import layers
from cifar10.training import run_state
from cifar10.util import files
from cifar10.util import optional_packages
from cifar10.util import session_settings
import baselines
import numpy as np
import tensorflow.compat.v1 as tf

BATCH_SIZES = (32, 64, 128, 256, 512, 1024)
EARLY_STEP = 100  # Step after which memory should not grow.
FIRST = 'first'  # The collection of operations to run once, at the start.


class Table:
  """Prints and keeps the results: one row for each form and measurement."""

  def __init__(self):
    self.rows = []
    print('%-44s %-10s %9s  ratio (spread)' % ('', 'form', 'median'))

  def add(self, what, unit, rounds, baseline=baselines.CLASSICAL):
    """Adds a row for each form.

    Args:
      what: what was measured.
      unit: its unit. More is better if it ends in `/s`, else less is better.
      rounds: for each form, the values of all rounds.
      baseline: the form to compare the others with.
    """
    for form, values in rounds.items():
      ratios = np.divide(values, rounds[baseline])
      if not unit.endswith('/s'):
        ratios = 1 / ratios
      row = {
        'what': what,
        'unit': unit,
        'form': form,
        'baseline': baseline,
        'values': [float(value) for value in values],
        'median': float(np.median(values)),
        'ratio': float(np.median(ratios)),
        'lowest': float(ratios.min()),
        'highest': float(ratios.max()),
      }
      self.rows.append(row)
      print(
        '{what:33} {unit:10} {form:10} {median:9.4g}  '
        '{ratio:.2f} ({lowest:.2f} to {highest:.2f})'.format(**row),
        flush=True,
      )


@contextlib.contextmanager
def stepping(build):
  """Builds a graph and starts a session; yields a function that runs a step.

  Args:
    build: function without arguments; builds in the default graph and returns
      the operations of a step. Those in the collection FIRST run once, before
      the first step.
  """
  with tf.Graph().as_default():
    with contextlib.redirect_stdout(None):
      fetches = build()
    proto = session_settings.config_proto(Session())
    creator = tf.train.ChiefSessionCreator(config=proto)
    with tf.train.MonitoredSession(creator) as session:
      session.run(tf.get_collection(FIRST))
      yield lambda: session.run(fetches)


def rates_by_turns(builds, count, rounds, steps, warm_up):
  """The examples per second of each form in each round.

  Args:
    builds: for each form, what `stepping` takes.
    count: examples in a step.
    rounds: turns of each form.
    steps: steps in a turn.
    warm_up: steps before each turn, not counted.

  Returns:
    A dict of float64 arrays, [rounds], by form.
  """
  rates = {form: np.zeros(rounds) for form in builds}
  with contextlib.ExitStack() as stack:
    step = {f: stack.enter_context(stepping(b)) for f, b in builds.items()}
    for i in range(rounds):
      for form in builds:
        for _ in range(warm_up):
          step[form]()
        begun = time.perf_counter()
        for _ in range(steps):
          step[form]()
        rates[form][i] = count * steps / (time.perf_counter() - begun)
  return rates


def measure_input(table, data, rounds):
  """Measures batches of training images, without training."""

  def build(form):
    return [t.op for t in baselines.distorted_inputs(form, data, 128)]

  forms = (baselines.CLASSICAL, 'ours')
  builds = {form: lambda form=form: build(form) for form in forms}
  rates = rates_by_turns(builds, 128, rounds, steps=60, warm_up=20)
  table.add('input', 'images/s', rates)


def measure_normalization(table, rounds):
  """Measures local response normalization, forward and backward."""

  def build(portable):
    x, dy = (
      tf.get_variable(
        name,
        [128, 12, 12, 64],
        initializer=tf.random_normal_initializer(),
        trainable=False,
      )
      for name in ('x', 'dy')
    )
    y = layers.local_response_norm(x, 4, 0.001 / 9, 'norm1', portable)
    return [y.op, tf.gradients(y, x, dy)[0].op]

  builds = {
    baselines.CLASSICAL: lambda: build(portable=True),
    'ours': lambda: build(portable=False),
  }
  rates = rates_by_turns(builds, 1, rounds, steps=40, warm_up=3)
  table.add('LRN forward and backward', '1/s', rates)


def measure_training(
  table, what, data, rounds, forms, batch_size, batch, **turn
):
  """Measures training steps.

  Args:
    table: Table.
    what: what is measured, as the table says it.
    data: datasets.DataSet.
    rounds: turns of each form.
    forms: the forms to compare.
    batch_size: images in a batch.
    batch: function of a form that builds the batch (images, labels).
    **turn: `steps` and `warm_up` as `rates_by_turns` takes them.
  """

  def build(form):
    return baselines.train(*batch(form), form, data)

  builds = {form: lambda form=form: build(form) for form in forms}
  rates = rates_by_turns(builds, batch_size, rounds, **turn)
  table.add('%s, batch %d' % (what, batch_size), 'examples/s', rates)


def measure_towers(table, data, rounds):
  """Measures the multi-GPU trainer's step against the single-device one."""

  def towers(num_gpus):
    config = Config.of(num_gpus=num_gpus)
    with tf.device('/cpu:0'):
      train_op, _, prefetch = cifar10_multi_gpu_train.build(
        data,
        config,
        run_state.begin(data, config.examples_per_machine),
        tf.train.get_or_create_global_step(),
      )
    tf.add_to_collection(FIRST, prefetch)
    return train_op

  def one_device():
    images, labels = baselines.distorted_inputs('float32', data, 128)
    return baselines.train(images, labels, 'float32', data)

  for num_gpus in (1, 2, 4):
    builds = {'one device': one_device, 'towers': lambda n=num_gpus: towers(n)}
    rates = rates_by_turns(builds, 128, rounds, steps=20, warm_up=10)
    rates['towers'] *= num_gpus
    table.add('%d tower(s)' % num_gpus, 'examples/s', rates, 'one device')


def measure_evaluation(table, data, rounds):
  """Measures all test images, from the start of a session to its end."""

  def build(form):
    images, labels = baselines.inputs(form, data, 128)
    return tf.nn.in_top_k(baselines.inference(images, form), labels, 1)

  def evaluate(graph, correct):
    count = 0
    with graph.as_default(), tf.train.MonitoredSession() as session:
      while not session.should_stop():
        count += len(session.run(correct))
    assert count == data.count(data.test_files), count

  built = {}
  for form in baselines.FORMS:
    with tf.Graph().as_default() as graph:
      built[form] = (graph, build(form))
  seconds = {form: [] for form in built}
  for _ in range(rounds):
    for form, (graph, correct) in built.items():
      begun = time.perf_counter()
      evaluate(graph, correct)
      seconds[form].append(time.perf_counter() - begun)
  what = 'evaluation of %d' % data.count(data.test_files)
  table.add(what, 's', seconds)


def measure_starts(table, args, rounds, steps):
  """Measures the first step and the memory of new processes."""
  names = {
    'first_batch': ('first batch of the session', 's'),
    'first_step': ('first step of the process', 's'),
    'peak': ('peak memory, %d steps' % steps, 'MB'),
  }
  if steps > EARLY_STEP:
    names['growth'] = ('memory, from step %d on' % EARLY_STEP, 'x')
  values = {name: {} for name in names}
  for _ in range(rounds):
    for form in baselines.FORMS:
      command = [sys.executable, __file__, '--child=' + form]
      command += ['--steps=%d' % steps, '--data_dir=' + args.data_dir]
      command += ['--dataset=' + args.dataset]
      out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
      result = json.loads(out.decode().splitlines()[-1])
      for name in names:
        values[name].setdefault(form, []).append(result[name])
  for name, (what, unit) in names.items():
    table.add(what, unit, values[name])


def memory(field):
  """Memory of this process in MB, a field of Linux's /proc/self/status."""
  with open('/proc/self/status') as status:
    return int(re.search(field + r':\s*(\d+) kB', status.read()).group(1)) / 1e3


def child(form, data, steps):
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
      for step in range(steps):
        session.run(train_op)
        if step == min(EARLY_STEP, steps) - 1:
          early = memory('VmRSS')
      growth = memory('VmRSS') / early
  result = {'first_batch': first_batch, 'first_step': first_step}
  result.update(peak=memory('VmHWM'), growth=growth)
  print(json.dumps(result))


def machine():
  """The machine and the versions that the numbers come from, a dict."""
  model = platform.processor()
  if os.path.exists('/proc/cpuinfo'):
    with open('/proc/cpuinfo') as info:
      model = re.search(r'model name\s*:\s*(.*)', info.read()).group(1)
  return {
    'processor': model,
    'cores': os.cpu_count(),
    'gpus': len(tf.config.experimental.list_physical_devices('GPU')),
    'tensorflow': tf.__version__,
    'python': platform.python_version(),
    'date': time.strftime('%Y-%m-%d'),
  }


def measure(args, data):
  """Measures, prints the table, and writes it into --out."""
  about = machine()
  print(json.dumps(about))
  rounds = args.rounds
  table = Table()
  measure_input(table, data, rounds)
  measure_normalization(table, rounds)
  measure_training(
    table,
    'training',
    data,
    rounds,
    baselines.FORMS,
    128,
    lambda form: baselines.distorted_inputs(form, data, 128),
    steps=12 if args.quick else 40,
    # Uses up the batches that became ready during the turns of the others.
    warm_up=20,
  )
  measure_evaluation(table, data, rounds)
  if args.quick:
    measure_starts(table, args, 1, steps=30)
  else:
    for size in BATCH_SIZES:
      measure_training(
        table,
        'step',
        data,
        rounds,
        baselines.FORMS
        + ('float16',) * (size == 32)  # Slow on CPUs, so at one size only.
        + (baselines.LOCAL,) * (size == 128),
        size,
        lambda form, size=size: baselines.fixed_batch(size),
        steps=max(2, 3000 // size),
        warm_up=1,
      )
    measure_towers(table, data, rounds)
    measure_starts(table, args, rounds, steps=300)
  result = {'machine': about, 'rounds': rounds, 'rows': table.rows}
  os.makedirs(args.out, exist_ok=True)
  path = os.path.join(args.out, 'benchmark.json')
  text = json.dumps(result, indent=1) + '\n'
  files.write_atomically(path, text.encode('utf-8'))
  plot = os.path.join(os.path.dirname(__file__), 'plot.py')
  subprocess.run([sys.executable, plot, path], check=True)


def main():
  """Reads the flags and measures."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
    '--quick',
    action='store_true',
    help='leave out batch sizes, towers and long runs',
  )
  parser.add_argument(
    '--rounds',
    type=int,
    default=5,
    help='turns of each form (default %(default)s)',
  )
  parser.add_argument(
    '--out', default='.', help='folder to write to (default: this one)'
  )
  parser.add_argument(
    '--dataset',
    choices=('cifar10', 'sample'),
    default=Data.dataset,
    help='the data set (default %(default)s)',
  )
  parser.add_argument(
    '--data_dir',
    default=Data.data_dir,
    help='the folder of the data set (default %(default)s)',
  )
  # A process that this one starts, to measure its start and memory.
  parser.add_argument('--child', help=argparse.SUPPRESS)
  parser.add_argument('--steps', type=int, help=argparse.SUPPRESS)
  args = parser.parse_args()
  if args.rounds < 1:
    parser.error('--rounds=%d: expected at least 1' % args.rounds)
  try:
    if not args.child:
      optional_packages.need(
        'matplotlib', 'report', 'the chart is drawn with matplotlib'
      )
    session_settings.start_threads(Session())
    settings = Data(dataset=args.dataset, data_dir=args.data_dir)
    data = datasets.prepare(settings, Download())
  except (UserError, OSError) as error:
    sys.exit('benchmark: error: %s' % error)
  if args.child:
    child(args.child, data, args.steps)
  else:
    measure(args, data)


if __name__ == '__main__':
  main()
