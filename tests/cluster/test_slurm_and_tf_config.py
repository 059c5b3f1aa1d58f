"""Clusters as Slurm and Kubernetes describe them to each task."""

import json
import os
import re

import pytest

from cifar10.cluster import cluster_spec
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import short_runs


@pytest.fixture
def slurm(monkeypatch, tmp_path):
  """Sets what Slurm sets for a task; returns the cluster_spec.Task of it."""
  # TensorFlow 1 asks it for the names of the nodes.
  scontrol = tmp_path / 'scontrol'
  scontrol.write_text('#!/bin/sh\nprintf "%s\\n" $NODES\n')
  scontrol.chmod(0o755)
  path = '%s:%s' % (tmp_path, os.environ['PATH'])

  def task(rank, nodes='n01 n02', nodelist='n[01-02]', num_ps=1, **changes):
    names = nodes.split()
    step = {
        'PATH': path,
        'NODES': nodes,
        'SLURM_JOB_NODELIST': nodelist,
        'SLURM_NODELIST': nodelist,
        'SLURM_STEP_NODELIST': nodelist,
        'SLURM_STEP_NUM_TASKS': str(2 * len(names)),
        'SLURM_STEP_TASKS_PER_NODE': '2(x%d)' % len(names),
        'SLURM_NTASKS': str(2 * len(names)),
        'SLURM_NTASKS_PER_NODE': '2',
        'SLURM_PROCID': str(rank),
        'SLURMD_NODENAME': names[rank // 2]
    }
    step.update(changes)
    for name, value in step.items():
      monkeypatch.setenv(name, value)
    return cluster_spec.task_from_settings(Settings(slurm_ps=num_ps))

  return task


def test_the_first_tasks_of_slurm_are_parameter_servers(slurm):
  ps, workers = ('n01:8888',), ('n01:8889', 'n02:8888', 'n02:8889')
  assert slurm(0) == cluster_spec.Task('ps', 0, ps, workers)
  assert slurm(1) == cluster_spec.Task('worker', 0, ps, workers)
  assert slurm(3) == cluster_spec.Task('worker', 2, ps, workers)
  assert slurm(2, num_ps=2).job == 'worker'
  assert slurm(1, num_ps=2).address == 'n01:8889'


def test_a_flag_that_contradicts_slurm_or_tf_config_is_named(
    slurm, monkeypatch):

  def refused(name, value, **settings):
    settings = Settings(given=frozenset([name]), **{name: value}, **settings)
    with pytest.raises(UserError) as error:
      cluster_spec.task_from_settings(settings)
    return str(error.value)

  assert slurm(1).job == 'worker'
  assert refused('job_name', 'ps', slurm_ps=1) == (
      '--job_name=ps: --slurm_ps=1 says worker of this task; leave the flag '
      'out')
  cluster = {'ps': ['a:1'], 'chief': ['b:1'], 'worker': ['c:1']}
  task = {'type': 'worker', 'index': 0}
  monkeypatch.setenv('TF_CONFIG', json.dumps({
      'cluster': cluster,
      'task': task
  }))
  assert refused('job_name', 'ps') == (
      '--job_name=ps: TF_CONFIG: task.type says worker of this task; leave the '
      'flag out')
  assert refused('task_index', 0) == (
      '--task_index=0: TF_CONFIG: task.index says 1 of this task; leave the '
      'flag out')
  given = Settings(given=frozenset(['job_name']), job_name='worker')
  assert cluster_spec.task_from_settings(given).index == 1


def test_slurm_leaves_the_gpus_as_they_are(slurm, monkeypatch):
  monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '5')
  slurm(1)
  assert os.environ['CUDA_VISIBLE_DEVICES'] == '5'


