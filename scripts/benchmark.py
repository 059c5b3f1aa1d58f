#!/usr/bin/env python
"""Measures this project against the tutorial's classical form, side by side.

    python scripts/benchmark.py            everything
    python scripts/benchmark.py --quick    a shorter look, in two minutes

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
from unittest import mock

BEGUN = time.time()
# TensorFlow 2 logs an error where the classical form transposes bytes.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10 import cifar10_multi_gpu_train
from cifar10 import dataset
from cifar10 import files
from cifar10 import layers
from cifar10 import sessions
from cifar10.config import Config
from tests import reference
import numpy as np
import tensorflow.compat.v1 as tf

BATCH_SIZES = (32, 64, 128, 256, 512, 1024)
CLASSICAL = 'classical'
PRECISIONS = ('float32', 'bfloat16')
FIRST = 'first'


class Table:
  """Prints and keeps the results: one row for each form and measurement."""

  def __init__(self):
    self.rows = []
    print('%-44s %-10s %9s  ratio (spread)' % ('', 'form', 'median'))

  def add(self, what, unit, rounds, baseline, inverse=False):
    """Adds a row for each form.

    Args:
      what: what was measured.
      unit: its unit.
      rounds: for each form, the values of all rounds.
      baseline: the form that others are compared with.
      inverse: whether less is better, so that ratios are turned around.
    """
    for form, values in rounds.items():
      ratios = np.divide(values, rounds[baseline])
      if inverse:
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
    proto = sessions.session_config(Config())
    creator = tf.train.ChiefSessionCreator(config=proto)
    with tf.train.MonitoredSession(creator) as session:
      session.run(tf.get_collection(FIRST))
      yield lambda: session.run(fetches)


def seconds_by_turns(builds, rounds, steps, warm_up=3):
  """The seconds of a step of each form, for each round.

  Args:
    builds: for each form, what `stepping` takes.
    rounds: how often each form has its turn.
    steps: how many steps a turn has.
    warm_up: how many steps before each turn are not counted.
  """
  seconds = {form: [] for form in builds}
  with contextlib.ExitStack() as stack:
    step = {f: stack.enter_context(stepping(b)) for f, b in builds.items()}
    for _ in range(rounds):
      for form in builds:
        for _ in range(warm_up):
          step[form]()
        begun = time.perf_counter()
        for _ in range(steps):
          step[form]()
        seconds[form].append((time.perf_counter() - begun) / steps)
  return seconds


def rates(seconds, count):
  """Seconds a step, as `count` a step by the second."""
  return {form: count / np.array(values) for form, values in seconds.items()}


def train_on(images, labels, form, config):
  """Builds the trainer's step in the classical form or in a precision."""
  global_step = tf.train.get_or_create_global_step()
  if form == CLASSICAL:
    with mock.patch.object(layers, 'banded_lrn', reference.tensorflow_lrn):
      logits = cifar10.inference(images)
  else:
    logits = cifar10.inference(images, precision=form)
  return cifar10.train(cifar10.loss(logits, labels), global_step, config)


def batches(form, data, batch_size):
  """Builds the training input in the classical form or in ours."""
  if form == CLASSICAL:
    return reference.classical_distorted_inputs(
      data.train_files, data.count(data.train_files), batch_size
    )
  return cifar10_input.distorted_inputs(data, batch_size)


def fixed_batch(batch_size):
  """A batch that costs nothing: images [batch_size, 24, 24, 3] and labels."""
  with tf.device('/cpu:0'):
    images = tf.get_variable(
      'images',
      [batch_size, 24, 24, 3],
      initializer=tf.random_normal_initializer(),
      trainable=False,
    )
  return images, tf.constant(np.arange(batch_size) % 10, tf.int32)


def measure_input(table, data, rounds):
  """Batches of training images, without training."""

  def build(form):
    return [tensor.op for tensor in batches(form, data, 128)]

  builds = {f: lambda f=f: build(f) for f in (CLASSICAL, 'ours')}
  seconds = seconds_by_turns(builds, rounds, steps=60, warm_up=20)
  table.add('input', 'images/s', rates(seconds, 128), CLASSICAL)


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
    CLASSICAL: lambda: build(reference.tensorflow_lrn),
    'ours': lambda: build(layers.local_response_norm),
  }
  seconds = seconds_by_turns(builds, rounds, steps=40)
  milliseconds = {f: 1e3 * np.array(v) for f, v in seconds.items()}
  table.add('LRN alone', 'ms', milliseconds, CLASSICAL, inverse=True)


