"""What every test needs, and which tests TensorFlow 1.15.5 repeats."""

import os

if 'PYTEST_XDIST_WORKER' in os.environ:
  # One core for each worker of pytest-xdist, and for the processes it starts.
  os.environ.setdefault('TF_NUM_INTRAOP_THREADS', '1')

import pytest
import tensorflow.compat.v1 as tf

from cifar10.settings import Settings
from cifar10.util import session_settings
from tests import processes

# As every program does at its start.
session_settings.start_threads(Settings())

processes.heed_signals()

# What is the same on every version of TensorFlow: pages, pictures, scripts,
# flags, files, downloads. All else is repeated on 1.15.5. A file that is named
# on the command line runs in any case.
if tf.__version__ < '2':
  collect_ignore_glob = [
      'faults/*', 'tools/report/*', 'tools/search/*',
      *(f'test_{name}*.py'
        for name in ('bounds', 'chart', 'compare', 'draw', 'exercise', 'flags',
                     'gradients', 'korean', 'make_sample', 'other_users',
                     'pack_model', 'plot', 'quickstart', 'recipe_times',
                     'repeat', 'reproduce', 'results', 'sparse', 'svg',
                     'tuning')),
      *(f'cluster/test_{name}*.py'
        for name in ('liveness', 'local_cluster', 'membership', 'servers',
                     'session', 'shared_state', 'slurm')),
      *(f'data/test_{name}*.py'
        for name in ('archive', 'dataset_json', 'download', 'fetch_data',
                     'make_dataset', 'pictures', 'sources', 'svhn')),
      *(f'run/test_{name}*.py'
        for name in ('combinations', 'diagnosis', 'progress', 'recipes')),
      *(f'util/test_{name}*.py'
        for name in ('commands', 'console', 'files', 'folder_lock',
                     'optional_packages', 'paths')), 'tools/test_variants.py'
  ]


@pytest.fixture(autouse=True)
def graph():
  """A default graph of the test's own."""
  with tf.Graph().as_default() as default_graph:
    tf.set_random_seed(1)
    yield default_graph


@pytest.fixture
def traced():
  """A function that runs tensors with feeds; returns what was run, labels."""

  def labels(tensors, feeds):
    metadata, options = tf.RunMetadata(), tf.RunOptions(
        trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
      session.run(tensors, feeds, options, metadata)
    return [
        node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    ]

  return labels