@pytest.mark.parametrize(
    'changes, message',
    [({
        'SLURM_NTASKS': ''
    }, "--slurm_ps=1: SLURM_NTASKS is ''; expected a numb"),
     ({
         'SLURM_NTASKS_PER_NODE': 'x'
     }, "SLURM_NTASKS_PER_NODE is 'x'"),
     ({
         'num_ps': 4
     }, '--slurm_ps=4: the step of Slurm has 4 tasks; expected mo'),
     ({
         'SLURM_NTASKS': '3'
     }, 'has 3 tasks, 2 on a node; expected as many on ea'),
     ({
         'SLURM_PROCID': '9'
     }, 'the variables of Slurm do not describe this tas'),
     ({
         'SLURM_PROCID': ''
     }, 'the variables of Slurm do not describe this task'),
     ({
         'SLURM_NTASKS_PER_NODE': '0'
     }, "SLURM_NTASKS_PER_NODE is '0'"),
     ({
         'SLURMD_NODENAME': 'n07'
     }, 'runs on n07, but TensorFlow takes it for th')])
def test_a_step_of_slurm_that_does_not_fit_is_named(slurm, changes, message):
  with pytest.raises(UserError, match=re.escape(message)):
    slurm(1, **changes)


def test_nodes_without_names_of_their_own_are_believed(slurm):
  assert slurm(1, SLURMD_NODENAME='').address == 'n01:8889'


def test_a_step_without_ranks_is_named(slurm, monkeypatch):
  slurm(1)
  monkeypatch.delenv('SLURM_PROCID')
  with pytest.raises(UserError, match='^--slurm_ps=1: the variables of Slurm'):
    cluster_spec.task_from_settings(Settings(slurm_ps=1))


def test_slurm_comes_before_tf_config_and_not_beside_flags(slurm, monkeypatch):
  monkeypatch.setenv('TF_CONFIG', 'nonsense')
  assert slurm(0).job == 'ps'
  with pytest.raises(UserError, match='^--slurm_ps=1: not together with --ps_'):
    cluster_spec.task_from_settings(Settings(slurm_ps=1, ps_hosts='a:1'))


def test_each_pod_of_the_manifest_is_a_task(monkeypatch):
  page = os.path.join(short_runs.ROOT, 'docs', 'platforms.md')
  with open(page, encoding='utf-8') as text:
    manifest = text.read().split('```yaml\n')[1].split('```')[0]
  name = re.search(r'^  name: (\S+)$', manifest, re.M).group(1)
  replicas = dict(
      re.findall(r'^    (\w+):\n      replicas: (\d+)$', manifest, re.M))
  # As Kubeflow's training operator fills it in.
  cluster = {
      kind.lower(): [
          '%s-%s-%d.default.svc:2222' % (name, kind.lower(), index)
          for index in range(int(count))
      ] for kind, count in replicas.items()
  }
  assert set(cluster) == {'chief', 'ps', 'worker'}
  tasks = set()
  for kind, addresses in cluster.items():
    for index in range(len(addresses)):
      value = {
          'cluster': cluster,
          'task': {
              'type': kind,
              'index': index
          },
          'environment': 'cloud'
      }
      monkeypatch.setenv('TF_CONFIG', json.dumps(value))
      task = cluster_spec.task_from_settings(Settings())
      assert task.address == addresses[index]
      assert task.is_chief == (kind == 'chief')
      tasks.add(task)
  assert len(tasks) == sum(int(count) for count in replicas.values())


WORKER_1 = {'type': 'worker', 'index': 1}
CLUSTER = {'ps': ['a:1'], 'worker': ['b:1', 'c:1']}


def tf_config(task=WORKER_1, **jobs):
  return json.dumps({'cluster': dict(CLUSTER, **jobs), 'task': task})


def numbered(number):
  return {'type': 'worker', 'index': number}


