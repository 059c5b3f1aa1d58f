#!/usr/bin/env python
"""Runs a cluster on three hosts, which are network namespaces of this machine.

    sudo python scripts/benchmarks/netns_cluster.py cut
    sudo python scripts/benchmarks/netns_cluster.py slow

The hosts, a parameter server and two workers, have addresses of their own and
are connected by a switch. `cut` disconnects the second worker in the middle of
a run and checks that no step is lost; the status is 1 if one is. `slow` limits
the link of the second worker, and compares --sync, --nosync and the values of
--grad_dtype with and without that limit. Other flags go to every task. Needs
Linux, root, and the programs `ip` and `tc`.
"""

import contextlib
import datetime
import glob
import itertools
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.store import checkpoints
from cifar10.tools import variants
from cifar10.util import arguments
import tensorflow.compat.v1 as tf

HOSTS = {'ps0': '10.77.0.1', 'w0': '10.77.0.2', 'w1': '10.77.0.3'}
PREFIX = 'cifar10-'  # Of the names of network namespaces.
SWITCH = 'switch'
POLL_SECS = 0.1
STEP = re.compile(r'^(\S+ \S+): step (\d+), ', re.MULTILINE)


def inside(host, command):
  """Runs a command, words divided by spaces, in a network namespace."""
  subprocess.run(f'ip netns exec {PREFIX}{host} {command}'.split(), check=True)


@contextlib.contextmanager
def network():
  """Sets up the switch and the hosts, and removes them at the end."""
  with contextlib.ExitStack() as stack:
    for host in (SWITCH, *HOSTS):
      subprocess.run(['ip', 'netns', 'add', PREFIX + host], check=True)
      stack.callback(subprocess.run, ['ip', 'netns', 'del', PREFIX + host],
                     check=True)
      inside(host, 'ip link set lo up')
    inside(SWITCH, 'ip link add bridge type bridge')
    inside(SWITCH, 'ip link set bridge up')
    for host, address in HOSTS.items():
      peer = f'netns {PREFIX}{host} name eth0'
      inside(SWITCH, f'ip link add {host} type veth peer {peer}')
      inside(SWITCH, f'ip link set {host} master bridge up')
      inside(host, f'ip addr add {address}/24 dev eth0')
      inside(host, 'ip link set eth0 up')
    yield


@contextlib.contextmanager
def cluster(directory, flags):
  """Starts a cluster, and kills at the end what is left of it.

  Args:
    directory: the training directory; logs go there too.
    flags: flags of every task.

  Yields:
    A dict of subprocess.Popen by host, each with the path of its log as `log`.
  """
  command = variants.command('cifar10_distributed_train.py',
                             '--train_dir=' + directory)
  command += ['--ps_hosts={ps0}:2222'.format(**HOSTS)]
  command += ['--worker_hosts={w0}:2222,{w1}:2222'.format(**HOSTS)]
  processes = {}
  with contextlib.ExitStack() as stack:
    for host in HOSTS:
      job = {'ps': 'ps', 'w': 'worker'}[host[:-1]]
      task = ['--job_name=' + job, '--task_index=' + host[-1]]
      path = os.path.join(directory, host + '.log')
      with open(path, 'wb') as log:
        process = subprocess.Popen(
            ['ip', 'netns', 'exec', PREFIX + host, *command, *task, *flags],
            stdout=log, stderr=log)
      process.log = Path(path)
      stack.callback(process.wait)
      stack.callback(process.kill)
      processes[host] = process
    yield processes


def steps(process):
  """The lines of steps that a task has printed: pairs (step, datetime)."""
  return [(int(step), datetime.datetime.fromisoformat(when))
          for when, step in STEP.findall(process.log.read_text())]


def finish(processes):
  """Waits until all tasks have ended; exits with a failed task's log."""
  while True:
    statuses = {host: process.poll() for host, process in processes.items()}
    for host, status in statuses.items():
      if status:
        sys.exit(f'{host} ended with status {status}:\n'
                 f'{processes[host].log.read_text()}')
    if None not in statuses.values():
      return
    time.sleep(POLL_SECS)


