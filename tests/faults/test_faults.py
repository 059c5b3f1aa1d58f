"""A few quick faults, and that the campaign notices a promise not kept.

scripts/faults.py runs as many faults as one likes.
"""

import json
import random
import re
import subprocess
import sys

import numpy as np
import pytest

from cifar10.store import checkpoints
from tests import processes
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


def save_checkpoint(directory, step, value=1.0):
  """Saves a checkpoint of a dozen variables."""
  values = {'v%d' % number: np.float32(value) for number in range(12)}
  checkpoints.write(str(directory), dict(values, global_step=np.int64(step)))


def test_checkpoints_are_checked(tmp_path):
  assert invariants.checkpoints_load(str(tmp_path)) == -1
  save_checkpoint(tmp_path, 3)
  save_checkpoint(tmp_path, 5)
  assert invariants.checkpoints_load(str(tmp_path)) == 5
  (index,) = tmp_path.glob('*-5.index')
  (data,) = tmp_path.glob('*-5.data*')
  content = bytearray(data.read_bytes())
  content[8] ^= 1
  data.write_bytes(content)
  with pytest.raises(BrokenPromiseError, match='does not load'):
    invariants.checkpoints_load(str(tmp_path))
  index.unlink()  # Named, and not there.
  with pytest.raises(BrokenPromiseError, match='is named and not there'):
    invariants.checkpoints_load(str(tmp_path))
  save_checkpoint(tmp_path, 7, value=float('nan'))
  with pytest.raises(BrokenPromiseError, match='not finite'):
    invariants.checkpoints_load(str(tmp_path))


def test_what_is_changed_or_left_is_noticed(tmp_path):
  (tmp_path / 'folder').mkdir()
  before = invariants.Unchanged(tmp_path)
  before.check()
  invariants.no_leftovers(str(tmp_path))
  (tmp_path / 'folder' / 'x.tmp17').write_text('b')
  with pytest.raises(BrokenPromiseError, match='has changed'):
    before.check()
  with pytest.raises(BrokenPromiseError, match='is left'):
    invariants.no_leftovers(str(tmp_path))
  with Sandbox() as sandbox:
    process = subprocess.Popen(
        [sys.executable, '-c', 'import time; time.sleep(100)'],
        cwd=sandbox.path('work'))
    with pytest.raises(BrokenPromiseError, match='are left'):
      invariants.no_process(sandbox, seconds=0.1)
  assert process.wait(10) == -9
  assert not sandbox.folder.exists()


@pytest.mark.parametrize(
    'body, problem',
    [('sys.exit("odd: error: /x: bad")', None),
     ('sys.exit("odd: error: bad")', 'the error names'),
     ('sys.exit("odd: error: /x: bad\\nand more")', 'expected one line'),
     ('1 / 0', 'traceback'), ('pass', 'status 0'),
     ('import time; time.sleep(30)', 'still runs')])
def test_error_output_is_checked(tmp_path, monkeypatch, body, problem):
  program = tmp_path / 'odd.py'
  program.write_text('import sys\n' + body)
  monkeypatch.setattr('tests.faults.sandbox.script', lambda name: str(program))
  with Sandbox() as sandbox:
    run = sandbox.start('odd')
    if problem is None:
      invariants.ended_with_error(run, 9)
    else:
      with pytest.raises(BrokenPromiseError, match=problem):
        invariants.ended_with_error(run, 0.5 if problem == 'still runs' else 9)


def test_the_script_says_what_it_takes():
  status, out, err = processes.run([campaign.SCRIPT, '--help'])
  assert (status, err) == (0, '')
  assert '--count' in out and 'cluster' in out
