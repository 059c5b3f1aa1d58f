#!/usr/bin/env python
"""Measures training with oneDNN against training without it, in turns.

    python scripts/benchmarks/onednn.py --out=docs/results/onednn.json

The classical form (see baselines.py) and this project train end to end, each
with oneDNN and without, in four processes. Prints their ratios to the classical
form without oneDNN, which is TensorFlow's default on processors that have AVX2
but no instructions for neural networks. Needs TensorFlow 2.
"""

import sys

import package_path
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.util import arguments
import baselines
import benchmark
import compare
import tensorflow.compat.v1 as tf
import turns

_BATCH_SIZE = 128
_SWITCH = 'TF_ENABLE_ONEDNN_OPTS'


def take_steps(form):
  """Trains a step for each line of standard input and answers with a line."""
  data = datasets.prepare(Settings())
  steps = benchmark.training(
      data, [form],
      lambda form: baselines.distorted_inputs(form, data, _BATCH_SIZE))
  with steps[form] as step:
    for _ in sys.stdin:
      step()
      print(flush=True)


def _steps_of(form, switch):
  """A context manager like `turns.stepping`: the form's steps in a process."""
  command = ['env', f'{_SWITCH}={switch}', sys.executable, __file__]
  return turns.stepping_process([*command, f'--steps_of={form}'])


def measure(args):
  """Measures the four, prints the table and writes it into --out."""
  if tf.__version__ < '2':
    raise UserError(f'TensorFlow {tf.__version__} has no oneDNN; expected 2')
  compare.open_results(args.out)  # Finds out first whether that can be written.
  table = turns.Table()
  forms = {
      form + name: _steps_of(form, switch)
      for switch, name in (('0', ''), ('1', ', oneDNN'))
      for form in (baselines.CLASSICAL, 'float32')
  }
  rates = turns.rates(forms, _BATCH_SIZE, args.rounds, steps=40, warm_up=20)
  table.add('training, batch 128', 'examples/s', rates)
  table.write(args.out, args.rounds)


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('--out', default='onednn.json', help='the JSON file')
  parser.add_argument('--rounds', default=5, help='turns of each form')
  parser.add_argument('--steps_of', default='',
                      help='take steps of this form when told to')
  parser.run(
      lambda args: take_steps(args.steps_of)
      if args.steps_of else measure(args), rounds=(1, None))
