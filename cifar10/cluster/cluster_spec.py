"""A cluster: its tasks, their hosts and servers.

A cluster is a set of tasks that train one model. Those of the job `ps` hold
the variables, those of the job `worker` compute; worker 0 is the chief, which
saves. Each task is a process with a server of TensorFlow's own runtime.
"""

import collections
import socket
import time
from typing import NamedTuple, Tuple

import tensorflow.compat.v1 as tf

from cifar10.cluster import resolvers
from cifar10.errors import UserError
from cifar10.util import session_settings

_POLL_SECS = 0.2

_ANSWER_SECS = 2

# RFC 9113, section 3.4: what a client sends first; its SETTINGS frame is empty.
_HTTP2_BEGINNING = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\0\0\0\4' + bytes(5)


class Task(NamedTuple):
  """One task of a cluster, and the cluster.

  Attributes:
    job: 'ps' or 'worker'.
    index: number of the task in its job.
    ps: addresses of the parameter servers, `host:port`.
    workers: addresses of the workers.
  """

  job: str
  index: int
  ps: Tuple[str, ...]
  workers: Tuple[str, ...]

  @property
  def is_chief(self):
    """Whether this is the task that initializes and saves."""
    return self.job == 'worker' and self.index == 0

  @property
  def address(self):
    """The address of this task."""
    return (self.ps if self.job == 'ps' else self.workers)[self.index]

  @property
  def device(self):
    """The name of this task in device names."""
    return '/job:%s/task:%d' % (self.job, self.index)

  @property
  def hosts(self):
    """The cluster as the flags write it."""
    return '--ps_hosts=%s --worker_hosts=%s' % (
      ','.join(self.ps),
      ','.join(self.workers),
    )

  def workers_per_step(self, settings):
    """How many workers' batches make a step, by the settings.Cluster."""
    if not settings.sync:
      return 1
    return len(self.workers) - settings.backup_workers

  def own_seed(self, seed):
    """The seed of this task; with equal ones, all take the same images."""
    return None if seed is None else seed + self.index


def task_from_settings(settings):
  """The task that this process is.

  Returns:
    Task.

  Raises:
    UserError: names the flag, or the variable of the environment, that is
      wrong.
  """
  ps, workers, job, index, sources = resolvers.resolve(settings)
  if job not in ('ps', 'worker'):
    raise UserError("%s is '%s'; expected ps or worker" % (sources['job'], job))
  tasks = {'ps': ps, 'worker': workers}
  _check_addresses(tasks, sources)
  if not 0 <= index < len(tasks[job]):
    raise UserError(
      '%s is %d; expected 0 to %d, the number of a task in %s'
      % (sources['index'], index, len(tasks[job]) - 1, sources[job])
    )
  if settings.model_parallel and settings.num_gpus > 1:
    raise UserError(
      '--model_parallel: --num_gpus is %d; expected 1, a tower on two devices'
      % settings.num_gpus
    )
  if settings.backup_workers >= len(workers):
    raise UserError(
      '--backup_workers is %d; expected less than %d, the number of workers'
      % (settings.backup_workers, len(workers))
    )
  return Task(job, index, ps, workers)


def _check_addresses(tasks, sources):
  """Checks that each job has addresses, each of the form host:port, once."""
  for job, addresses in tasks.items():
    if not addresses:
      raise UserError('%s names no host' % sources[job])
    for address in addresses:
      host, _, port = address.rpartition(':')
      if (
        not _is_host(host) or not port.isdecimal() or not 0 < int(port) < 65536
      ):
        raise UserError(
          "%s: '%s'; expected host:port" % (sources[job], address)
        )
  counts = collections.Counter(tasks['ps'] + tasks['worker'])
  for address, count in counts.items():
    if count > 1:
      raise UserError('%s is the address of two tasks' % address)


def _is_host(name):
  """Whether `name` can be looked up at all; 'a..b' cannot."""
  try:
    return bool(name.encode('idna'))
  except UnicodeError:
    return False


def start_server(task, settings):
  """Starts the server of this task.

  Args:
    task: Task.
    settings: settings.Session.

  Returns:
    tf.train.Server.

  Raises:
    UserError: the port is taken.
  """
  port = int(task.address.rpartition(':')[2])
  # TensorFlow's server silently shares a port with another one.
  try:
    with _probe() as probe:
      probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
      probe.bind(('', port))
  except OSError as error:
    raise UserError(
      '%s: port %d of this machine: %s' % (task.address, port, error.strerror)
    ) from error
  spec = {'ps': list(task.ps), 'worker': list(task.workers)}
  return tf.train.Server(
    tf.train.ClusterSpec(spec),
    job_name=task.job,
    task_index=task.index,
    config=session_settings.config_proto(settings),
  )


def _probe():
  """A socket for every address of this machine, with IPv6 if it has that."""
  try:
    probe = socket.socket(socket.AF_INET6)
    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    return probe
  except OSError:
    return socket.socket(socket.AF_INET)


def config_proto(task, settings):
  """The tf.ConfigProto of a task's sessions.

  A worker's name the parameter servers and itself, a parameter server's only
  itself; otherwise sessions wait for tasks that are gone.

  Args:
    task: Task.
  """
  proto = session_settings.config_proto(settings)
  if task.job == 'worker':
    proto.device_filters.append('/job:ps')
  proto.device_filters.append(task.device)
  return proto


def reach(addresses, what, timeout_secs):
  """Waits until a connection to each address can be made.

  Args:
    addresses: list of `host:port`.
    what: what is there, for the error.
    timeout_secs: how long to wait for all of them.

  Raises:
    UserError: names the first one that cannot be reached, and why.
  """
  deadline = time.monotonic() + timeout_secs
  for address in addresses:
    while True:
      problem = unreachable(address)
      if problem is None:
        break
      if time.monotonic() > deadline:
        raise UserError(
          '%s %s cannot be reached within %d s (--connect_timeout_secs): %s'
          % (what, address, timeout_secs, problem)
        )
      time.sleep(_POLL_SECS)


def unreachable(address):
  """Why the task at `host:port` does not answer; None if it does.

  An open port is not enough: a process that is stopped still has it. The
  server speaks HTTP/2, and answers the beginning of a connection.
  """
  host, _, port = address.rpartition(':')
  try:
    with socket.create_connection(
      (host.strip('[]'), int(port)), timeout=_ANSWER_SECS
    ) as connection:
      connection.sendall(_HTTP2_BEGINNING)
      if not connection.recv(1):
        return 'the connection was closed'
  except socket.timeout:
    return 'no answer within %d s' % _ANSWER_SECS
  except OSError as error:
    return error.strerror or str(error)
  return None
