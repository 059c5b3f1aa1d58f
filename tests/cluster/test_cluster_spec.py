"""Tasks of clusters as flags, Slurm and TF_CONFIG describe them."""

import dataclasses
import json
import os
import re

import pytest

from cifar10.cluster import cluster_spec
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import short_runs

Task = cluster_spec.Task


@pytest.fixture(autouse=True)
def no_tf_config(monkeypatch):
  monkeypatch.delenv('TF_CONFIG', raising=False)


def task_from_flags(**changes):
  flags = Settings(ps_hosts='a:2222', worker_hosts='b:2222,c:2222',
                   job_name='worker')
  return cluster_spec.task_from_settings(dataclasses.replace(flags, **changes))


def given(slurm_ps=0, **flags):
  settings = Settings(slurm_ps=slurm_ps, given=frozenset(flags), **flags)
  return cluster_spec.task_from_settings(settings)


def check_refused(problem, call, *args, **changes):
  with pytest.raises(UserError, match=re.escape(problem)):
    call(*args, **changes)


def test_a_task_comes_from_the_flags(monkeypatch):
  monkeypatch.setenv('TF_CONFIG', 'nonsense')  # It does not count.
  task = task_from_flags(task_index=1)
  assert task == Task('worker', 1, ('a:2222',), ('b:2222', 'c:2222'))
  assert (task.address, task.device) == ('c:2222', '/job:worker/task:1')
  assert not task.is_chief and not task_from_flags(job_name='ps').is_chief
  assert task_from_flags().is_chief


PARTS = {'model_parallelism': 'filters'}


@pytest.mark.parametrize('problem, changes', [
    ('--task_index is 2; expected 0 to 1, the number of a task in --worker_h',
     {'task_index': 2}), ('--task_index is -1', {'task_index': -1}),
    ("--job_name is ''; expected ps or worker", {'job_name': ''}),
    ('no cluster given; expected --ps_hosts and --worker_hosts',
     {'ps_hosts': '', 'worker_hosts': ''}),
    ('--ps_hosts names no host', {'ps_hosts': ''}),
    ('--worker_hosts names no host', {'worker_hosts': ''}),
    *(("--ps_hosts: '%s'; expected host:port" % host, {'ps_hosts': host})
      for host in ('a', 'a:x', 'a..b:1', 'a:99999', 'a:2_2', 'a:٢',
                   'grpc://a:1')),
    ('b:2222 is the address of two tasks', {'ps_hosts': 'b:2222'}),
    ('--backup_workers is 2; expected less than 2', {'backup_workers': 2}),
    ('--backup_workers is 1; expected less than 1',
     {'backup_workers': 1, **PARTS}),
    ('--nosync: with --model_parallelism=filters and --num_gpus=1 only',
     {'sync': False, **PARTS}),
    ('--slurm_ps=1: not together with --ps_hosts', {'slurm_ps': 1})
])  # yapf: disable
def test_wrong_flags_are_named(problem, changes):
  check_refused(problem, task_from_flags, **changes)


def test_batches_of_a_step_are_those_of_workers_that_do_not_lend_devices():
  task = Task('worker', 0, ('a:1',), ('b:1', 'c:1', 'd:1'))

  def found(**changes):
    settings = Settings(**changes)
    return task.workers_per_step(settings), list(task.lenders(settings))

  assert found() == (3, [])
  assert found(backup_workers=1) == (2, [])
  assert found(sync=False) == (1, [])
  assert found(**PARTS) == (1, [1, 2])
  assert found(num_gpus=2, **PARTS) == (3, [])


@pytest.fixture
def slurm(monkeypatch, tmp_path):
  """Sets what Slurm sets for a task; returns the cluster_spec.Task of it."""
  # TensorFlow 1 asks it for the names of the nodes.
  scontrol = tmp_path / 'scontrol'
  scontrol.write_text('#!/bin/sh\nprintf "%s\\n" n01 n02\n')
  scontrol.chmod(0o755)
  path = '%s:%s' % (tmp_path, os.environ['PATH'])

  def task(rank, num_ps=1, flags=(), **changes):
    step = {
        'PATH': path,
        'SLURM_JOB_NODELIST': 'n[01-02]',
        'SLURM_NODELIST': 'n[01-02]',
        'SLURM_STEP_NODELIST': 'n[01-02]',
        'SLURM_STEP_NUM_TASKS': '4',
        'SLURM_STEP_TASKS_PER_NODE': '2(x2)',
        'SLURM_NTASKS': '4',
        'SLURM_NTASKS_PER_NODE': '2',
        'SLURM_PROCID': str(rank),
        'SLURMD_NODENAME': ('n01', 'n02')[rank // 2],
        **changes
    }
    for name, value in step.items():
      monkeypatch.setenv(name, value)
    return given(slurm_ps=num_ps, **dict(flags))

  return task


def test_the_first_tasks_of_slurm_are_parameter_servers(slurm, monkeypatch):
  monkeypatch.setenv('TF_CONFIG', 'nonsense')  # It does not count.
  monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '5')
  ps, workers = ('n01:8888',), ('n01:8889', 'n02:8888', 'n02:8889')
  for rank, task in enumerate(
      [Task('ps', 0, ps, workers)] +
      [Task('worker', i, ps, workers) for i in range(3)]):
    assert slurm(rank) == task
  assert slurm(1, num_ps=2).address == 'n01:8889'
  # Slurm need not say on which node a task is; the GPUs are its matter.
  assert slurm(1, SLURMD_NODENAME='').address == 'n01:8889'
  assert os.environ['CUDA_VISIBLE_DEVICES'] == '5'


