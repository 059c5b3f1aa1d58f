"""The script of exercises 8 and 9: networks on a cluster, and an ensemble."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from cifar10.cluster import local_cluster
from tests import processes
from tests import short_runs

pytestmark = pytest.mark.slow

pytest.importorskip('optuna')

SPACE = {
    'flags': [
        '--dataset=sample', '--max_steps=8', '--validation_examples=100',
        '--validation_steps=4', '--batch_size=8', *short_runs.SMALL_FLAGS
    ],
    'space': {
        'learning_rate': [0.001, 0.003, 0.01, 0.03]
    }
}


def run(tmp_path, *flags, **environment):
  """Runs the script to its end; returns its status, output and errors."""
  (tmp_path / 'space.json').write_text(json.dumps(SPACE))
  script = os.path.join(short_runs.ROOT, 'scripts', 'exercise_8_9.sh')
  process = subprocess.Popen(
      [script,
       str(tmp_path / 'space.json'),
       str(tmp_path / 'out'), *flags],
      env=dict(os.environ, PYTHON=sys.executable,
               **environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
      universal_newlines=True, start_new_session=True)
  try:
    out, err = process.communicate(timeout=900)
  finally:  # Whatever it has started ends, too.
    if process.poll() is None:
      os.killpg(process.pid, signal.SIGKILL)
  return process.returncode, out, err


def test_the_best_three_of_a_cluster_are_an_ensemble(tmp_path):
  hosts = ['127.0.0.1:%d' % port for port in local_cluster.free_ports(2)]
  status, out, err = run(
      tmp_path, '--trials=4', '--seed=1',
      PORTS=' '.join(host.rpartition(':')[2] for host in hosts))
  assert status == 0, err
  folder = tmp_path / 'out'
  trials = json.loads((folder / 'trials.json').read_text())['trials']
  assert len(trials) == 4
  # Each task of the cluster has trained some.
  masters = {
      json.loads(
          (folder / trial['folder'] / 'config.json').read_text())['master']
      for trial in trials
  }
  assert masters == {'grpc://' + host for host in hosts}
  lines = out.splitlines()[-4:]
  named = [
      re.match(r'(.*)/best: precision @ 1 = [\d.]+ \(\d+ / 500\)', line)
      for line in lines[:3]
  ]
  best = sorted(trials, key=lambda trial: -trial['precision'])
  precisions = {trial['folder']: trial['precision'] for trial in trials}
  assert [precisions[os.path.basename(match.group(1))] for match in named
         ] == [trial['precision'] for trial in best[:3]]
  assert len({match.group(1) for match in named}) == 3
  assert re.search(r'\d / 500\) on test images, ensemble of 3 networks$',
                   lines[3])
  # The servers end with the script.
  assert not processes.running(hosts[0])
