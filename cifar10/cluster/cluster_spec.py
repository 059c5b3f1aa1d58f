"""A cluster: the tasks that train one model, from flags, Slurm or TF_CONFIG.

Tasks of the job `ps` hold the variables, those of the job `worker` compute;
worker 0 is the chief, which saves. Each task is a process.
"""

import collections
import os
import re
import subprocess
from typing import NamedTuple, Tuple

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError

# The jobs in TF_CONFIG whose tasks are workers, in their order.
_WORKER_JOBS = ('chief', 'master', 'worker')


class Task(NamedTuple):
  """One task of a cluster, and the cluster."""

  job: str  # 'ps' or 'worker'.
  index: int  # In the job.
  ps: Tuple[str, ...]  # Addresses of the parameter servers, `host:port`.
  workers: Tuple[str, ...]  # Addresses of the workers.

  @property
  def is_chief(self):
    """True for the task that initializes and saves."""
    return self.job == 'worker' and self.index == 0

  @property
  def address(self):
    return (self.ps if self.job == 'ps' else self.workers)[self.index]

  @property
  def device(self):
    """The name of this task in device names."""
    return f'/job:{self.job}/task:{self.index}'

  @property
  def hosts(self):
    """The cluster as the flags write it."""
    ps, workers = ','.join(self.ps), ','.join(self.workers)
    return f'--ps_hosts={ps} --worker_hosts={workers}'

  def describe(self, indices):
    """The names and addresses of some workers, for a message."""
    return ', '.join(f'worker {i} ({self.workers[i]})' for i in indices)

  @property
  def worker_devices(self):
    """The names of all workers in device names."""
    return [f'/job:worker/task:{i}' for i in range(len(self.workers))]

  def lenders(self, settings):
    """The numbers of workers that only lend their devices to the chief."""
    if settings.model_parallelism == 'none' or settings.num_gpus > 1:
      return range(0)
    return range(1, len(self.workers))

  def num_trainers(self, settings):
    """The number of workers that take steps."""
    return len(self.workers) - len(self.lenders(settings))

  def workers_per_step(self, settings):
    """The number of workers whose batches make a step."""
    if not settings.sync:
      return 1
    return self.num_trainers(settings) - settings.backup_workers


# The flags or variables that the fields of a Task come from.
_Sources = collections.namedtuple('_Sources', Task._fields)


def steps_wait_for_all(settings):
  """True if each step takes the gradients of all workers."""
  return settings.sync and not settings.backup_workers


def task_from_settings(settings):
  """The Task of this process; a UserError names a wrong flag or variable."""
  task, source = _resolved(settings)
  for name, found, where in (('job_name', task.job, source.job),
                             ('task_index', task.index, source.index)):
    given = getattr(settings, name)
    if name in settings.given and given != found:
      raise UserError(
          f'--{name}={given}: {where} says {found} of this task; leave the '
          'flag out')
  jobs = {'ps': (task.ps, source.ps), 'worker': (task.workers, source.workers)}
  if task.job not in jobs:
    raise UserError(f"{source.job} is '{task.job}'; expected ps or worker")
  for addresses, flag in jobs.values():
    _check_addresses(addresses, flag)
  for address, count in collections.Counter(task.ps + task.workers).items():
    if count > 1:
      raise UserError(f'{address} is the address of two tasks')
  _check_index(task.index, source.index, *jobs[task.job])
  num_trainers = task.num_trainers(settings)
  if settings.backup_workers >= num_trainers:
    raise UserError(
        f'--backup_workers is {settings.backup_workers}; expected less than '
        f'{num_trainers}, the number of workers that take steps')
  if task.lenders(settings) and not settings.sync:
    raise UserError(
        f'--nosync: with --model_parallelism={settings.model_parallelism} and '
        '--num_gpus=1 only the chief takes steps; leave one of them out')
  return task


def _check_addresses(addresses, flag):
  """Checks that a job has addresses, each of the form host:port."""
  if not addresses:
    raise UserError(f'{flag} names no host')
  for address in addresses:
    host, _, port = address.rpartition(':')
    try:
      is_valid = (host.encode('idna') and '/' not in host and
                  re.fullmatch('[0-9]+', port) and 0 < int(port) < 65536)
    except ValueError:  # The host may be 'a..b'.
      is_valid = False
    if not is_valid:
      raise UserError(f"{flag}: '{address}'; expected host:port")


def _check_index(index, flag, addresses, hosts_flag):
  """Checks that a task's index is that of one of its job's addresses."""
  if not 0 <= index < len(addresses):
    raise UserError(
        f'{flag} is {index}; expected 0 to {len(addresses) - 1}, the number of '
        f'a task in {hosts_flag}')


