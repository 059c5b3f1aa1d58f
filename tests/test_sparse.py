"""The comparison of sparse networks, on a few steps."""

import json
import os

import pytest

from tests import processes
from tests import short_runs

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks', 'sparse.py')


@pytest.mark.slow
def test_a_variant_is_trained_dense_and_sparse(tmp_path):
  experiments, out = tmp_path / 'experiments.json', tmp_path / 'out.json'
  # What l1 draws to zero, ftrl_l1 keeps there.
  flags = ['--optimizer=ftrl', '--learning_rate=0.5', '--ftrl_l1=1',
           '--regularizer=l1', '--l1_scale=0.004']  # yapf: disable
  experiments.write_text(
      json.dumps({
          'steps': 5,
          'seeds': [1],
          'flags': ['--dataset=sample', '--batch_size=4', *flags],
          'variants': {}
      }))
  command = [SCRIPT, str(experiments), '--out=%s' % out, '--zeros=0.95',
             '--runs=%s' % (tmp_path / 'runs')]  # yapf: disable
  status, table, _ = processes.run(command)
  assert status == 0
  (result,) = json.loads(out.read_text())['results']
  assert 'error' not in result
  assert 0.05 < result['own_zeros'] < 0.95
  assert 0.95 <= result['zeros_at_end'] < 0.951 and result['threshold'] > 0
  assert [point['step'] for point in result['points']] == [4, 5]
  assert [point['step'] for point in result['dense_points']] == list(range(6))
  assert table.count('\n') == 3 and '95.0 %' in table
  written = out.read_text()
  # Started again, it has nothing to train.
  os.rename(str(tmp_path / 'runs'), str(tmp_path / 'gone'))
  assert processes.run(command)[:2] == (0, table)
  assert out.read_text() == written
