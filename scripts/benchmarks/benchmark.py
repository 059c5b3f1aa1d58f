#!/usr/bin/env python
"""Measures this project against the tutorial's classical form, side by side.

    python scripts/benchmarks/benchmark.py            everything
    python scripts/benchmarks/benchmark.py --quick    a shorter look, in two minutes

The classical form is a queue of single images, distorted one by one, and
TensorFlow's own local response normalization, in float32. Forms to compare
take turns, so that what slows the machine down slows them all down; what
counts are the ratios between them: the median of all rounds, with the smallest
and the largest. Prints a table and writes `benchmark.json` and `benchmark.png`
into --out. Needs the extra `.[plot]`.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import time

BEGUN = time.time()
# TensorFlow 2 logs an error where the classical form transposes bytes.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 2))
sys.path.insert(0, ROOT)

from cifar10 import cifar10_multi_gpu_train
from cifar10.data import datasets
from cifar10.util import files
from cifar10.model import layers
from cifar10.util import session_settings
from cifar10.config import Config
from tests import reference
import forms
import numpy as np
import tensorflow.compat.v1 as tf

BATCH_SIZES = (32, 64, 128, 256, 512, 1024)
FIRST = 'first'


class Table:
  """Prints and keeps the results: one row for each form and measurement."""

  def __init__(self):
    self.rows = []
    print('%-44s %-10s %9s  ratio (spread)' % ('', 'form', 'median'))

  def add(self, what, unit, rounds, baseline=forms.CLASSICAL):
    """Adds a row for each form.

    Args:
      what: what was measured.
      unit: its unit; of what is not by the second, less is better.
      rounds: for each form, the values of all rounds.
      baseline: the form that others are compared with.
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
      the operations of a step. Those in the collection FIRST are run once
      before.
  """
  with tf.Graph().as_default():
    with contextlib.redirect_stdout(None):
      fetches = build()
    proto = session_settings.config_proto(Config())
    creator = tf.train.ChiefSessionCreator(config=proto)
    with tf.train.MonitoredSession(creator) as session:
      session.run(tf.get_collection(FIRST))
      yield lambda: session.run(fetches)


def rates_by_turns(builds, count, rounds, steps, warm_up):
  """How many examples a second each form takes, for each round.

  Args:
    builds: for each form, what `stepping` takes.
    count: how many examples a step has.
    rounds: how often each form has its turn.
    steps: how many steps a turn has.
    warm_up: how many steps before each turn are not counted.
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
  """Batches of training images, without training."""

  def build(form):
    return [tensor.op for tensor in forms.batches(form, data, 128)]

  builds = {f: lambda f=f: build(f) for f in (forms.CLASSICAL, 'ours')}
  rates = rates_by_turns(builds, 128, rounds, steps=60, warm_up=20)
  table.add('input', 'images/s', rates)


def measure_normalization(table, rounds):
  """Local response normalization of norm1, forward and backward."""

  def build(normalize):
    x, dy = (
      tf.get_variable(
        name,
        [128, 12, 12, 64],
        initializer=tf.random_normal_initializer(),
        trainable=False,
      )
      for name in ('x', 'dy')
    )
    y = normalize(x, 4, 0.001 / 9, 'norm1')
    return [y.op, tf.gradients(y, x, dy)[0].op]

  builds = {
    forms.CLASSICAL: lambda: build(reference.tensorflow_lrn),
    'ours': lambda: build(layers.local_response_norm),
  }
  rates = rates_by_turns(builds, 1, rounds, steps=40, warm_up=3)
  table.add('LRN forward and backward', '1/s', rates)


def measure_training(table, what, rounds, which, batch_size, images, **turn):
  """Training in `which` forms; `images(form)` builds images and labels.

  What a `turn` of a form is, is as `rates_by_turns` takes it.
  """

  def build(form):
    return forms.train_on(*images(form), form, Config())

  builds = {form: lambda form=form: build(form) for form in which}
  rates = rates_by_turns(builds, batch_size, rounds, **turn)
  table.add('%s, batch %d' % (what, batch_size), 'examples/s', rates)


def measure_towers(table, data, rounds):
  """The multi-GPU trainer's step beside that of the single-device trainer."""

  def build(num_gpus):
    global_step = tf.train.get_or_create_global_step()
    config = Config(num_gpus=num_gpus)
    train_op, towers = cifar10_multi_gpu_train.build(data, config, global_step)
    tf.add_to_collection(FIRST, towers.prefetch)
    return train_op

  def single():
    return forms.train_on(
      *forms.batches('float32', data, 128), 'float32', Config()
    )

  for num_gpus in (1, 2, 4):
    builds = {'one device': single, 'towers': lambda n=num_gpus: build(n)}
    rates = rates_by_turns(builds, 128, rounds, steps=20, warm_up=10)
    rates['towers'] *= num_gpus
    table.add('%d tower(s)' % num_gpus, 'examples/s', rates, 'one device')


