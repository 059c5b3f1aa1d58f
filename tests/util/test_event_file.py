"""Event files: what TensorBoard reads, and a disk that is full."""

import os
import resource

import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import event_file


def events(directory):
  (name,) = os.listdir(str(directory))
  assert name.startswith('events.out.tfevents.')
  return list(tf.train.summary_iterator(str(directory / name)))


def test_events_are_read_back(tmp_path):
  summary = tf.Summary()
  summary.value.add(tag='x', simple_value=0.5)
  with tf.Graph().as_default() as graph:
    tf.constant(1, name='one')
  folder = tmp_path / 'new'
  with event_file.EventFile(str(folder)) as file:
    file.add_graph(graph)
    file.add_summary(summary, 7)
    assert len(events(folder)) == 3  # They are there at once.
    file.add_summary(summary.SerializeToString(), 8)
  version, shown, seven, eight = events(folder)
  assert version.file_version == 'brain.Event:2'
  nodes = tf.GraphDef.FromString(shown.graph_def).node
  assert [node.name for node in nodes] == ['one']
  assert (seven.step, seven.summary) == (7, summary)
  assert (eight.step, eight.summary) == (8, summary)
  assert seven.wall_time <= eight.wall_time


def test_a_full_disk_names_the_file(tmp_path):
  before = resource.getrlimit(resource.RLIMIT_FSIZE)
  text = tf.Summary(value=[tf.Summary.Value(tag='x' * 10000)])
  with event_file.EventFile(str(tmp_path)) as file:
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
      with pytest.raises(UserError) as info:
        for step in range(10):
          file.add_summary(text, step)
    finally:
      resource.setrlimit(resource.RLIMIT_FSIZE, before)
  (name,) = os.listdir(str(tmp_path))
  assert str(info.value).startswith(
    '%s: cannot be written: ' % (tmp_path / name)
  )
