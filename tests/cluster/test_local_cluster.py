"""scripts/local_cluster.py: a whole cluster, started, shown and stopped."""

import os
import re
import signal
import socket
import sys
import time

import pytest

from cifar10.cluster import local_cluster
from cifar10.store import checkpoints
from tests import processes
from tests import short_runs


def start(tmp_path, *flags, launcher=short_runs.script('local_cluster')):
  """Starts a launcher; its output goes to the file `out`."""
  command = [launcher, '--log_dir=%s' % (tmp_path / 'logs')]
  command += ['--train_dir=%s' % (tmp_path / 'train'), '--dataset=sample']
  command += ['--batch_size=4', '--log_frequency=1', *short_runs.SMALL_FLAGS]
  command += flags
  with open(str(tmp_path / 'out'), 'wb') as out:
    return processes.start(command, stdout=out, stderr=out)


def wait_for(tmp_path, pattern):
  """Waits until the launcher has printed what matches."""
  deadline = time.monotonic() + 300
  while not re.search(pattern, (tmp_path / 'out').read_text()):
    assert time.monotonic() < deadline, (tmp_path / 'out').read_text()
    time.sleep(0.05)


def tasks(tmp_path, which='--job_name='):
  """The processes that are tasks of the cluster, or `which` of them."""
  return processes.running(which, tmp_path)


def saved_step(tmp_path):
  return checkpoints.step(checkpoints.latest(str(tmp_path / 'train')))


def check_shown(tmp_path, names):
  """Checks that what is shown is what is logged; returns the output."""
  out = (tmp_path / 'out').read_text()
  for name in names:
    shown = re.findall('^%-8s \\| (.*)$' % name, out, re.MULTILINE)
    log = (tmp_path / 'logs' / (name.replace(' ', '') + '.log')).read_text()
    assert log.splitlines() == shown and shown
  return out


@pytest.mark.slow
def test_tasks_are_run_to_their_end_shown_and_logged(tmp_path):
  task = tmp_path / 'task.py'
  task.write_text("import sys\nprint('runs with', *sys.argv[1:])")
  launcher = processes.script(
      tmp_path, 'import sys\n'
      'sys.path.insert(0, %r)\n'
      'from cifar10.cluster import local_cluster\n'
      'local_cluster._PROGRAM = %r\n'
      'local_cluster.main()' % (short_runs.ROOT, str(task)))
  process = start(tmp_path, '--num_ps=2', '--num_workers=3', '--max_steps=5',
                  launcher=launcher)
  assert process.wait(timeout=300) == 0
  names = ['ps 0', 'ps 1', 'worker 0', 'worker 1', 'worker 2']
  out = check_shown(tmp_path, names)
  started = re.findall(
      r'^(\w+) (\d) +\| runs with --job_name=\1 --task_index=\2 '
      r'--ps_hosts=([\d.:]+,[\d.:]+) '
      r'--worker_hosts=([\d.:]+,[\d.:]+,[\d.:]+) .* --max_steps=5$', out,
      re.MULTILINE)
  assert len(started) == len(out.splitlines()) == 5
  assert sorted('%s %s' % found[:2] for found in started) == names
  assert len({found[2:] for found in started}) == 1  # All of one cluster.


@pytest.mark.slow
def test_when_a_task_fails_all_end_and_they_ask_no_proxy_for_each_other(
    tmp_path, monkeypatch):
  with socket.socket() as proxy:
    proxy.bind(('127.0.0.1', 0))
    proxy.listen()
    for name in ('http_proxy', 'https_proxy', 'grpc_proxy'):
      monkeypatch.setenv(name, 'http://127.0.0.1:%d' % proxy.getsockname()[1])
    launcher = start(tmp_path)
    wait_for(tmp_path, r'worker 1 \| .* step 2,')
    (worker,) = tasks(tmp_path, '--job_name=worker\0--task_index=1')
    os.kill(worker, signal.SIGKILL)
    assert launcher.wait(timeout=300) == 1
    proxy.setblocking(False)
    with pytest.raises(BlockingIOError):  # Nobody has asked it.
      proxy.accept()
  out = check_shown(tmp_path, ['ps 0', 'worker 0', 'worker 1'])
  assert 'local_cluster: worker 1 ended with status -9' in out
  assert len(re.findall(r'^ps 0     \| Served\.$', out, re.MULTILINE)) == 1
  assert saved_step(tmp_path) >= 2
  assert not tasks(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize('number, status, seconds', [(signal.SIGINT, 130, 0),
                                                     (signal.SIGKILL, -9, 120)])
def test_the_tasks_of_a_launcher_that_ends_save_and_end(tmp_path, number,
                                                        status, seconds):
  launcher = start(tmp_path, '--precision=bfloat16', '--num_workers=1')
  wait_for(tmp_path, r'worker 0 \| .* step 3,')
  assert len(tasks(tmp_path)) == 2
  launcher.send_signal(number)
  assert launcher.wait(timeout=300) == status
  processes.wait_until(lambda: not tasks(tmp_path), seconds)
  out = (tmp_path / 'out').read_text()
  assert 'Traceback' not in out and 'error' not in out
  assert all('|' in line for line in out.splitlines())
  assert saved_step(tmp_path) >= 4
  is_told = 'Step %d is saved' % saved_step(tmp_path) in out
  assert is_told or number == signal.SIGKILL


@pytest.mark.parametrize(
    'flags, status, message',
    [(['--num_workers=0'
      ], 2, 'argument --num_workers: found 0; expected 1 to 256'),
     (['--num_ps=257'], 2, 'argument --num_ps: found 257; expected 1 to 256'),
     (['--job_name=worker'], 2, '--job_name=worker: each task gets its own'),
     (['--ps_hosts', 'x'], 2, '--ps_hosts: each task gets its own'),
     (['--log_dir=/dev/null'], '^local_cluster: error: .*/dev/null', '')])
def test_what_a_cluster_cannot_have_is_refused(capsys, monkeypatch, flags,
                                               status, message):
  monkeypatch.setattr(sys, 'argv', ['local_cluster', *flags])
  with pytest.raises(SystemExit, match=str(status)):
    local_cluster.main()
  assert message in capsys.readouterr().err


@pytest.mark.slow
def test_when_a_task_cannot_start_those_before_it_end(tmp_path):
  (tmp_path / 'logs' / 'worker1.log').mkdir(parents=True)
  launcher = start(tmp_path)
  assert launcher.wait(timeout=120) == 1
  assert 'worker1.log' in (tmp_path / 'out').read_text()
  assert not tasks(tmp_path)
