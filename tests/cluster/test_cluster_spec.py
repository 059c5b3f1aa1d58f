"""Tasks from flags and TF_CONFIG."""

import json

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.errors import UserError
from cifar10.settings import Settings

FLAGS = {
    'ps_hosts': 'a:2222',
    'worker_hosts': 'b:2222,c:2222',
    'job_name': 'worker'
}


@pytest.fixture(autouse=True)
def graph():
  with tf.Graph().as_default() as graph:
    yield graph


@pytest.fixture(autouse=True)
def no_tf_config(monkeypatch):
  monkeypatch.delenv('TF_CONFIG', raising=False)


def task_from_flags(**changes):
  return cluster_spec.task_from_settings(Settings(**dict(FLAGS, **changes)))


@pytest.fixture
def task_from_environment(monkeypatch):
  """Sets TF_CONFIG and returns the task that comes of it."""

  def call(ps, workers, job, index, **more):
    value = {
        'cluster': dict({
            'ps': ps,
            'worker': workers
        }, **more),
        'task': {
            'type': job,
            'index': index
        }
    }
    monkeypatch.setenv('TF_CONFIG', json.dumps(value))
    return cluster_spec.task_from_settings(Settings())

  return call


def test_a_task_comes_from_the_flags():
  task = task_from_flags(task_index=1)
  assert (task.job, task.index, task.address) == ('worker', 1, 'c:2222')
  assert (task.ps, task.workers) == (('a:2222',), ('b:2222', 'c:2222'))
  assert task.device == '/job:worker/task:1'
  assert not task.is_chief
  assert task_from_flags().is_chief
  assert not task_from_flags(job_name='ps').is_chief


def test_a_task_comes_from_tf_config(task_from_environment):
  task = task_from_environment(['a:1'], ['b:1', 'c:1'], 'worker', 1)
  assert task == cluster_spec.Task('worker', 1, ('a:1',), ('b:1', 'c:1'))
  task = task_from_environment(['a:1'], ['b:1'], 'ps', 0)
  assert task == cluster_spec.Task('ps', 0, ('a:1',), ('b:1',))


def test_the_chief_of_tf_config_is_worker_0(task_from_environment):
  hosts = (['a:1'], ['c:1', 'd:1'])
  workers = ('b:1', 'c:1', 'd:1')
  chief = task_from_environment(*hosts, 'chief', 0, chief=['b:1'])
  assert chief == cluster_spec.Task('worker', 0, ('a:1',), workers)
  second = task_from_environment(*hosts, 'worker', 1, chief=['b:1'])
  assert second == cluster_spec.Task('worker', 2, ('a:1',), workers)


def test_flags_come_before_tf_config(monkeypatch):
  monkeypatch.setenv('TF_CONFIG', 'nonsense')
  task = cluster_spec.task_from_settings(Settings(**FLAGS))
  assert task.ps == ('a:2222',)


@pytest.mark.parametrize(
    'changes, message',
    [({
        'task_index': 2
    },
      '--task_index is 2; expected 0 to 1, the number of a task in --worker_h'),
     ({
         'task_index': -1
     }, '--task_index is -1'),
     ({
         'job_name': ''
     }, "--job_name is ''; expected ps or worker"),
     ({
         'ps_hosts': ''
     }, '--ps_hosts names no host'),
     ({
         'worker_hosts': ''
     }, '--worker_hosts names no host'),
     ({
         'ps_hosts': 'a'
     }, "--ps_hosts: 'a'; expected host:port"),
     ({
         'ps_hosts': 'a:x'
     }, "--ps_hosts: 'a:x'; expected host:port"),
     ({
         'ps_hosts': 'a:99999'
     }, "--ps_hosts: 'a:99999'; expected host:port"),
     ({
         'ps_hosts': 'b:2222'
     }, 'b:2222 is the address of two tasks'),
     ({
         'model_parallelism': 'filters',
         'sync': False
     }, '--nosync: with --model_parallelism=filters and --num_gpus=1 only'),
     ({
         'model_parallelism': 'filters',
         'backup_workers': 1
     }, '--backup_workers is 1; expected less than 1'),
     ({
         'backup_workers': 2
     }, '--backup_workers is 2; expected less than 2')])
def test_wrong_flags_are_named(changes, message):
  with pytest.raises(UserError, match=message):
    task_from_flags(**changes)


def test_without_a_cluster_the_flags_are_named():
  with pytest.raises(UserError, match='expected --ps_hosts and --worker_hosts'):
    cluster_spec.task_from_settings(Settings())


def test_batches_of_a_step_are_those_that_are_averaged():
  task = cluster_spec.Task('worker', 0, ('a:1',), ('b:1', 'c:1', 'd:1'))
  for settings, workers in ((Settings(), 3), (Settings(backup_workers=1), 2),
                            (Settings(sync=False), 1)):
    assert task.workers_per_step(settings) == workers


def test_workers_lend_their_devices_if_they_have_only_one():
  task = cluster_spec.Task('worker', 0, ('a:1',), ('b:1', 'c:1', 'd:1'))
  assert not task.lenders(Settings())
  parts = {'model_parallelism': 'filters'}
  assert list(task.lenders(Settings(**parts))) == [1, 2]
  assert task.workers_per_step(Settings(**parts)) == 1
  assert not task.lenders(Settings(num_gpus=2, **parts))
  assert task.workers_per_step(Settings(num_gpus=2, **parts)) == 3


def test_each_worker_has_its_own_images():
  task = cluster_spec.Task('worker', 1, ('a:1',), ('b:1', 'c:1'))
  assert task.own_seed(3) == 4
  assert task.own_seed(None) is None
