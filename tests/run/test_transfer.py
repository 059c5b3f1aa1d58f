"""Runs that begin with the variables of another one, and frozen ones."""

import numpy as np
import pytest

from cifar10 import cifar10_multi_gpu_train
from cifar10 import cifar10_train
from cifar10 import zoo
from cifar10.store import checkpoints
from tests import clusters
from tests import short_runs
from tests import synthetic_records

AVERAGE = '/ExponentialMovingAverage'
SMALL = {'hidden_layers': '32,8', 'batch_size': 4}


@pytest.fixture(scope='module')
def source(tmp_path_factory):
  """The newest checkpoint of a short run, with batch normalization."""
  folder = tmp_path_factory.mktemp('source')
  cifar10_train.train(
      short_runs.small_config(folder, normalization='batch', seed=1,
                              max_steps=1, **SMALL))
  return checkpoints.latest(str(folder / 'train'))


def first_values(folder, **settings):
  """The variables of a new run before its first step."""
  settings = {**SMALL, 'normalization': 'batch', **settings}
  train = cifar10_train.train
  if 'num_gpus' in settings:
    train = cifar10_multi_gpu_train.train
  config = short_runs.small_config(folder, max_steps=2, **settings)
  train(config)
  return tuple(
      short_runs.values(str(folder / 'train' / ('model.ckpt-%d' % step)))
      for step in (0, 2))


@pytest.mark.slow
@pytest.mark.parametrize('settings', [{}, {'num_gpus': 2}])
def test_all_variables_are_taken_over_and_the_frozen_ones_stay(
    tmp_path, capsys, source, settings):
  first, last = first_values(tmp_path, init_from=source, freeze='conv[12]',
                             optimizer='adam', max_norm=0.1, **settings)
  there = short_runs.values(source)
  names = [name for name in there if name + AVERAGE in there]
  assert len(names) == 22  # The statistics of batch normalization too.
  for name in names:
    np.testing.assert_array_equal(first[name], there[name + AVERAGE])
    np.testing.assert_array_equal(first[name + AVERAGE], there[name + AVERAGE])
  assert 'conv1/batch_normalization/moving_mean' in names
  assert first['global_step'] == 0
  out = capsys.readouterr().out
  assert 'Initialized conv1, conv2, local3, local4, softmax_linear from' in out
  changed = {
      name.split('/')[0]
      for name, value in first.items()
      if (value != last[name]).any()
  }
  assert changed >= {'local3', 'local4', 'softmax_linear'}
  assert not {'conv1', 'conv2'} & changed
  assert not any('Adam' in name for name in first if name.startswith('conv'))
  if not settings:  # Evaluation finds what it needs.
    config = short_runs.small_config(tmp_path, normalization='batch', **SMALL)
    short_runs.evaluated(config)


@pytest.mark.slow
def test_other_classes_and_layers_begin_with_a_model_in_one_command(
    tmp_path, capsys):
  data_dir = synthetic_records.make_three_classes(tmp_path)
  first, _ = first_values(tmp_path, init_from='pretrained:tutorial',
                          hidden_layers='384,192,96', normalization='lrn',
                          dataset='cifar10', data_dir=data_dir)
  there = short_runs.values(
      checkpoints.latest(zoo.directory('pretrained:tutorial', '')))
  np.testing.assert_array_equal(first['local4/weights'],
                                there['local4/weights' + AVERAGE])
  assert first['softmax_linear/weights'].shape == (96, 3)
  lines = capsys.readouterr().out.splitlines()
  assert 'Not taken over: local5/biases (no local5/biases there).' in lines
  line = 'Not taken over: softmax_linear/biases ([10] there, [3] here).'
  assert line in lines


@pytest.mark.slow
def test_a_cluster_takes_over_and_freezes(tmp_path, source):
  flags = [
      '--max_steps=2', '--init_from=' + source, '--freeze=conv[12]',
      '--normalization=batch', '--partition_ps', '--hidden_layers=32,8,6'
  ]
  with clusters.Cluster(tmp_path, 2, 2, *flags) as cluster:
    servers, workers = cluster.start_all()
    assert clusters.wait(workers) == [0, 0], clusters.output(workers[1])
    assert clusters.wait(servers) == [0, 0]
  there = short_runs.values(source)
  found = {
      step: short_runs.values('%s/model.ckpt-%d' % (cluster.train_dir, step))
      for step in (0, 2)
  }
  # Those of conv2 and local3 are split between the servers.
  for name in ('conv2/weights', 'local3/weights', 'local4/biases'):
    np.testing.assert_array_equal(found[0][name], there[name + AVERAGE])
  assert found[2]['local5/weights'].shape == (8, 6)
  for name, same in (('conv2/weights', True), ('local3/weights', False)):
    assert (found[2][name] == found[0][name]).all() == same
