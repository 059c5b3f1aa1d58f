"""scripts/benchmarks/recipe_times.py says how long recipes take."""

import json
import os

import pytest

from tests import processes
from tests import short_runs

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks',
                      'recipe_times.py')
recipe_times = short_runs.module_at(SCRIPT)


def test_steps_of_a_whole_run():
  assert recipe_times.steps('tutorial') == 100000
  # 9 epochs of 50,000 images.
  assert recipe_times.steps('fast') == 225
  # 100 epochs; the last batch is filled up.
  assert recipe_times.steps('better') == 9766


def test_the_table_multiplies_and_compares_within_a_round():
  seconds = {'tutorial': [0.1, 0.2, 0.15], 'fast': [8, 24, 9]}
  assert recipe_times.table(seconds).splitlines()[2:] == [
      '| `tutorial` | 100,000 | 0.15 (0.1 to 0.2) | 250 | 100,000 |',
      '| `fast` | 225 | 9 (8 to 24) | 34 | 18,000 |'
  ]


@pytest.mark.slow
def test_all_recipes_are_timed(tmp_path):
  out = tmp_path / 'out.json'
  status, text, err = processes.run([
      SCRIPT, '--rounds=1', f'--out={out}', '--', '--dataset=sample',
      '--batch_size=8', '--max_steps=5'
  ])
  assert status == 0, err
  seconds = json.loads(out.read_text())['seconds of a step']
  assert recipe_times.table(seconds) == text.strip()
  assert list(seconds) == ['tutorial', 'better', 'fast', 'best']
  for (value,) in seconds.values():
    assert 0 < value < 60
