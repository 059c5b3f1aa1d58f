"""A few quick faults, and that the campaign notices a promise not kept.

scripts/faults.py runs as many faults as one likes.
"""

import contextlib
import json
import os
import random
import re

import numpy as np
import pytest

from cifar10.store import checkpoints
from tests import processes
from tests import short_runs
from tests.faults import campaign
from tests.faults import damage
from tests.faults import invariants
from tests.faults import kills
from tests.faults import names
from tests.faults import pictures
from tests.faults import settings
from tests.faults.sandbox import BrokenPromiseError
from tests.faults.sandbox import Sandbox

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('run, seed', [
    (damage.of_a_run, 1), (damage.of_a_data_set, 2),
    (kills.in_a_save, 1), (names.of_an_output, 2), (pictures.predicted, 1),
    (settings.of_a_new_run, 1), (settings.of_a_reader, 0)])  # yapf: disable
def test_a_few_faults(run, seed):
  with Sandbox() as sandbox:
    run(sandbox, random.Random(seed))


def test_what_fails_is_counted_and_repeated(monkeypatch, tmp_path, capsys):

  def fault(sandbox, random):
    drawn = random.randrange(10)
    sandbox.note('drawn: %d', drawn)
    invariants.expect(drawn < 5, 'not kept')

  monkeypatch.setattr(damage, 'KINDS', {fault: 1})
  faults = campaign.draw(20, seed=1, groups=('damage',))
  assert faults == [campaign.fault_of(fault.seed) for fault in faults]
  drawn = {f.seed: random.Random(f.seed).randrange(10) for f in faults}
  failed = [seed for seed, number in drawn.items() if number >= 5]
  out = tmp_path / 'results.json'
  # Only what failed is run again.
  for count in (20, len(failed)):
    assert campaign.main(faults, jobs=2, out=str(out)) == 1
    printed = capsys.readouterr().out
    assert len(re.findall(' of 20 ', printed)) == count
    for seed in failed:
      end = 'faults.py --one=%d\ndrawn: %d\n' % (seed, drawn[seed])
      assert end in printed
    assert re.search(r'^damage +20 +%d ' % len(failed), printed, re.MULTILINE)
    results = json.loads(out.read_text())['results']
    assert sorted(r['seed'] for r in results) == sorted(drawn)


def broken(promise):
  return pytest.raises(BrokenPromiseError, match=promise)


def test_what_is_damaged_changed_or_left_is_noticed(tmp_path):
  folder, values = str(tmp_path), {'v%d' % i: np.float32(i) for i in range(12)}
  assert invariants.checkpoints_load(folder) == -1
  for step in (3, 5):
    before = invariants.Unchanged(folder)
    checkpoints.write(folder, dict(values, global_step=np.int64(step)))
    assert invariants.checkpoints_load(folder) == step
  invariants.no_leftovers(folder)
  (data,) = tmp_path.glob('*-5.data*')
  data.write_bytes(b'x' + data.read_bytes()[1:])
  with broken('does not load'):
    invariants.checkpoints_load(folder)
  os.remove(folder + '/model.ckpt-5.index')
  with broken('is named and not there'):
    invariants.checkpoints_load(folder)
  with broken('has changed'):
    before.check()
  values['v0'] = np.float32('nan')
  checkpoints.write(folder, dict(values, global_step=np.int64(7)))
  with broken('not finite'):
    invariants.checkpoints_load(folder)
  (tmp_path / 'x.tmp17').write_text('b')
  with broken('is left'):
    invariants.no_leftovers(folder)


@pytest.mark.parametrize(
    'body, problem',
    [('sys.exit("program: error: /x: bad")', None),
     ('sys.exit("program: error: bad")', 'the error names'),
     ('sys.exit("program: error: /x: bad\\nand more")', 'expected one line'),
     ('1 / 0', 'traceback'), ('pass', 'status 0'),
     ('import time; time.sleep(30)', 'still runs')])
def test_error_output_is_checked(tmp_path, monkeypatch, body, problem):
  path = processes.script(tmp_path, 'import sys\n' + body)
  monkeypatch.setattr(short_runs, 'script', lambda name: path)
  hangs, fine = problem == 'still runs', contextlib.nullcontext()
  with Sandbox() as sandbox:
    run = sandbox.start('program')
    with broken(problem) if problem else fine:
      invariants.ended_with_error(run, 0.5 if hangs else 9)
    with broken('are left') if hangs else fine:
      invariants.no_process(sandbox, seconds=0.1)
  assert run.status is not None and not sandbox.folder.exists()


def test_the_script_says_what_it_takes():
  out = processes.output([campaign.SCRIPT, '--help'])
  assert '--count' in out and 'cluster' in out
