"""Summaries: tags, contents, event files, and a disk that is full."""

import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.util import summaries
from tests import graphs
from tests import processes
from tests import short_runs


def values_of(summary):
  """The values of a serialized summary: a dict by tag."""
  return {v.tag: v for v in tf.Summary.FromString(summary).value}


def test_the_name_scope_changes_the_operation_but_not_the_tag(graph):
  with tf.name_scope('outer'):
    summaries.scalar('a/b', tf.constant(2.0))
    summaries.histogram('a/b_c', tf.constant([1.0]))
  names = {operation.name.split('/')[0] for operation in graph.get_operations()}
  assert names == {'outer'}
  found = values_of(graphs.run(tf.summary.merge_all()))
  assert sorted(found) == ['a/b', 'a/b_c']
  assert found['a/b'].simple_value == 2


def test_values_that_are_not_finite_count_as_zero_in_a_histogram():
  summaries.histogram('x', tf.constant([1.0, np.nan, np.inf, -2.0]))
  found = values_of(graphs.run(tf.summary.merge_all()))
  assert found['x'].histo.num == 4
  assert found['x'].histo.sum == -1
  assert (found['x'].histo.min, found['x'].histo.max) == (-2, 1)


def table_of(value):
  """The rows of a text summary: a list of lists of strings."""
  assert value.metadata.plugin_data.plugin_name == 'text'
  table = tf.make_ndarray(value.tensor)
  return [[cell.decode('utf-8') for cell in row] for row in table.tolist()]


@pytest.mark.parametrize('training, batch_size, shown', [(True, 3, 3),
                                                         (True, 25, 10),
                                                         (False, 10, 10)])
def test_images_come_with_the_names_of_their_classes(training, batch_size,
                                                     shown):
  config = Settings(dataset='sample', batch_size=batch_size)
  data = short_runs.prepared(config)
  if training:
    _, labels = cifar10.distorted_inputs(config, data)
  else:
    _, labels = cifar10.inputs(eval_data=True, settings=config, data=data)
  fetches = [labels, tf.summary.merge_all()]
  with tf.train.MonitoredSession() as session:
    for _ in range(2):
      batch, summary = session.run(fetches)
      found = values_of(summary)
      tags = sorted(tag for tag in found if tag.startswith('images'))
      assert tags == ['images/image/%d' % i for i in range(shown)]
      assert table_of(found['labels']) == [
          [tag, datasets.CLASSES[label]] for tag, label in zip(tags, batch)
      ]


def events(directory):
  (name,) = os.listdir(str(directory))
  assert name.startswith('events.out.tfevents.')
  return list(tf.train.summary_iterator(str(directory / name)))


def test_events_are_read_back(tmp_path, monkeypatch):
  summary = tf.Summary()
  summary.value.add(tag='x', simple_value=0.5)
  with tf.Graph().as_default() as graph:
    tf.constant(1, name='one')
  folder = tmp_path / 'new'
  with summaries.EventFile(str(folder)) as file:
    file.add_graph(graph)
    file.add_start(7)
    file.add_summary(summary, 7)
    assert len(events(folder)) == 4  # They are there at once.
    file.add_summary(summary.SerializeToString(), 8)
  version, shown, start, seven, eight = events(folder)
  assert version.file_version == 'brain.Event:2'
  nodes = tf.GraphDef.FromString(shown.graph_def).node
  assert [node.name for node in nodes] == ['one']
  assert (start.step, start.session_log.status) == (7, tf.SessionLog.START)
  assert (seven.step, seven.summary) == (7, summary)
  assert (eight.step, eight.summary) == (8, summary)
  assert seven.wall_time <= eight.wall_time
  # Files of the same second are kept.
  monkeypatch.setattr(summaries.time, 'time', lambda: 1000.0)
  for _ in range(2):
    with summaries.EventFile(str(folder)):
      pass
  assert len(os.listdir(str(folder))) == 3


def test_a_full_disk_names_the_file(tmp_path):
  text = tf.Summary(value=[tf.Summary.Value(tag='x' * 10000)])
  with summaries.EventFile(str(tmp_path)) as file:
    with processes.full_disk(5000), pytest.raises(UserError) as info:
      for step in range(10):
        file.add_summary(text, step)
  (name,) = os.listdir(str(tmp_path))
  assert str(info.value).startswith('%s: cannot be written: ' %
                                    (tmp_path / name))
