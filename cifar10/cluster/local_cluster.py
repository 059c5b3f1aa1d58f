"""Runs a whole cluster on this machine, to learn and to test.

    cifar10_local_cluster --num_ps=1 --num_workers=2 --max_steps=500

Flags that are not listed here go to every task. Each task has a log in
--log_dir, and its lines are shown here too, after the name of the task. When a
task fails, the others are stopped. No process stays behind.
"""

import contextlib
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time

from cifar10.errors import UserError
from cifar10.util import arguments
from cifar10.util import console
from cifar10.util import paths
from cifar10.util import processes
from cifar10.util import signals as signals_lib

_PROGRAM = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    'cifar10_distributed_train.py')

# What each task gets from here.
_OWN_FLAG = re.compile('--?(ps_hosts|worker_hosts|job_name|task_index)(=|$)')

_LOG_DIR = '/tmp/cifar10_cluster_logs'  # Unless --log_dir is given.
_MOST_TASKS = 256  # Of a kind: each is a process with a network of its own.
_POLL_SECS = 0.1
_STOP_SECS = 300  # Longer than a slow step, and then to save and leave.


def free_ports(count):
  """Ports of the loopback interface at which no process listens."""
  with contextlib.ExitStack() as stack:
    probes = [stack.enter_context(socket.socket()) for _ in range(count)]
    for probe in probes:
      probe.bind(('127.0.0.1', 0))
    return [probe.getsockname()[1] for probe in probes]


class _Task:
  """One process of the cluster, and its log."""

  def __init__(self, job, index, flags, log_dir):
    self.job, self.name = job, f'{job} {index}'
    command = [sys.executable, _PROGRAM, f'--job_name={job}']
    command += [f'--task_index={index}', *flags]
    path = os.path.join(log_dir, f'{job}{index}.log')
    # Another cluster may still write to the file of that name: it keeps it.
    with contextlib.suppress(FileNotFoundError):
      os.remove(path)
    # A file instead of a pipe: it outlives a launcher that is killed.
    with open(path, 'xb') as log:  # Follows no link.
      # A group of its own: Ctrl-C reaches the launcher, which passes it on.
      self.process = subprocess.Popen(processes.ending_with_parent(command),
                                      stdout=log, stderr=log,
                                      stdin=subprocess.DEVNULL,
                                      start_new_session=True)
    self._log = open(path, encoding='utf-8', errors='replace')
    self._partial = ''  # A line that has not ended yet.

  def is_running(self):
    """True as long as it runs; shows the lines since the last call."""
    is_running = self.process.poll() is None
    *lines, self._partial = (self._partial + self._log.read()).split('\n')
    if self._partial and not is_running:
      lines, self._partial = lines + [self._partial], ''
    for line in lines:
      print(f'{self.name:<8} | {line}')
    return is_running


def _wait(tasks, is_over=lambda: False, secs=math.inf):
  """Shows what tasks print until all have ended, `is_over()`, or time is up."""
  deadline = time.monotonic() + secs
  while True:
    running = [task for task in tasks if task.is_running()]
    if not running or is_over() or time.monotonic() > deadline:
      return
    time.sleep(_POLL_SECS)


def _stop(tasks):
  """Stops all tasks: first the workers, which save; at last by force."""
  for job in ('worker', 'ps'):
    chosen = [task for task in tasks if task.job == job]
    for task in chosen:
      task.process.send_signal(signal.SIGTERM)  # Unless it has ended.
    _wait(chosen, secs=_STOP_SECS)
    for task in chosen:
      if task.is_running():
        print(f'local_cluster: {task.name} did not end within {_STOP_SECS} s; '
              'it is killed')
        task.process.kill()


def _run(num_ps, num_workers, log_dir, flags):
  """Runs the cluster to its end; returns the exit status."""
  os.makedirs(log_dir, exist_ok=True)
  addresses = [f'127.0.0.1:{p}' for p in free_ports(num_ps + num_workers)]
  flags = [
      '--ps_hosts=' + ','.join(addresses[:num_ps]),
      '--worker_hosts=' + ','.join(addresses[num_ps:]), *flags
  ]
  tasks = []

  def failed():
    return next((task for task in tasks if task.process.poll()), None)

  with signals_lib.noted() as signals:  # A second one ends it at once.
    try:
      for job, count in (('ps', num_ps), ('worker', num_workers)):
        for index in range(count):
          tasks.append(_Task(job, index, flags, log_dir))
      _wait(tasks, lambda: signals or failed())
      first_failed = failed()
    finally:
      _stop(tasks)
      _wait(tasks)
  if signals:
    return 128 + signals[0]
  if first_failed is None:
    return 0
  status = first_failed.process.returncode
  print(f'local_cluster: {first_failed.name} ended with status {status}')
  return 1


def main():
  """Reads the flags and runs the cluster."""
  parser = arguments.Parser(__doc__, allow_abbrev=False)
  count = arguments.number(int, 1, _MOST_TASKS)
  limits = f'1 to {_MOST_TASKS}'
  parser.add_argument('--num_ps', type=count, default=1, help=limits)
  parser.add_argument('--num_workers', type=count, default=2, help=limits)
  parser.add_argument('--log_dir',
                      help=f'folder of the logs (default {_LOG_DIR})')
  args, flags = parser.parse_known_args()
  for flag in filter(_OWN_FLAG.match, flags):
    parser.error(f'{flag}: each task gets its own; leave it out')
  console.open_streams()
  try:
    if args.log_dir is None:
      args.log_dir = _LOG_DIR
      paths.refuse_of_another(_LOG_DIR, '--log_dir')
    paths.check(args.log_dir, '--log_dir')
    sys.exit(_run(args.num_ps, args.num_workers, args.log_dir, flags))
  except (OSError, UserError) as error:
    sys.exit(f'local_cluster: error: {error}')


if __name__ == '__main__':
  main()
