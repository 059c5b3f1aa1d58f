"""Signals: noted while native code hangs; the second one ends the process."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from cifar10.util import reachability
from tests import clusters
from tests import processes
from tests import short_runs

PROGRAM = """
import os, signal, sys, time
import cifar10
from cifar10.util import signals
import tensorflow.compat.v1 as tf

for turn in range(int(sys.argv[2])):
  with signals.noted() as noted, tf.Session() as session:
    print('ready', flush=True)
    if sys.argv[1] == 'hang':
      session.run(tf.FIFOQueue(1, [tf.int32]).dequeue())
    deadline = time.monotonic() + 60
    while not noted and time.monotonic() < deadline:
      time.sleep(0.01)
    time.sleep(0.3)
  signals.print_first(noted)
  print(noted, flush=True)
"""


@pytest.fixture(name='start')
def _start(tmp_path):
  program, started = processes.script(tmp_path, PROGRAM), []

  def start(kind, turns=1):
    process = processes.start([program, kind, turns], stdout=processes.PIPE,
                              stderr=processes.PIPE)
    started.append(process)
    assert process.stdout.readline() == 'ready\n'
    return process

  yield start
  for process in started:
    process.kill()


def test_a_signal_is_noted_once(start):
  names = ['SIGINT', 'SIGTERM', 'SIGHUP']
  process = start('wait', len(names))
  for turn, name in enumerate(names):
    if turn:
      assert process.stdout.readline() == 'ready\n'
    number = getattr(signal, name)
    process.send_signal(number)
    time.sleep(0.05)  # Or the two would be one pending signal.
    process.send_signal(number)  # Right behind, as `timeout` sends it.
    assert process.stdout.readline() == 'Stopped by %s.\n' % name
    assert process.stdout.readline() == '[%d]\n' % number
  assert process.communicate(60) == ('', '') and process.returncode == 0


def test_the_second_signal_ends_a_process_that_hangs(start):
  process = start('hang')
  process.send_signal(signal.SIGTERM)
  time.sleep(1.5)
  assert process.poll() is None
  process.send_signal(signal.SIGINT)
  out, err = process.communicate(10)
  assert (process.returncode, out) == (128 + signal.SIGINT, '')
  assert err.startswith('program: error: ended by a second signal, SIGINT')
  assert err.count('\n') == 1


@pytest.mark.slow
def test_what_nohup_and_a_script_have_ignored_is_ignored(tmp_path):
  program = [sys.executable, processes.script(tmp_path, PROGRAM), 'wait', '1']
  process = subprocess.Popen(
      # As a script does that starts `nohup program &`.
      ['sh', '-c', 'trap "" INT; exec nohup "$@"', 'sh', *program],
      stdin=subprocess.DEVNULL,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      env=dict(os.environ, PYTHONPATH=os.getcwd()))
  assert process.stdout.readline() == b'ready\n'
  for number in (signal.SIGHUP, signal.SIGINT):
    process.send_signal(number)
    time.sleep(0.2)
  process.send_signal(signal.SIGTERM)
  out, _ = process.communicate(timeout=60)
  assert out == b'Stopped by SIGTERM.\n[15]\n'


BURST = """
import os, signal, time
import cifar10
from cifar10.util import signals

with signals.noted() as noted:
  os.kill(os.getpid(), signal.SIGINT)
  while not noted:
    time.sleep(0.01)
  print('noted', flush=True)
print(noted, flush=True)
time.sleep(600)
"""


def test_the_same_signal_does_no_harm_when_the_work_is_done(tmp_path):
  process = processes.start([processes.script(tmp_path, BURST)],
                            stdout=processes.PIPE)
  assert process.stdout.readline() == 'noted\n'
  time.sleep(0.2)
  process.send_signal(signal.SIGTERM)
  assert process.stdout.readline() == '[%d]\n' % signal.SIGINT
  time.sleep(0.2)
  assert process.poll() is None
  process.send_signal(signal.SIGTERM)  # Another one, as before.
  assert process.wait(60) == -signal.SIGTERM


UNTIL_EXIT = """
import atexit, os, signal, time

def tell_itself():
  os.kill(os.getpid(), signal.SIGTERM)
  time.sleep(0.1)

atexit.register(tell_itself)  # After what is registered later.
import cifar10
from cifar10.util import signals

noted = signals.noted_until_exit()
assert signals.noted_until_exit() is noted == []
tell_itself()
print(noted)
"""


def test_a_task_that_has_begun_to_end_is_not_killed(tmp_path):
  program = processes.script(tmp_path, UNTIL_EXIT)
  assert processes.run([program]) == (0, '[%d]\n' % signal.SIGTERM, '')


AS_PROCESS_1 = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']


# What each task waits for at its start, and how it ends.
@pytest.mark.slow
@pytest.mark.parametrize('program, line, status, out', [
    ('cifar10_eval', b'waiting for one', 143, None),
    ('worker', b'', 143, b''),
    ('ps', b'Serving at', 0, b'Stopped by SIGTERM.\nServed.\n'),
])  # yapf: disable
def test_a_program_that_waits_ends_as_process_1(tmp_path, program, line, status,
                                                out):
  if not shutil.which('unshare') or subprocess.call([*AS_PROCESS_1, 'true'],
                                                    stderr=subprocess.DEVNULL):
    pytest.skip('needs the right to make namespaces')
  ps, worker = clusters.free_addresses(2)
  flags = ['--checkpoint_dir=none', '--eval_dir=eval']
  if program != 'cifar10_eval':
    flags = ['--ps_hosts=' + ps, '--worker_hosts=' + worker]
    flags += ['--job_name=' + program, '--train_dir=run']
    program = 'cifar10_distributed_train'
  command = [sys.executable, short_runs.script(program), '--dataset=sample']
  process = subprocess.Popen([*AS_PROCESS_1, *command, *flags],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             cwd=str(tmp_path))
  try:
    if line:
      assert line in process.stdout.readline()
    while not line and reachability.unreachable(worker):
      assert process.poll() is None
      time.sleep(0.1)
    # By its number out here.
    children = '/proc/%d/task/%d/children' % (process.pid, process.pid)
    os.kill(int(open(children).read()), signal.SIGTERM)
    found, _ = process.communicate(timeout=60)
    assert process.returncode == status and out in (None, found)
  finally:
    process.kill()
    process.communicate()