def measure_steps(table, rounds, batch_size, forms):
  """Steps of training on images that are there already."""

  def build(form):
    return train_on(*fixed_batch(batch_size), form, Config())

  builds = {form: lambda form=form: build(form) for form in forms}
  steps = max(2, 2048 // batch_size)
  seconds = seconds_by_turns(builds, rounds, steps, warm_up=1)
  what = 'training step, batch %d' % batch_size
  table.add(what, 'examples/s', rates(seconds, batch_size), CLASSICAL)


def measure_training(table, data, rounds):
  """Training from the files on."""

  def build(form):
    return train_on(*batches(form, data, 128), form, Config())

  builds = {f: lambda f=f: build(f) for f in (CLASSICAL,) + PRECISIONS}
  seconds = seconds_by_turns(builds, rounds, steps=40, warm_up=20)
  what = 'training, end to end, batch 128'
  table.add(what, 'examples/s', rates(seconds, 128), CLASSICAL)


def measure_towers(table, data, rounds):
  """The multi-GPU trainer's step beside that of the single-device trainer."""

  def build(num_gpus):
    global_step = tf.train.get_or_create_global_step()
    config = Config(num_gpus=num_gpus)
    towers = cifar10_multi_gpu_train.build(data, config, global_step)
    tf.add_to_collection(FIRST, towers.prefetch)
    return towers.train_op

  def single():
    return train_on(*batches('float32', data, 128), 'float32', Config())

  for num_gpus in (1, 2, 4):
    builds = {'one device': single, 'towers': lambda n=num_gpus: build(n)}
    seconds = seconds_by_turns(builds, rounds, steps=20, warm_up=10)
    examples = {'one device': 128, 'towers': 128 * num_gpus}
    rate = {f: examples[f] / np.array(v) for f, v in seconds.items()}
    table.add('%d tower(s)' % num_gpus, 'examples/s', rate, 'one device')


def measure_evaluation(table, data, rounds):
  """All test images, from the start of a session to its end."""

  def build(form):
    if form == CLASSICAL:
      images, labels = reference.classical_inputs(data.test_files, 128)
      with mock.patch.object(layers, 'banded_lrn', reference.tensorflow_lrn):
        logits = cifar10.inference(images)
    else:
      images, labels = cifar10_input.inputs(data, 'test', 128)
      logits = cifar10.inference(images, precision=form)
    return tf.nn.in_top_k(logits, labels, 1)

  def evaluate(graph, correct):
    count = 0
    with graph.as_default(), tf.train.MonitoredSession() as session:
      while not session.should_stop():
        count += len(session.run(correct))
    assert count == data.count(data.test_files), count

  forms = {}
  for form in (CLASSICAL,) + PRECISIONS:
    with tf.Graph().as_default() as graph:
      forms[form] = (graph, build(form))
  seconds = {form: [] for form in forms}
  for _ in range(rounds):
    for form, (graph, correct) in forms.items():
      begun = time.perf_counter()
      evaluate(graph, correct)
      seconds[form].append(time.perf_counter() - begun)
  what = 'evaluation of %d' % data.count(data.test_files)
  table.add(what, 's', seconds, CLASSICAL, inverse=True)


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
    for form in (CLASSICAL,) + PRECISIONS:
      command = [sys.executable, os.path.abspath(__file__), '--child=' + form]
      command += ['--steps=%d' % steps, '--data_dir=' + args.data_dir]
      command += ['--dataset=' + args.dataset]
      out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
      for name, value in json.loads(out.decode().splitlines()[-1]).items():
        values[name].setdefault(form, []).append(value)
  for name, (what, unit) in names.items():
    table.add(what, unit, values[name], CLASSICAL, inverse=True)


def memory(field):
  """What Linux says of the memory of this process, in MB."""
  with open('/proc/self/status') as status:
    return int(re.search(field + r':\s*(\d+) kB', status.read()).group(1)) / 1e3


def child(form, data, steps):
  """Trains `steps` steps and prints how that went, as JSON."""
  with tf.Graph().as_default():
    images, labels = batches(form, data, 128)
    train_op = train_on(images, labels, form, Config())
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
  print(
    json.dumps(
      {
        'first_batch': first_batch,
        'first_step': first_step,
        'peak': memory('VmHWM'),
        'growth': growth,
      }
    )
  )


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
  data = dataset.prepare(Config(dataset=args.dataset, data_dir=args.data_dir))
  about = machine()
  print(json.dumps(about))
  rounds = 3 if args.quick else args.rounds
  table = Table()
  measure_input(table, data, rounds)
  measure_normalization(table, rounds)
  measure_training(table, data, rounds)
  measure_evaluation(table, data, rounds)
  if args.quick:
    measure_starts(table, args, 1, steps=30)
  else:
    for batch_size in BATCH_SIZES:
      measure_steps(table, rounds, batch_size, (CLASSICAL,) + PRECISIONS)
    measure_steps(table, rounds, 128, (CLASSICAL, 'float16'))
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
  sessions.start(Config())
  if args.child:
    data = dataset.prepare(Config(dataset=args.dataset, data_dir=args.data_dir))
    child(args.child, data, args.steps)
  else:
    measure(args)


if __name__ == '__main__':
  main()
