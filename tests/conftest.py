"""What every test needs."""

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
