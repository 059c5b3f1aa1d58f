"""scripts/benchmarks/reproduce.py measures all figures, one after the other."""

import json
import os

import pytest

from tests import processes
from tests import short_runs

BENCHMARKS = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks')
SCRIPT = os.path.join(BENCHMARKS, 'reproduce.py')
FIGURES = os.path.join(BENCHMARKS, 'experiments', 'figures.json')


def reproduce(*args):
  return processes.run([SCRIPT, *map(str, args)])


@pytest.mark.slow
def test_complete_figures_are_left_out_and_others_start_again(tmp_path):
  figures, out = tmp_path / 'figures.json', tmp_path / 'out'
  drawn = tmp_path / 'curve.json'
  draw = f'plot.py {drawn} --out={{out}}/curve.png'
  scaling = 'predict_scaling.py --step_secs=0.05 --update_secs=0.01'
  figures.write_text(json.dumps({'scaling': [scaling], 'curve': [draw]}))
  status, text, err = reproduce(figures, f'--out={out}')
  assert status == 1
  assert f'{drawn}: no such file' in err
  assert err.endswith('reproduce: error: plot.py ended with status 1\n')
  *_, scaling, curve = text.splitlines()
  assert scaling.startswith('| scaling | complete | ')
  assert curve.startswith('| curve | stopped | ')

  point = {'step': 5, 'minutes': 1.0, 'averaged': 70, 'plain': 60}
  points = {'points': [point], 'total': 100, 'precision': 'float32'}
  drawn.write_text(json.dumps(points))
  status, text, err = reproduce(figures, f'--out={out}')
  assert status == 0, err
  assert 'scaling ...' not in err and 'curve ...' in err
  assert (out / 'curve.png').exists()
  records = json.loads((out / 'record.json').read_text())
  assert [record['starts'] for record in records.values()] == [1, 2]
  for record in records.values():
    assert record['complete'] and record['machine']['cores'] == os.cpu_count()
    assert 0 < record['own'] and 0 <= record['stolen'] < record['processors']


def test_a_figure_that_is_not_there_is_told(tmp_path):
  status, _, err = reproduce(FIGURES, f'--out={tmp_path}', '--only=speeds')
  assert status == 1
  assert err.startswith('reproduce: error: --only=speeds: expected one of ')


def test_the_programs_of_all_figures_exist():
  with open(FIGURES) as lines:
    figures = json.load(lines)
  for commands in figures.values():
    for command in commands:
      program, *flags = command.split()
      assert os.path.exists(os.path.join(BENCHMARKS, program))
      for flag in flags:
        if flag.startswith('{here}'):
          assert os.path.exists(flag.format(here=BENCHMARKS))
