"""Clusters of real processes on the loopback interface, for tests."""

import re
import time

from cifar10.cluster import cluster_spec
from cifar10.cluster import local_cluster
from tests import processes
from tests import short_runs


def free_addresses(count):
  """Loopback addresses, `host:port`, that no process listens at."""
  return ['127.0.0.1:%d' % port for port in local_cluster.free_ports(count)]


def new_tasks(num_workers):
  """The cluster_spec.Tasks of a parameter server and of its workers."""
  ps, *workers = free_addresses(1 + num_workers)
  task = cluster_spec.Task('ps', 0, (ps,), tuple(workers))
  return [task
         ] + [task._replace(job='worker', index=i) for i in range(num_workers)]


class Cluster:
  """A cluster whose tasks are started, killed and waited for one by one."""

  def __init__(self, tmp_path, num_ps, num_workers, *flags):
    self._tmp_path = tmp_path
    addresses = free_addresses(num_ps + num_workers)
    self.ps, self.workers = addresses[:num_ps], addresses[num_ps:]
    self.train_dir = str(tmp_path / 'train')
    self._flags = [
        '--ps_hosts=' + ','.join(self.ps), '--worker_hosts=' +
        ','.join(self.workers), '--train_dir=' + self.train_dir,
        '--dataset=sample', '--batch_size=4', '--log_frequency=1'
    ] + list(flags)
    self.processes = []

  def start(self, job, index, *flags):
    """Starts a task; its output goes to a file."""
    path = self._tmp_path / ('%d.log' % len(self.processes))
    command = [short_runs.script('cifar10_distributed_train')]
    command += ['--job_name=' + job, '--task_index=%d' % index]
    command += self._flags + list(flags)
    with open(str(path), 'wb') as log:
      process = processes.start(command, stdout=log, stderr=log)
    process.log = path
    self.processes.append(process)
    return process

  def start_all(self, step=None):
    """Starts every task, and waits for a step of the first worker.

    Returns the lists of servers and of workers.
    """
    servers = [self.start('ps', i) for i in range(len(self.ps))]
    workers = [self.start('worker', i) for i in range(len(self.workers))]
    if step is not None:
      wait_for_step(workers[0], step)
    return servers, workers

  def __enter__(self):
    return self

  def __exit__(self, *error):
    for process in self.processes:
      process.kill()
      process.wait()


def output(process):
  """What a task has printed so far."""
  return process.log.read_text()


def steps(process):
  """The steps that a task has printed so far."""
  return short_runs.steps(output(process))


def losses(process):
  """The losses that a task has printed so far, strings."""
  lines = short_runs.STEP_LINE.findall(output(process))
  return [loss for _, loss, _, _ in lines]


def wait_for_step(process, step, timeout=300):
  """Waits until a task has printed a step of at least `step`."""
  deadline = time.monotonic() + timeout
  while not steps(process) or steps(process)[-1] < step:
    assert process.poll() is None, output(process)
    assert time.monotonic() < deadline, output(process)
    time.sleep(0.05)


def wait(processes, timeout=300):
  """Waits for the end of tasks; returns their exit statuses."""
  deadline = time.monotonic() + timeout
  for process in processes:
    process.wait(timeout=max(0.1, deadline - time.monotonic()))
  return [process.returncode for process in processes]


def check_clean(processes):
  """Checks that tasks have printed nothing but what they are meant to."""
  expected = re.compile(
      r'Serving at |Served\.|Filling queue |Loading \d+ '
      r'|Each step (?:receives|sends) |Computing a part |Resuming from '
      r'|Data: |Model: |Settings: |Changed from here on: '
      r'|Stopped by |Step \d+ is saved|To evaluate: |TensorBoard: |' +
      short_runs.TIME)
  for process in processes:
    for line in output(process).splitlines():
      assert expected.match(line), output(process)