def cut(args, flags):
  """Disconnects the second worker in the middle of a run.

  Exits with status 1 if a step is missing in a worker or in the checkpoint.
  """
  flags = [f'--max_steps={args.steps}', '--log_frequency=1'] + flags
  with network(), tempfile.TemporaryDirectory() as directory:
    with cluster(directory, flags) as tasks:
      while len(steps(tasks['w1'])) < args.steps // 2:
        if any(task.poll() is not None for task in tasks.values()):
          finish(tasks)
          sys.exit('The cluster ended before the link was cut.')
        time.sleep(POLL_SECS)
      print(f'Cutting the link of worker 1 for {args.secs} s.', flush=True)
      inside(SWITCH, 'ip link set w1 down')
      time.sleep(args.secs)
      inside(SWITCH, 'ip link set w1 up')
      finish(tasks)
      lost = [host for host in ('w0', 'w1') if not check(host, tasks, args)]
      last = checkpoints.step(checkpoints.latest(directory))
      print(f'The checkpoint is of step {last}.')
      if lost or last != args.steps:
        sys.exit(f'Steps were lost: {", ".join(lost or ["checkpoint"])}.')


def check(host, tasks, args):
  """Prints and returns whether a worker has taken each step once."""
  numbers, times = zip(*steps(tasks[host]))
  whole = numbers == tuple(range(args.steps))
  gaps = [(b - a).total_seconds() for a, b in zip(times, times[1:])]
  print('%s: %s steps 0 to %d; the longest took %.1f s.' %
        (host, 'all' if whole else 'NOT all', args.steps - 1, max(gaps)))
  return whole


def slow(args, flags):
  """Trains with and without the limit, in each mode and type of gradients."""
  print('link of worker 1  mode   gradients  examples/s  staleness  messages')
  for mbit, mode, dtype in itertools.product(
      (None, args.mbit), ('--sync', '--nosync'), ('float32', 'bfloat16')):
    more = [mode, f'--grad_dtype={dtype}', '--log_frequency=1']
    more += [f'--max_steps={args.steps}']
    with network(), tempfile.TemporaryDirectory() as directory:
      if mbit:  # Each way.
        rate = f'root tbf rate {mbit:g}mbit burst 128kb latency 200ms'
        inside('w1', 'tc qdisc add dev eth0 ' + rate)
        inside(SWITCH, 'tc qdisc add dev w1 ' + rate)
      with cluster(directory, more + flags) as tasks:
        finish(tasks)
        rate = examples_per_second(tasks['w0'], mode, args.batch_size)
        received, sent = traffic(tasks['w0'])
      print(
          '%-17s %-6s %-10s %10.0f %10.2f  %s MB in, %s MB out' %
          ('%g Mbit/s' % mbit if mbit else 'as it is', mode[2:], dtype, rate,
           staleness(directory), received, sent), flush=True)


def examples_per_second(process, mode, batch_size):
  """The rate of all workers together, in the second half of a run."""
  found = steps(process)
  if len(found) < 4:
    sys.exit(
        f'Worker 0 took {len(found)} steps, too few to time: raise --steps.')
  (first, begin), (last, end) = found[len(found) // 2], found[-1]
  per_step = batch_size * (2 if mode == '--sync' else 1)
  return per_step * (last - first) / (end - begin).total_seconds()


def traffic(process):
  """The megabytes of a step, as the task printed them: (received, sent)."""
  pattern = r'receives ([\d.]+) MB .* sends ([\d.]+) MB'
  return re.search(pattern, process.log.read_text()).groups()


def staleness(directory):
  """The mean of the summary `staleness` from its second value on."""
  (path,) = glob.glob(os.path.join(directory, 'events.*'))
  values = [
      value.simple_value
      for event in tf.train.summary_iterator(path)
      for value in event.summary.value
      if value.tag == 'staleness'
  ]
  return sum(values[1:]) / max(1, len(values) - 1)


def main():
  """Reads the flags and runs the clusters."""
  parser = arguments.Parser(__doc__, allow_abbrev=False)
  parser.add_argument('what', choices=('cut', 'slow'))
  parser.add_argument('--steps', default=300, help='steps of each run')
  parser.add_argument('--secs', default=8, help='how long the link is cut')
  parser.add_argument('--mbit', type=float, default=200,
                      help='limit of the slow link in Mbit/s, each way')
  parser.add_argument('--batch_size', default=128, help='of each worker')
  args, flags = parser.parse_known_args()
  if args.steps < 10:
    parser.error(f'--steps={args.steps}: expected at least 10')
  if os.geteuid():
    parser.error('network namespaces need root')
  for program in ('ip', 'tc'):
    if shutil.which(program) is None:
      parser.error(f'{program}: not found; it is part of iproute2')
  # So that the tasks and the network are removed then too.
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
  flags.append(f'--batch_size={args.batch_size}')
  (cut if args.what == 'cut' else slow)(args, flags)


if __name__ == '__main__':
  main()
