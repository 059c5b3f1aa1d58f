"""Finds the project, and gives each check a graph of its own."""

import os
import sys

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')  # Only checks print.
sys.path.insert(0, os.path.abspath(os.path.join(__file__, '..', '..', '..')))

import pytest
import tensorflow.compat.v1 as tf

import cifar10  # noqa: F401  Turns on graph mode.


@pytest.fixture(autouse=True)
def graph():
  """A default graph with a seed."""
  with tf.Graph().as_default() as default_graph:
    tf.set_random_seed(1)
    yield default_graph
