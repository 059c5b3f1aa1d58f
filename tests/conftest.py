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

# What does not depend on TensorFlow, or too little to be repeated on 1.15.5:
# pages, pictures, scripts, flags, files, downloads, faults. A module that is
# named on the command line runs in any case.
_OF_ONE_VERSION = """
pages/test_exercise_* pages/test_k* pages/test_p* pages/test_r*
programs/test_bounds programs/test_flags programs/test_other_users
scripts/*
cluster/test_liveness cluster/test_local_cluster cluster/test_membership
cluster/test_s*
data/test_archive data/test_dataset_json data/test_download data/test_fetch_data
data/test_make_dataset data/test_pictures data/test_resampling
data/test_sources data/test_svhn
faults/* guard/* infer/test_contact_sheet
run/test_combinations run/test_progress run/test_recipes
tools/report/* tools/search/* tools/test_variants
util/test_commands util/test_console util/test_files util/test_folder_lock
util/test_optional_packages util/test_paths util/test_signals
"""
if tf.__version__ < '2':
  collect_ignore_glob = [name + '.py' for name in _OF_ONE_VERSION.split()]


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