@pytest.mark.parametrize(
    'name, value, problem',
    [('SLURM_NTASKS', '', "SLURM_NTASKS is ''; expected a number"),
     ('SLURM_NTASKS_PER_NODE', '0', "SLURM_NTASKS_PER_NODE is '0'"),
     ('SLURM_NTASKS', '1', 'the step of Slurm has 1 tasks; expected more'),
     ('SLURM_PROCID', '9', 'the variables of Slurm do not describe this task'),
     ('SLURM_PROCID', '', 'the variables of Slurm do not describe this task'),
     ('SLURMD_NODENAME', 'n07',
      'this task runs on n07, but TensorFlow takes it for')])
def test_a_step_of_slurm_that_does_not_fit_is_named(slurm, name, value,
                                                    problem):
  check_refused('--slurm_ps=1: ' + problem, slurm, 1, **{name: value})


@pytest.fixture(name='of_pod')
def _of_pod(monkeypatch):
  """Sets TF_CONFIG; returns the Task of it."""

  def task(text, **flags):
    monkeypatch.setenv('TF_CONFIG', text)
    return given(**flags)

  return task


def tf_config(job='worker', index=1, **jobs):
  cluster = {'ps': ['a:1'], 'worker': ['b:1', 'c:1'], **jobs}
  return json.dumps({'cluster': cluster, 'task': {'type': job, 'index': index}})


@pytest.mark.parametrize('job, index, number', [('chief', 0, 0),
                                                ('master', 0, 1),
                                                ('worker', '1', 3)])
def test_chief_and_master_of_tf_config_are_the_first_workers(
    of_pod, job, index, number):
  found = of_pod(tf_config(job, index, chief=['d:1'], master=['e:1']))
  workers = ('d:1', 'e:1', 'b:1', 'c:1')
  assert found == Task('worker', number, ('a:1',), workers)
  ps = of_pod(tf_config('ps', 0))
  assert ps == Task('ps', 0, ('a:1',), ('b:1', 'c:1'))


@pytest.mark.parametrize('text', [
    'nonsense', '', '[]', '{"cluster": {}}', '{"cluster": [], "task": {}}',
    tf_config(worker=dict(zip('02', ['b:1', 'c:1']))),
    tf_config(worker='b:1'),
    tf_config(worker=[1, 2]),
    tf_config(worker=None),
    tf_config(index=None),
    tf_config(index='x')
])
def test_a_tf_config_that_cannot_be_read_is_shown(of_pod, text):
  check_refused('TF_CONFIG: found %s; expected {"clus' % text, of_pod, text)


@pytest.mark.parametrize(
    'problem, text',
    [('task.index is 2; expected 0 to 1, the number of', tf_config(index=2)),
     ('task.index is 1; expected 0 to 0, the number of a task in TF_CONFIG: '
      'cluster.chief', tf_config('chief', 1, chief=['d:1'])),
     ("task.type is 'chief'; expected ps or worker", tf_config('chief', 0)),
     ("task.type is 'None'; expected ps or worker", tf_config(None, 0)),
     ('cluster.ps names no host', '{"task": {"type": "ps", "index": 0}}'),])
def test_a_wrong_place_in_tf_config_is_named(of_pod, problem, text):
  check_refused('TF_CONFIG: ' + problem, of_pod, text)


def test_a_flag_that_contradicts_slurm_or_tf_config_is_named(slurm, of_pod):
  problem = '--%s: %s says %s of this task; leave the flag out'
  check_refused(problem % ('job_name=ps', '--slurm_ps=1', 'worker'), slurm, 1,
                flags={'job_name': 'ps'})
  text = tf_config('worker', 0, chief=['d:1'])
  check_refused(problem % ('job_name=ps', 'TF_CONFIG: task.type', 'worker'),
                of_pod, text, job_name='ps')
  check_refused(problem % ('task_index=0', 'TF_CONFIG: task.index', 1), of_pod,
                text, task_index=0)
  assert of_pod(text, job_name='worker').index == 1


def test_the_manifest_has_pods_of_the_known_kinds():
  page = os.path.join(short_runs.ROOT, 'docs', 'platforms.md')
  with open(page, encoding='utf-8') as text:
    manifest = text.read().split('```yaml\n')[1].split('```')[0]
  kinds = re.findall(r'^    (\w+):\n      replicas: \d+$', manifest, re.M)
  # The training operator writes them into TF_CONFIG in lower case.
  assert sorted(kinds) == ['Chief', 'PS', 'Worker']
