"""The tutorial's exercises: an edit of `inference()` counts."""

import os
import shutil

import pytest
import tensorflow.compat.v1 as tf

from tests import processes
from tests import short_runs

EDITS = [
    # Another number of filters in conv2.
    ('[5, 5, 64, 64]', '[5, 5, 64, 48]'),
    ('[64], tf.constant_initializer(0.1)',
     '[48], tf.constant_initializer(0.1)'),
    # Probabilities in place of logits.
    ('  return softmax_linear\n',
     "  return tf.nn.softmax(softmax_linear, name='edited')\n")
]


@pytest.mark.slow
def test_the_trainer_trains_the_edited_network(tmp_path):
  package = tmp_path / 'cifar10'
  shutil.copytree(os.path.join(short_runs.ROOT, 'cifar10'), str(package),
                  ignore=shutil.ignore_patterns('__pycache__'))
  source = package / 'cifar10.py'
  text = source.read_text()
  for before, after in EDITS:
    assert text.count(before) == 1
    text = text.replace(before, after)
  source.write_text(text)
  run = tmp_path / 'run'
  # From the folder of the programs, as the tutorial says.
  processes.output([
      'cifar10_train.py', '--dataset=sample', '--max_steps=1', '--batch_size=4',
      f'--train_dir={run}'
  ], cwd=str(package), env=dict(os.environ, PYTHONPATH=''),
                   modules=('tensorflow.compat.v1',), errors=processes.ANY)
  shapes = tf.train.load_checkpoint(str(run)).get_variable_to_shape_map()
  assert shapes['conv2/weights'] == [5, 5, 64, 48]
  assert shapes['local3/weights'] == [6 * 6 * 48, 384]
  graph = tf.MetaGraphDef.FromString((run / 'model.ckpt-1.meta').read_bytes())
  kinds = {node.name: node.op for node in graph.graph_def.node}
  assert kinds['edited'] == 'Softmax'