def _resolved(settings):
  """The Task, not checked yet, and its _Sources."""
  has_hosts = settings.ps_hosts or settings.worker_hosts
  if settings.slurm_ps:
    if has_hosts:
      raise UserError(
          f'--slurm_ps={settings.slurm_ps}: not together with --ps_hosts or '
          '--worker_hosts')
    return _from_slurm(settings.slurm_ps)
  if has_hosts:
    ps, workers = (tuple(filter(None, hosts.split(',')))
                   for hosts in (settings.ps_hosts, settings.worker_hosts))
    task = Task(settings.job_name, settings.task_index, ps, workers)
    return task, _Sources('--job_name', '--task_index', '--ps_hosts',
                          '--worker_hosts')
  if 'TF_CONFIG' in os.environ:
    return _from_tf_config(os.environ['TF_CONFIG'])
  raise UserError(
      'no cluster given; expected --ps_hosts and --worker_hosts, --slurm_ps, '
      'or TF_CONFIG')


def _from_tf_config(text):
  """The task in TF_CONFIG; its chief is worker 0."""
  try:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    hosts = resolver.cluster_spec().as_dict()
    job, index = str(resolver.task_type), int(resolver.task_id)
    # A job whose numbers have gaps is a dict by number instead.
    if not all(isinstance(a, str) for job in hosts.values() for a in job):
      raise TypeError(hosts)
  except (AttributeError, KeyError, RecursionError, TypeError,
          ValueError) as error:
    raise UserError(
        f'TF_CONFIG: found {text}; expected {{"cluster": {{"ps": [...], '
        '"worker": [...]}, "task": {"type": ..., "index": ...}}') from error
  workers = sum((hosts.get(name, []) for name in _WORKER_JOBS), [])
  source = _Sources('TF_CONFIG: task.type', 'TF_CONFIG: task.index',
                    'TF_CONFIG: cluster.ps', 'TF_CONFIG: cluster.worker')
  if hosts.get(job):
    _check_index(index, source.index, hosts[job], f'TF_CONFIG: cluster.{job}')
    if job in _WORKER_JOBS:
      job, index = 'worker', workers.index(hosts[job][index])
  return Task(job, index, tuple(hosts.get('ps', ())), tuple(workers)), source


def _from_slurm(num_ps):
  """This process's task in a job step of Slurm."""
  flag = f'--slurm_ps={num_ps}'
  num_tasks = _slurm_number('SLURM_NTASKS', flag)
  per_node = _slurm_number('SLURM_NTASKS_PER_NODE', flag)
  if num_ps >= num_tasks:
    raise UserError(f'{flag}: the step of Slurm has {num_tasks} tasks; '
                    'expected more tasks than parameter servers')
  jobs = {'ps': num_ps, 'worker': num_tasks - num_ps}
  # Slurm itself hands out GPUs (srun --gpus-per-task). The resolver needs some
  # for each task, or it finds no tasks.
  gpus = {'gpus_per_node': per_node, 'gpus_per_task': 1, 'auto_set_gpu': False}
  try:
    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(
        jobs, tasks_per_node=per_node, **gpus)
    hosts = resolver.cluster_spec().as_dict()
    job, index = resolver.get_task_info()
    address = hosts[job][index]
  # LookupError, RuntimeError: a variable is missing, or numbers do not fit.
  # OSError, SubprocessError: TensorFlow 1 runs scontrol.
  except (LookupError, OSError, RuntimeError, ValueError,
          subprocess.SubprocessError) as error:
    raise UserError(
        f'{flag}: the variables of Slurm do not describe this task: {error!r}'
    ) from error
  node = os.environ.get('SLURMD_NODENAME')
  if node and node != address.rpartition(':')[0]:
    # The resolver of TensorFlow 2 sorts the names of nodes as text.
    raise UserError(
        f'{flag}: this task runs on {node}, but TensorFlow takes it for the '
        f'one at {address}; expected as many tasks on each node, '
        '--distribution=block, and names of nodes whose order as text is that '
        'of Slurm')
  task = Task(job, index, tuple(hosts['ps']), tuple(hosts['worker']))
  return task, _Sources(flag, flag, flag, flag)


def _slurm_number(name, flag):
  value = os.environ.get(name, '')
  if not value.isdecimal() or not int(value):
    raise UserError(
        f'{flag}: {name} is {value!r}; expected a number, as in a step of '
        'srun with --ntasks and --ntasks-per-node')
  return int(value)
