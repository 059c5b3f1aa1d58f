"""Summaries: their tags, in any name scope, and their contents."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.data import datasets
from cifar10.settings import Settings
from cifar10.util import summaries
from tests import short_runs


@pytest.fixture(autouse=True)
def graph():
  with tf.Graph().as_default() as graph:
    yield graph


def values_of(summary):
  """The values of a serialized summary: a dict by tag."""
  return {v.tag: v for v in tf.Summary.FromString(summary).value}


def test_the_name_scope_changes_the_operation_but_not_the_tag(graph):
  with tf.name_scope('outer'):
    summaries.scalar('a/b', tf.constant(2.0))
    summaries.histogram('a/b_c', tf.constant([1.0]))
  names = {operation.name.split('/')[0] for operation in graph.get_operations()}
  assert names == {'outer'}
  with tf.Session() as session:
    found = values_of(session.run(tf.summary.merge_all()))
  assert sorted(found) == ['a/b', 'a/b_c']
  assert found['a/b'].simple_value == 2


def test_values_that_are_not_finite_count_as_zero_in_a_histogram():
  summaries.histogram('x', tf.constant([1.0, np.nan, np.inf, -2.0]))
  with tf.Session() as session:
    found = values_of(session.run(tf.summary.merge_all()))
  assert found['x'].histo.num == 4
  assert found['x'].histo.sum == -1
  assert (found['x'].histo.min, found['x'].histo.max) == (-2, 1)


def table_of(value):
  """The rows of a text summary: a list of lists of strings."""
  assert value.metadata.plugin_data.plugin_name == 'text'
  table = tf.make_ndarray(value.tensor)
  return [[cell.decode('utf-8') for cell in row] for row in table.tolist()]


@pytest.mark.parametrize('training', [True, False])
@pytest.mark.parametrize('batch_size, shown', [(3, 3), (10, 10), (25, 10)])
def test_images_come_with_the_names_of_their_classes(
  training, batch_size, shown
):
  config = Settings(dataset='sample', batch_size=batch_size)
  inputs = cifar10.distorted_inputs if training else cifar10.inputs
  _, labels = inputs(short_runs.prepared(config), config)
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
