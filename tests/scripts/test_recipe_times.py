"""scripts/benchmarks/recipe_times.py says how long recipes take."""

import argparse
import json

import pytest

from tests import forked_variants
from tests import short_runs

recipe_times = short_runs.module_of('benchmarks', 'recipe_times')


def test_the_table_multiplies_and_compares_within_a_round():
  seconds = {'tutorial': [0.1, 0.2, 0.15], 'fast': [2, 6, 2.25]}
  assert recipe_times.table(seconds).splitlines()[2:] == [
      '| `tutorial` | 100,000 | 0.15 (0.1 to 0.2) | 250 | 100,000 |',
      '| `fast` | 743 | 2.25 (2 to 6) | 28 | 14,860 |'
  ]


@pytest.mark.slow
def test_recipes_are_timed(tmp_path, monkeypatch, capsys):
  forked_variants.fork(monkeypatch)
  out = tmp_path / 'out.json'
  monkeypatch.setattr(recipe_times, 'RECIPES', ('tutorial', 'fast'))
  flags = ['--dataset=sample', '--batch_size=2', '--max_steps=4']
  recipe_times.measure(argparse.Namespace(rounds=1, out=str(out), flags=flags))
  seconds = json.loads(out.read_text())['seconds of a step']
  assert recipe_times.table(seconds) == capsys.readouterr().out.strip()
  assert list(seconds) == ['tutorial', 'fast']
  assert all(0 < value < 60 for (value,) in seconds.values())