@pytest.mark.parametrize('text', [
    'nonsense', '', '[' * 100000, '[]', 'null', '3', '{"cluster": {}}',
    '{"cluster": [], "task": {}}',
    '{"cluster": null, "task": {"type": "worker", "index": 1}}',
    tf_config(worker={
        '0': 'b:1',
        '2': 'c:1'
    }),
    tf_config(worker={
        '-1': 'b:1',
        '1': 'c:1'
    }),
    tf_config(worker={
        '0': 'b:1',
        '1000000000': 'c:1'
    }),
    tf_config(worker={
        '0': 'b:1',
        '1' * 30: 'c:1'
    }),
    tf_config(worker={
        '0': 'b:1',
        'x': 'c:1'
    }),
    tf_config(worker='b:1'),
    tf_config(worker=2),
    tf_config(worker=[1, 2]),
    tf_config(worker=[None, 'c:1']),
    tf_config(worker=[['b:1'], ['c:1']]),
    tf_config(worker=None),
    tf_config(ps='a:1'),
    tf_config(['worker', 1]),
    tf_config('worker'),
    tf_config({}),
    tf_config(None),
    tf_config(numbered(None)),
    tf_config(numbered([1])),
    tf_config(numbered(1.5)),
    tf_config(numbered(True)),
    tf_config(numbered(float('inf'))),
    tf_config(numbered('x'))
])
def test_a_tf_config_that_cannot_be_read_is_shown(text, monkeypatch):
  monkeypatch.setenv('TF_CONFIG', text)
  with pytest.raises(UserError) as info:
    cluster_spec.task_from_settings(Settings())
  assert str(info.value) == (
      'TF_CONFIG: found %s; expected {"cluster": {"ps": [...], "worker": '
      '[...]}, "task": {"type": ..., "index": ...}}' % text)


@pytest.mark.parametrize(
    'text, message',
    [(tf_config(numbered(2)), 'task.index is 2; expected 0 to 1, the number o'),
     (tf_config(numbered(-1)), 'task.index is -1; expected 0 to 1, the number'),
     (tf_config(numbered(-1), chief=['d:1']), 'task.index is -1; expected 0 t'),
     (tf_config(numbered(10**30)), 'task.index is 1%s; expected' % (30 * '0')),
     (tf_config({
         'type': 'chief',
         'index': 1
     }, chief=['d:1']),
      'task.index is 1; expected 0 to 0, the number of a task in TF_CONFIG: '
      'cluster.chief'),
     (tf_config({
         'type': 'chief',
         'index': 0
     }), "task.type is 'chief'; expec"),
     (tf_config({'index': 0}), "task.type is 'None'; expected ps or worker"),
     (tf_config({
         'type': ['ps'],
         'index': 0
     }), 'task.type is '),
     (tf_config({
         'type': 'evaluator',
         'index': 0
     }), 'task.type is '),
     ('{"task": {"type": "ps", "index": 0}}', 'cluster.ps names no host')])
def test_a_wrong_place_in_tf_config_is_named(text, message, monkeypatch):
  monkeypatch.setenv('TF_CONFIG', text)
  with pytest.raises(UserError, match=re.escape('TF_CONFIG: ' + message)):
    cluster_spec.task_from_settings(Settings())


def test_the_number_of_a_task_may_be_text(monkeypatch):
  monkeypatch.setenv('TF_CONFIG', tf_config(numbered('1')))
  task = cluster_spec.task_from_settings(Settings())
  assert task == cluster_spec.Task('worker', 1, ('a:1',), ('b:1', 'c:1'))


def test_chief_and_master_are_the_first_workers(monkeypatch):
  jobs = {'chief': ['d:1'], 'master': ['e:1']}
  for job, index, address in (('chief', 0, 'd:1'), ('master', 0, 'e:1'),
                              ('worker', 1, 'c:1')):
    monkeypatch.setenv('TF_CONFIG',
                       tf_config({
                           'type': job,
                           'index': index
                       }, **jobs))
    task = cluster_spec.task_from_settings(Settings())
    assert task.workers == ('d:1', 'e:1', 'b:1', 'c:1')
    assert task.address == address
