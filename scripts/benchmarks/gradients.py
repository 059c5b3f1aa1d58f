#!/usr/bin/env python
"""Measures how the gradients of each layer change in the first steps.

    python scripts/benchmarks/gradients.py --out=docs/results/gradients.json

Trains the tutorial's network with ReLU, with sigmoid, and with sigmoid and
batch normalization. Before each step it computes, on one batch that stays the
same, the gradients of the cross entropy, without weight decay, and their norms:
one for the weights of each layer. Writes a JSON file, which
plot.py draws.
"""

import package_path
from cifar10 import cifar10
from cifar10 import networks
from cifar10.data import datasets
from cifar10.nets import variable_scope
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import arguments
from cifar10.util import files
from cifar10.util import session_settings
import compare
import numpy as np
import turns
import tensorflow.compat.v1 as tf

VARIANTS = {
    'sigmoid': {
        'activation': 'sigmoid'
    },
    'sigmoid, batch normalization': {
        'activation': 'sigmoid',
        'normalization': 'batch'
    },
    'ReLU': {}
}


def measure_variant(settings, data, steps):
  """Trains a variant; returns what was found before each step, and at the end.

  A dict: 'cross_entropy', a list of numbers, and 'norms', a dict of such lists
  by the names of the layers.
  """
  with tf.Graph().as_default():
    tf.set_random_seed(settings.seed)
    images, labels = cifar10.distorted_inputs(settings, data)
    with variable_scope.training_scope(settings):
      loss = cifar10.loss(
          networks.inference(images, settings, is_training=True), labels)
      train_op = cifar10.train(
          loss, tf.train.get_or_create_global_step(), settings,
          run_state.begin(data, settings.examples_per_machine).pace(settings))
    fixed = [tf.placeholder(t.dtype, t.shape) for t in (images, labels)]
    reused = tf.variable_scope('', reuse=True)
    with variable_scope.training_scope(settings), reused:
      logits = networks.inference(fixed[0], settings, is_training=True)
    cross_entropy = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=fixed[1],
                                                       logits=logits))
    weights = tf.get_collection(tf.GraphKeys.WEIGHTS)
    layers = [variable.op.name.split('/')[0] for variable in weights]
    norms = [tf.norm(g) for g in tf.gradients(cross_entropy, weights)]
    with tf.train.MonitoredSession(
        tf.train.ChiefSessionCreator(
            config=session_settings.config_proto(settings))) as session:
      feeds = dict(zip(fixed, session.run([images, labels])))
      found = []
      for step in range(steps + 1):
        found.append(session.run([cross_entropy, *norms], feeds))
        if step < steps:
          session.run(train_op)
  values, *norms = np.array(found, float).T.tolist()
  return {'cross_entropy': values, 'norms': dict(zip(layers, norms))}


def measure(args):
  """Measures all variants, and writes what was found into --out."""
  compare.open_results(args.out)  # Finds out first whether that can be written.
  runs = []
  for name, changes in VARIANTS.items():
    settings = cifar10.with_constants(
        Settings(seed=1, dataset=args.dataset, data_dir=args.data_dir,
                 batch_size=args.batch_size, **changes))
    data = datasets.prepare(settings)
    found = measure_variant(settings, data, args.steps)
    runs.append({'name': name, 'settings': changes, **found})
    print(name, 'cross entropy %.3f' % found['cross_entropy'][-1], {
        layer: '%.2g' % norms[-1] for layer, norms in found['norms'].items()
    })
  files.write_json(args.out, {
      'machine': turns.machine(),
      'batch_size': args.batch_size,
      'runs': runs
  })


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('--steps', default=50, help='steps of each run')
  parser.add_argument('--batch_size', default=128, help='images in a batch')
  turns.add_data_flags(parser)
  parser.add_argument('--out', required=True, help='the JSON file to write')
  parser.run(measure, steps=(1, None), batch_size=(1, None))
