"""The comparison of sparse networks, on a few steps."""

import argparse
import json
import os

import pytest

from tests import forked_variants
from tests import short_runs

sparse = short_runs.module_of('benchmarks', 'sparse')


@pytest.mark.slow
def test_a_variant_is_trained_dense_and_sparse(tmp_path, monkeypatch, capsys):
  forked_variants.fork(monkeypatch)
  experiments, out = tmp_path / 'experiments.json', tmp_path / 'out.json'
  # What l1 draws to zero, ftrl_l1 keeps there.
  flags = ['--optimizer=ftrl', '--learning_rate=0.5', '--ftrl_l1=1',
           '--regularizer=l1', '--l1_scale=0.004']  # yapf: disable
  experiments.write_text(
      json.dumps({
          'steps': 5,
          'seeds': [1],
          'flags': [
              *forked_variants.quick_flags(tmp_path), '--hidden_layers=8',
              '--conv=direct', *flags
          ],
          'variants': {}
      }))
  args = argparse.Namespace(experiments=str(experiments), out=str(out), jobs=1,
                            zeros=0.95, runs=str(tmp_path / 'runs'))
  sparse.compare_all(args)
  table, _ = capsys.readouterr()
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
  sparse.compare_all(args)
  assert capsys.readouterr() == (table, '')
  assert out.read_text() == written
