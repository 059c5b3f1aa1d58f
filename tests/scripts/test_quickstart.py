"""scripts/quickstart.sh and venv.sh, with programs that tell their names."""

import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest

from tests import short_runs


def write_program(path, content):
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text(content)
  path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture(name='checkout')
def _checkout(tmp_path):
  """A folder with the two scripts, and what they look at."""
  (tmp_path / 'scripts').mkdir()
  for name in ('quickstart.sh', 'venv.sh'):
    shutil.copy(os.path.join(short_runs.ROOT, 'scripts', name),
                str(tmp_path / 'scripts'))
  for name in ('setup.py', 'requirements.txt'):
    (tmp_path / name).write_text('')
    os.utime(str(tmp_path / name), (0, 0))
  return tmp_path


def quickstart(checkout, fetch_data):
  """Runs it; returns the status, the output and the programs that it calls."""
  for name, does in (('python', ''), ('cifar10_fetch_data', fetch_data),
                     ('cifar10_train', ''), ('cifar10_eval', '')):
    write_program(checkout / '.venv' / 'bin' / name,
                  '#!/bin/bash\necho "%s $1" >> calls\n%s\n' % (name, does))
  process = subprocess.run(
      ['bash', str(checkout / 'scripts' / 'quickstart.sh')], check=False,
      timeout=60, env=dict(os.environ, PYTHON=sys.executable),
      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
  calls = (checkout / 'calls').read_text().splitlines()
  programs = [call for call in calls if ' --dataset' in call]
  return process.returncode, process.stdout.decode(), programs


@pytest.mark.parametrize('fetch_data, dataset', [('true', 'cifar10'),
                                                 ('exit 1', 'sample')])
def test_it_trains_on_the_sample_if_nothing_can_be_fetched(
    checkout, fetch_data, dataset):
  status, out, programs = quickstart(checkout, fetch_data)
  assert status == 0
  assert programs == [
      '%s --dataset=%s' % (name, dataset)
      for name in ('cifar10_train', 'cifar10_eval')
  ]
  assert ('Training on the sample' in out) == (dataset == 'sample')


@pytest.mark.parametrize(
    'fetch_data, statuses',
    [
        ('exit 130', [130]),
        # While Python starts.
        ('kill -INT $BASHPID', [130, -signal.SIGINT]),
        ('kill -TERM $BASHPID', [143])
    ])
def test_a_signal_while_it_fetches_ends_it(checkout, fetch_data, statuses):
  status, out, programs = quickstart(checkout, fetch_data)
  assert status in statuses
  assert programs == [] and 'Training on the sample' not in out


def test_an_environment_whose_making_was_interrupted_is_repaired(checkout):
  # It lacks pip, which comes last.
  write_program(checkout / '.venv' / 'bin' / 'python',
                '#!/bin/bash\n[ -e pip ] || exit 1\n')
  write_program(checkout / 'maker',
                '#!/bin/bash\necho "$*" >> calls\ntouch pip\n')
  (checkout / '.venv' / '.installed-base').write_text('')
  for _ in range(2):
    subprocess.run(
        ['bash', '-euc', '. scripts/venv.sh && make_venv .venv ./maker'],
        cwd=str(checkout), check=True, timeout=60)
  assert (checkout / 'calls').read_text() == '-m venv .venv\n'
