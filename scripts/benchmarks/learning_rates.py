#!/usr/bin/env python
"""Measures how the cross entropy falls at several learning rates.

    python scripts/benchmarks/learning_rates.py --out=learning_rates.json

Trains the tutorial's network at each rate, from the same initial weights. The
JSON file holds the cross entropy of the training batches, without weight decay,
each the mean of ten steps. A run ends at a value that is not finite.
scripts/pages/draw_training.py draws it.
"""

import package_path
from cifar10 import cifar10
from cifar10.data import datasets
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import arguments
from cifar10.util import files
from cifar10.util import session_settings
import compare
import numpy as np
import turns
import tensorflow.compat.v1 as tf

_STEPS_OF_MEAN = 10
_RATES = 0.001, 0.01, 0.1, 0.4, 1.0, 3.0


def cross_entropies(settings, data, steps):
  """Trains; returns the cross entropy of each `_STEPS_OF_MEAN` steps."""
  with tf.Graph().as_default():
    tf.set_random_seed(settings.seed)
    images, labels = cifar10.distorted_inputs(settings, data)
    loss = cifar10.loss(cifar10.inference(images), labels)
    losses = {value.op.name: value for value in tf.get_collection('losses')}
    train_op = cifar10.train(
        loss, tf.train.get_or_create_global_step(), settings,
        run_state.begin(data, settings.examples_per_machine).pace(settings))
    config = session_settings.config_proto(settings)
    with tf.train.MonitoredSession(
        tf.train.ChiefSessionCreator(config=config)) as session:
      found = []
      while len(found) < steps and np.all(np.isfinite(found[-1:])):
        found.append(session.run([losses['cross_entropy'], train_op])[0])
  means = np.reshape(found[:len(found) // _STEPS_OF_MEAN * _STEPS_OF_MEAN],
                     [-1, _STEPS_OF_MEAN]).mean(1, float)
  return means[np.isfinite(means)].tolist()


def measure(args):
  """Measures all rates, and writes what was found into --out."""
  compare.open_results(args.out)  # Finds out first whether that can be written.
  runs = []
  for rate in _RATES:
    settings = cifar10.with_constants(
        Settings(seed=1, dataset=args.dataset, data_dir=args.data_dir,
                 learning_rate=rate))
    found = cross_entropies(settings, datasets.prepare(settings), args.steps)
    runs.append({'learning_rate': rate, 'cross_entropy': found})
    print(rate, len(found), found[-1:], flush=True)
  files.write_json(
      args.out, {
          'machine': turns.machine(),
          'batch_size': Settings.batch_size,
          'steps': args.steps,
          'steps of a mean': _STEPS_OF_MEAN,
          'runs': runs
      })


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('--steps', default=1500, help='steps at each rate')
  turns.add_data_flags(parser)
  parser.add_argument('--out', required=True, help='the JSON file to write')
  parser.run(measure, steps=(1, None))
