"""Where the tasks of a cluster come from: flags, Slurm, or TF_CONFIG."""

import json
import os
import subprocess
from typing import Dict, NamedTuple, Tuple

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError

# The jobs in TF_CONFIG whose tasks are workers, in their order.
_WORKER_JOBS = ('chief', 'master', 'worker')


class Resolved(NamedTuple):
  """A cluster and the place of this process in it, not checked yet.

  Attributes:
    ps: addresses of the parameter servers, `host:port`.
    workers: addresses of the workers.
    job: 'ps' or 'worker', if it is right.
    index: number of the task in its job.
    sources: for 'ps', 'worker', 'job' and 'index', where each comes from, for
      errors.
  """

  ps: Tuple[str, ...]
  workers: Tuple[str, ...]
  job: str
  index: int
  sources: Dict[str, str]


def resolve(settings):
  """The cluster from the flags, from Slurm, or else from TF_CONFIG.

  Args:
    settings: cluster.settings.Cluster.

  Returns:
    Resolved.

  Raises:
    UserError: no cluster is given, or it cannot be read.
  """
  if settings.slurm_ps:
    if settings.ps_hosts or settings.worker_hosts:
      raise UserError(
        '--slurm_ps=%d: not together with --ps_hosts or --worker_hosts'
        % settings.slurm_ps
      )
    return _of_slurm(settings.slurm_ps)
  if settings.ps_hosts or settings.worker_hosts:
    return _of_flags(settings)
  if 'TF_CONFIG' in os.environ:
    return _of_tf_config()
  raise UserError(
    'no cluster given; expected --ps_hosts and --worker_hosts, --slurm_ps, or '
    'TF_CONFIG'
  )


def _of_flags(settings):
  ps, workers = (
    tuple(host for host in hosts.split(',') if host)
    for hosts in (settings.ps_hosts, settings.worker_hosts)
  )
  sources = {
    'ps': '--ps_hosts',
    'worker': '--worker_hosts',
    'job': '--job_name',
    'index': '--task_index',
  }
  return Resolved(ps, workers, settings.job_name, settings.task_index, sources)


def _of_tf_config():
  """The cluster in TF_CONFIG; its chief is worker 0."""
  hosts, job, index = _read_tf_config()
  workers = sum((hosts.get(name, []) for name in _WORKER_JOBS), [])
  if hosts.get(job):
    if not 0 <= index < len(hosts[job]):
      raise UserError(
        'TF_CONFIG: task.index is %d; expected 0 to %d, the number of a task '
        'in TF_CONFIG: cluster.%s' % (index, len(hosts[job]) - 1, job)
      )
    if job in _WORKER_JOBS:
      job, index = 'worker', workers.index(hosts[job][index])
  sources = {
    'ps': 'TF_CONFIG: cluster.ps',
    'worker': 'TF_CONFIG: cluster.worker',
    'job': 'TF_CONFIG: task.type',
    'index': 'TF_CONFIG: task.index',
  }
  return Resolved(
    tuple(hosts.get('ps', ())), tuple(workers), job, index, sources
  )


def _read_tf_config():
  """Reads TF_CONFIG.

  Returns:
    hosts: dict, by job a list of the addresses of its tasks.
    job: type of this task, a str.
    index: number of this task, an int.

  Raises:
    UserError: it is something else.
  """
  try:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    hosts = resolver.cluster_spec().as_dict()
    # A job whose numbers have gaps is a dict by number instead.
    if not all(isinstance(a, str) for job in hosts.values() for a in job):
      raise TypeError(hosts)
    # The resolver takes 1.5 for 1.
    index = int(str(json.loads(os.environ['TF_CONFIG'])['task']['index']))
    return hosts, str(resolver.task_type), index
  except (
    AttributeError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
  ) as error:
    raise UserError(
      'TF_CONFIG: found %s; expected {"cluster": {"ps": [...], "worker": '
      '[...]}, "task": {"type": ..., "index": ...}}' % os.environ['TF_CONFIG']
    ) from error


def _of_slurm(num_ps):
  """The tasks of the step of Slurm that this process belongs to."""
  flag = '--slurm_ps=%d' % num_ps
  num_tasks, per_node = _slurm_counts(num_ps, flag)
  try:
    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(
      {'ps': num_ps, 'worker': num_tasks - num_ps},
      tasks_per_node=per_node,
      # Slurm itself hands out GPUs (srun --gpus-per-task). The resolver needs
      # some for each task, or it finds no tasks.
      gpus_per_node=per_node,
      gpus_per_task=1,
      auto_set_gpu=False,
    )
    hosts = resolver.cluster_spec().as_dict()
    job, index = resolver.get_task_info()
    address = hosts[job][index]
  # KeyError, RuntimeError: a variable is missing, or numbers do not fit.
  # OSError, SubprocessError: TensorFlow 1 runs scontrol.
  except (
    KeyError,
    OSError,
    RuntimeError,
    ValueError,
    subprocess.SubprocessError,
  ) as error:
    raise UserError(
      '%s: the variables of Slurm do not describe this task: %r' % (flag, error)
    ) from error
  node = os.environ.get('SLURMD_NODENAME')
  if node and node != address.rpartition(':')[0]:
    # The resolver of TensorFlow 2 sorts the names of nodes as text.
    raise UserError(
      '%s: this task runs on %s, but TensorFlow takes it for the one at %s; '
      'expected --distribution=block, and names of nodes whose order as text '
      'is that of Slurm' % (flag, node, address)
    )
  sources = dict.fromkeys(('ps', 'worker', 'job', 'index'), flag)
  return Resolved(
    tuple(hosts['ps']), tuple(hosts['worker']), job, index, sources
  )


def _slurm_counts(num_ps, flag):
  """The numbers of tasks of the step, and of those on each node."""
  num_tasks = _slurm_number('SLURM_NTASKS', flag)
  per_node = _slurm_number('SLURM_NTASKS_PER_NODE', flag)
  if num_tasks % per_node:
    raise UserError(
      '%s: the step of Slurm has %d tasks, %d on a node; expected as many on '
      'each node' % (flag, num_tasks, per_node)
    )
  if num_ps >= num_tasks:
    raise UserError(
      '%s: the step of Slurm has %d tasks; expected more than parameter '
      'servers' % (flag, num_tasks)
    )
  return num_tasks, per_node


def _slurm_number(name, flag):
  """The number in a variable that Slurm sets."""
  value = os.environ.get(name, '')
  if not value.isdecimal() or not int(value):
    raise UserError(
      '%s: %s is %r; expected a number, as in a step of srun with --ntasks and '
      '--ntasks-per-node' % (flag, name, value)
    )
  return int(value)
