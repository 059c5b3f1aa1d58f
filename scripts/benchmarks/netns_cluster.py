#!/usr/bin/env python
"""Runs a cluster on three hosts, which are network namespaces of this machine.

    sudo python scripts/benchmarks/netns_cluster.py cut
    sudo python scripts/benchmarks/netns_cluster.py slow

The hosts, a parameter server and two workers, have addresses of their own and
are connected by a switch. `cut` disconnects the second worker in the middle of
a run and checks that no step is lost; the status is 1 if one is. `slow` limits
the link of the second worker, and compares --sync, --nosync and the values of
--grad_dtype with and without that limit. Flags of every task come last, after
`--`. Needs Linux, root, and the programs `ip` and `tc`.
"""

import contextlib
import datetime
import itertools
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile
import time

import package_path
from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.tools import variants
from cifar10.tools.report import events
from cifar10.util import arguments
import numpy as np

HOSTS = {'ps0': '10.77.0.1', 'w0': '10.77.0.2', 'w1': '10.77.0.3'}
PREFIX = 'cifar10-'  # Of the names of network namespaces.
SWITCH = 'switch'
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


def log_of(host, folder):
  """The path of what a task has printed."""
  return Path(folder, host + '.log')


def train(folder, args, flags, watch=lambda: None):
  """Runs a cluster to its end; raises UserError if a task fails.

  Args:
    folder: training directory; logs go there, too.
    flags: of every task, besides `args.flags`.
    watch: called now and then while the second worker runs.
  """
  runner = variants.Runner()
  command = variants.command(
      'cifar10_distributed_train.py', f'--train_dir={folder}',
      '--ps_hosts={ps0}:2222'.format(**HOSTS),
      '--worker_hosts={w0}:2222,{w1}:2222'.format(**HOSTS), '--log_frequency=1',
      f'--max_steps={args.steps}', f'--batch_size={args.batch_size}', *flags,
      *args.flags)

  def run(host, thread):
    del thread
    job = {'ps': 'ps', 'w': 'worker'}[host[:-1]]
    inside_host = [shutil.which('ip'), 'netns', 'exec', PREFIX + host]
    with open(log_of(host, folder), 'wb') as log:
      status = runner.run([
          *inside_host, *command, f'--job_name={job}',
          f'--task_index={host[-1]}'
      ], watch if host == 'w1' else lambda: None, stdout=log, stderr=log)
    if status:
      print(log_of(host, folder).read_text(), file=sys.stderr)
      raise UserError(f'{host} ended with status {status}')

  runner.run_all(run, HOSTS, len(HOSTS))


def steps(host, folder):
  """The lines of steps that a task has printed: pairs (step, datetime)."""
  return [(int(step), datetime.datetime.fromisoformat(when))
          for when, step in STEP.findall(log_of(host, folder).read_text())]


def cut(args):
  """Disconnects the second worker in the middle of a run.

  Raises UserError if a step is missing in a worker or in the checkpoint.
  """
  cuts = []

  def watch():
    if not cuts and args.steps // 2 <= len(steps('w1', folder)) < args.steps:
      cuts.append(args.secs)
      print(f'Cutting the link of worker 1 for {args.secs} s.', flush=True)
      inside(SWITCH, 'ip link set w1 down')
      time.sleep(args.secs)
      inside(SWITCH, 'ip link set w1 up')

  with network(), tempfile.TemporaryDirectory() as folder:
    train(folder, args, [], watch)
    lost = [host for host in ('w0', 'w1') if not check(host, folder, args)]
    last = checkpoints.step(checkpoints.latest(folder))
  print(f'The checkpoint is of step {last}.')
  if lost or last != args.steps:
    raise UserError(f'steps were lost: {", ".join(lost or ["checkpoint"])}')
  if not cuts:
    raise UserError('the cluster ended before the link was cut: raise --steps')


def check(host, folder, args):
  """Prints and returns whether a worker has taken each step once."""
  numbers, times = zip(*steps(host, folder))
  whole = numbers == tuple(range(args.steps))
  gaps = [(b - a).total_seconds() for a, b in zip(times, times[1:])]
  print('%s: %s steps 0 to %d; the longest took %.1f s.' %
        (host, 'all' if whole else 'NOT all', args.steps - 1, max(gaps)))
  return whole


def slow(args):
  """Trains with and without the limit, in each mode and type of gradients."""
  print('link of worker 1  mode   gradients  examples/s  staleness  messages')
  for mbit, mode, dtype in itertools.product(
      (None, args.mbit), ('sync', 'nosync'), ('float32', 'bfloat16')):
    with network(), tempfile.TemporaryDirectory() as folder:
      if mbit:  # Each way.
        limit = f'root tbf rate {mbit:g}mbit burst 128kb latency 200ms'
        inside('w1', f'tc qdisc add dev eth0 {limit}')
        inside(SWITCH, f'tc qdisc add dev w1 {limit}')
      train(folder, args, [f'--{mode}', f'--grad_dtype={dtype}'])
      found = steps('w0', folder)
      if len(found) < 4:
        raise UserError(f'worker 0 took {len(found)} steps: raise --steps')
      (first, begin), (last, end) = found[len(found) // 2], found[-1]
      received, sent = re.search(r'receives ([\d.]+) MB .* sends ([\d.]+) MB',
                                 log_of('w0', folder).read_text()).groups()
      curve = events.curve(events.read_folder(folder)[0], 'staleness')
    # Of all workers together, in the second half of the run.
    examples = args.batch_size * (last - first) * (1 + (mode == 'sync'))
    print(
        '%-17s %-6s %-10s %10.0f %10.2f  %s MB in, %s MB out' %
        ('%g Mbit/s' % mbit if mbit else 'as it is', mode, dtype, examples /
         (end - begin).total_seconds(),
         np.mean([point.value for point in curve[1:]]), received, sent),
        flush=True)


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('what', choices=('cut', 'slow'))
  parser.add_argument('--steps', default=300, help='steps of each run')
  parser.add_argument('--secs', default=8, help='how long the link is cut')
  parser.add_argument('--mbit', default=200.0,
                      help='limit of the slow link in Mbit/s, each way')
  parser.add_argument('--batch_size', default=128, help='of each worker')
  parser.add_argument('flags', nargs='*', help='flags of every task')
  if os.geteuid():
    parser.error('network namespaces need root')
  parser.run(lambda args: (cut if args.what == 'cut' else slow)(args),
             steps=(10, None))
