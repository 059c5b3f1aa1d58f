"""The settings of a cluster."""

import dataclasses

from cifar10.util.flag_field import MOST
from cifar10.util.flag_field import flag


@dataclasses.dataclass(frozen=True)
class Cluster:
  """The cluster, this task's place in it, and what travels between tasks."""

  ps_hosts: str = flag(
    '',
    'The parameter servers: host:port,host:port,...',
    reported=False,
    agreed=False,
  )
  worker_hosts: str = flag(
    '',
    'The workers: host:port,host:port,... The first one is the chief.',
    reported=False,
    agreed=False,
  )
  job_name: str = flag(
    '',
    'The job of this task.',
    choices=('', 'ps', 'worker'),
    reported=False,
    agreed=False,
  )
  task_index: int = flag(
    0,
    'The number of this task in its job.',
    lower_bound=0,
    upper_bound=MOST,
    reported=False,
    agreed=False,
  )
  slurm_ps: int = flag(
    0,
    'In a step of Slurm: how many of its tasks are parameter servers; the '
    'others are workers. 0: the cluster comes from the flags above, or from '
    'TF_CONFIG.',
    lower_bound=0,
    upper_bound=MOST,
    reported=False,
    agreed=False,
  )
  sync: bool = flag(
    True,
    'Average the gradients of all workers before each step; --nosync: each '
    'worker applies its own at once.',
  )
  backup_workers: int = flag(
    0,
    'How many workers a synchronous step need not wait for.',
    lower_bound=0,
    upper_bound=MOST,
    needs=('sync', None),
  )
  ps_strategy: str = flag(
    'round_robin',
    'How variables are spread over the parameter servers.',
    choices=('round_robin', 'by_size'),
  )
  partition_ps: bool = flag(
    False, 'Split large variables over the parameter servers.'
  )
  model_parallel: bool = flag(
    False,
    'Put the convolutions on the first GPU of a worker and the fully '
    'connected layers on the second.',
    agreed=False,
  )
  grad_dtype: str = flag(
    'float32',
    'The type in which gradients are sent to the parameter servers.',
    choices=('float32', 'bfloat16', 'float16'),
  )
  connect_timeout_secs: int = flag(
    60,
    'Seconds that another task may be out of reach.',
    lower_bound=1,
    upper_bound=MOST // 1000,
    agreed=False,
  )
  operation_timeout_ms: int = flag(
    0,
    'Time limit of a step, in milliseconds; 0: none.',
    lower_bound=0,
    upper_bound=MOST,
    agreed=False,
  )