def measure_evaluation(table, data, rounds):
  """All test images, from the start of a session to its end."""

  def build(form):
    images, labels = forms.test_batches(form, data, 128)
    return tf.nn.in_top_k(forms.logits_of(images, form), labels, 1)

  def evaluate(graph, correct):
    count = 0
    with graph.as_default(), tf.train.MonitoredSession() as session:
      while not session.should_stop():
        count += len(session.run(correct))
    assert count == data.count(data.test_files), count

  built = {}
  for form in forms.ALL:
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
  """Time to the first step and memory, of processes of their own."""
  names = {
    'first_batch': ('first batch of the session', 's'),
    'first_step': ('first step of the process', 's'),
    'peak': ('peak memory, %d steps' % steps, 'MB'),
    'growth': ('memory, from step 100 on', 'x'),
  }
  values = {name: {} for name in names}
  for _ in range(rounds):
    for form in forms.ALL:
      command = [sys.executable, os.path.abspath(__file__), '--child=' + form]
      command += ['--steps=%d' % steps, '--data_dir=' + args.data_dir]
      command += ['--dataset=' + args.dataset]
      out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
      for name, value in json.loads(out.decode().splitlines()[-1]).items():
        values[name].setdefault(form, []).append(value)
  for name, (what, unit) in names.items():
    table.add(what, unit, values[name])


def memory(field):
  """What Linux says of the memory of this process, in MB."""
  with open('/proc/self/status') as status:
    return int(re.search(field + r':\s*(\d+) kB', status.read()).group(1)) / 1e3


def child(form, data, steps):
  """Trains `steps` steps and prints how that went, as JSON."""
  with tf.Graph().as_default():
    images, labels = forms.batches(form, data, 128)
    train_op = forms.train_on(images, labels, form, Config())
    with tf.train.MonitoredSession() as session:
      started = time.perf_counter()
      session.run([images.op, labels.op])
      first_batch = time.perf_counter() - started
      session.run(train_op)
      first_step = time.time() - BEGUN
      for step in range(steps):
        session.run(train_op)
        if step == min(100, steps) - 1:
          early = memory('VmRSS')
      growth = memory('VmRSS') / early
  result = {'first_batch': first_batch, 'first_step': first_step}
  result.update(peak=memory('VmHWM'), growth=growth)
  print(json.dumps(result))


def machine():
  """What the numbers were measured on."""
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


def measure(args):
  """Measures what `args` asks for, prints it and writes it into --out."""
  data = datasets.prepare(Config(dataset=args.dataset, data_dir=args.data_dir))
  about = machine()
  print(json.dumps(about))
  rounds = args.rounds
  table = Table()
  measure_input(table, data, rounds)
  measure_normalization(table, rounds)
  measure_training(
    table,
    'training',
    rounds,
    forms.ALL,
    128,
    lambda form: forms.batches(form, data, 128),
    steps=12 if args.quick else 40,
    # What was prepared while the others had their turns is used up.
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
        rounds,
        forms.ALL
        + ('float16',) * (size == 32)  # It takes its time.
        + (forms.LOCAL,) * (size == 128),
        size,
        lambda form, size=size: forms.fixed_batch(size),
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
  plot = os.path.join(ROOT, 'scripts', 'plot.py')
  subprocess.run([sys.executable, plot, path], check=True)


def main():
  """Reads the flags and measures."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('--quick', action='store_true', help='less of it')
  parser.add_argument(
    '--rounds', type=int, default=5, help='turns of each form (default 5)'
  )
  parser.add_argument('--out', default='.', help='folder of the results')
  parser.add_argument('--dataset', default='cifar10', help='or sample')
  parser.add_argument('--data_dir', default=Config.data_dir)
  # A process that this one starts, to measure its start and memory.
  parser.add_argument('--child', help=argparse.SUPPRESS)
  parser.add_argument('--steps', type=int, help=argparse.SUPPRESS)
  args = parser.parse_args()
  if importlib.util.find_spec('matplotlib') is None:
    parser.error("the chart needs matplotlib: pip install '.[plot]'")
  session_settings.start(Config())
  if args.child:
    data = datasets.prepare(Config(dataset=args.dataset, data_dir=args.data_dir))
    child(args.child, data, args.steps)
  else:
    measure(args)


if __name__ == '__main__':
  main()
