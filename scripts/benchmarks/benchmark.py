#!/usr/bin/env python
"""Measures this project against the tutorial's classical form, side by side.

    python scripts/benchmarks/benchmark.py           all of it
    python scripts/benchmarks/benchmark.py --quick   the main part, in minutes

The classical form is a queue of single images, distorted one by one, and
TensorFlow's own convolution and local response normalization, in float32. With
TensorFlow 2, Keras joins the comparison, and with the extra `.[bench]` PyTorch,
eager and compiled; bfloat16 only where there are instructions for it. The forms
take turns, so that whatever slows the machine down slows all of them down.
Compare the ratios between them: the median of all rounds, with the smallest and
the largest. Prints a table and writes `benchmark.json` and `benchmark.png` into
--out. Needs the extra `.[report]` or `.[bench]`.
"""

import importlib.util
import json
import os
import sys
import time

import package_path
from cifar10.data import datasets
from cifar10.nets import layers
from cifar10.settings import Settings
from cifar10.util import arguments
from cifar10.util import optional_packages
from cifar10.util import session_settings
import baselines
import plot
import starts
import tensorflow.compat.v1 as tf
import turns

# Forms of other frameworks, with the first arguments of their programs.
KERAS_FORMS = {'Keras': ['float32'], 'Keras bfloat16': ['mixed_bfloat16']}
PYTORCH_FORMS = {
    'PyTorch': ['float32', 'eager'],
    'PyTorch compiled': ['float32', 'compiled'],
    'PyTorch bfloat16': ['bfloat16', 'eager'],
    'PyTorch compiled bfloat16': ['bfloat16', 'compiled']
}


def measure_input(table, data, rounds):
  """Measures batches of training images, without training."""

  def build(form):
    return [t.op for t in baselines.distorted_inputs(form, data, 128)]

  names = baselines.CLASSICAL, 'ours'
  forms = {form: turns.stepping(build, form) for form in names}
  rates = turns.rates(forms, 128, rounds, steps=60, warm_up=20)
  table.add('input', 'images/s', rates)


def measure_normalization(table, rounds):
  """Measures local response normalization, forward and backward."""

  def build(portable):
    x, dy = (tf.get_variable(name, [128, 12, 12, 64],
                             initializer=tf.random_normal_initializer(),
                             trainable=False) for name in ('x', 'dy'))
    with layers.build_options(is_portable=portable):
      y = layers.lrn(x, 4, 1.0, 0.001 / 9, 0.75, 'norm1')
    return [y.op, tf.gradients(y, x, dy)[0].op]

  forms = {
      baselines.CLASSICAL: turns.stepping(build, True),
      'ours': turns.stepping(build, False)
  }
  rates = turns.rates(forms, 1, rounds, steps=40, warm_up=3)
  table.add('LRN forward and backward', '1/s', rates)


def measure_convolution(table, rounds):
  """Measures conv2, which takes most of the time of a direct training step."""
  operations = 2 * 128 * 12 * 12 * 5 * 5 * 64 * 64

  def build(form, with_gradients):
    algorithm, _, dtype = form.partition(' ')
    x, kernel, dy = (tf.get_variable(name, shape, dtype or tf.float32,
                                     tf.random_normal_initializer(),
                                     trainable=False)
                     for name, shape in (('x', [128, 12, 12, 64]),
                                         ('kernel', [5, 5, 64, 64]),
                                         ('dy', [128, 12, 12, 64])))
    with layers.build_options(conv=algorithm):
      y = layers.conv2d(x, kernel)
    gradients = tf.gradients(y, [x, kernel], dy) if with_gradients else []
    return [tensor.op for tensor in [y] + gradients]

  names = ['direct', 'winograd']
  if 'bfloat16' in baselines.FORMS:
    names.append('direct bfloat16')
  for what, passes in (('conv2 forward', 1), ('conv2 forward, backward', 3)):
    forms = {form: turns.stepping(build, form, passes > 1) for form in names}
    count = passes * operations / 1e9
    rates = turns.rates(forms, count, rounds, steps=20, warm_up=3)
    # Winograd's algorithm needs fewer; counted as if it were direct.
    table.add(what, 'GFLOP/s', rates, 'direct')


def training(data, forms, batch):
  """Training steps of some forms, as `turns.rates` takes them.

  `batch(form)` builds the images and labels.
  """

  def build(form):
    return baselines.train(*batch(form), form, data)

  return {f: turns.stepping(build, f) for f in forms}


def others(script, forms, data):
  """Training steps of forms of another framework, by a program beside this."""
  script = os.path.join(os.path.dirname(__file__), script)
  return {
      form: turns.stepping_process(
          [sys.executable, script, *first, *data.train_files])
      for form, first in forms.items()
      if 'bfloat16' in baselines.FORMS or 'bfloat16' not in form
  }


def measure_training(table, data, rounds, steps):
  """Measures training steps, with the input."""
  forms = training(data, baselines.FORMS,
                   lambda form: baselines.distorted_inputs(form, data, 128))
  if tf.__version__ >= '2':
    forms.update(others('keras_baseline.py', KERAS_FORMS, data))
    if importlib.util.find_spec('torch'):
      forms.update(others('pytorch_baseline.py', PYTORCH_FORMS, data))
  # Uses up the batches that became ready during the turns of the others.
  rates = turns.rates(forms, 128, rounds, steps=steps, warm_up=20)
  table.add('training, batch 128', 'examples/s', rates)


def measure_step(table, data, rounds):
  """Measures training steps on batches that cost nothing."""
  forms = training(data, baselines.FORMS,
                   lambda form: baselines.fixed_batch(128))
  rates = turns.rates(forms, 128, rounds, steps=23, warm_up=1)
  table.add('step, batch 128', 'examples/s', rates)


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
  table.add(f'evaluation of {data.count(data.test_files)}', 's', seconds)


def measure(args):
  """Measures, prints the table, and writes it into --out."""
  optional_packages.need('matplotlib', 'report',
                         'the chart is drawn with matplotlib')
  session_settings.start_threads(Settings())
  data = datasets.prepare(Settings(dataset=args.dataset,
                                   data_dir=args.data_dir))
  rounds = args.rounds
  print(json.dumps(turns.machine()))
  table = turns.Table()
  measure_input(table, data, rounds)
  measure_normalization(table, rounds)
  measure_convolution(table, rounds)
  measure_training(table, data, rounds, steps=12 if args.quick else 40)
  measure_evaluation(table, data, rounds)
  if args.quick:
    starts.measure(table, args, 1, steps=30)
  else:
    measure_step(table, data, rounds)
    starts.measure(table, args, rounds, steps=300)
  os.makedirs(args.out, exist_ok=True)
  path = os.path.join(args.out, 'benchmark.json')
  table.write(path, rounds)
  plot.draw([path], os.path.splitext(path)[0] + '.png')


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('--quick', action='store_true',
                      help='leave out the step alone and long runs')
  parser.add_argument('--rounds', default=5, help='turns of each form')
  parser.add_argument('--out', default='.', help='folder to write to')
  turns.add_data_flags(parser)
  parser.run(measure, rounds=(1, None))
