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
import tensorflow.compat.v1 as tf

from tests import processes
from tests.faults import campaign
from tests.faults import invariants
from tests.faults import names
from tests.faults import random_runs
from tests.faults import resumes
from tests.faults import settings
from tests.faults import values
from tests.faults.sandbox import BrokenPromiseError
from tests.faults.sandbox import Kind
from tests.faults.sandbox import Sandbox

pytestmark = pytest.mark.slow

# Seeds of five quick faults: damage, a download, a kill, two of pictures.
QUICK = (838470781181, 1017952666480, 534200567909, 991306618060, 579360048997)


def save_checkpoint(directory, step, value=1.0):
  """Saves a checkpoint of a dozen variables."""
  with tf.Graph().as_default(), tf.Session() as session:
    tf.Variable(np.int64(step), name='global_step')
    for number in range(12):
      tf.Variable(value, name='v%d' % number)
    session.run(tf.global_variables_initializer())
    saver = tf.train.Saver(save_relative_paths=True)
    saver.save(session, str(directory / 'model.ckpt'), global_step=step)


def test_a_few_faults(tmp_path, capsys):
  out = tmp_path / 'results.json'
  faults = [campaign.fault_of(seed) for seed in QUICK]
  assert [fault.kind.group for fault in faults
         ] == ['damage', 'download', 'kill', 'picture', 'picture']
  assert campaign.main(faults, jobs=1, out=str(out)) == 0
  results = json.loads(out.read_text())['results']
  assert sorted(r['seed'] for r in results) == sorted(f.seed for f in faults)
  # Only what failed is run again.
  (failed,) = [r for r in results if r['class'] == 'download']
  failed['problem'] = 'not kept'
  out.write_text(json.dumps({'results': results}))
  capsys.readouterr()
  assert campaign.main(faults, jobs=1, out=str(out)) == 0
  lines = [x for x in capsys.readouterr().out.splitlines() if ' of 5 ' in x]
  assert len(lines) == 1 and str(failed['seed']) in lines[0]
  assert len(json.loads(out.read_text())['results']) == 5


@pytest.mark.parametrize('kind, seed', [(settings.of_a_new_run, 1),
                                        (settings.of_a_new_run, 4),
                                        (settings.of_a_reader, 0),
                                        (names.of_an_output, 2),
                                        (names.of_an_output, 10)])
def test_a_few_faults_that_were_drawn(kind, seed):
  with Sandbox() as sandbox:
    kind(sandbox, random.Random(seed))


def test_wrong_values_of_flags_are_known():
  drawn = [values.draw('top_k', random.Random(seed)) for seed in range(60)]
  assert drawn == [
      values.draw('top_k', random.Random(seed)) for seed in range(60)
  ]
  for value in drawn:
    is_right = value.text.isdecimal() and int(value.text) >= 1
    assert is_right or value.is_wrong, value
  assert {value.is_wrong for value in drawn} == {False, True}
  texts = [values.draw('schedule', random.Random(n)) for n in range(60)]
  for value in texts:
    assert value.is_wrong == (value.text in ('', 'nonsense', 'TUTORIAL', '0'))


def test_a_flag_that_has_no_effect_is_noticed():
  drawn = {'momentum': values.Value('0.9', 0.9)}
  assert not settings.has_effect('momentum', drawn)
  drawn['optimizer'] = values.Value('nesterov', 'nesterov')
  assert settings.has_effect('momentum', drawn)
  # That is what pretraining does without being told.
  assert settings.has_effect('adam_beta1', {}, 'cifar10_pretrain')
  assert not settings.has_effect('adam_beta1', {})


def test_repeated_batches_are_noticed():
  first = [0.1, 0.2, 0.3, 0.4]
  assert resumes.share(first, [9.0, 0.2, 0.3, 0.4])
  assert not resumes.share(first, [0.4, 0.3, 0.2, 0.1])
  assert not resumes.share(first, [0.1, 0.2])


def test_a_copy_of_a_run_has_other_times(tmp_path):
  for name in ('a', 'b', 'c'):
    (tmp_path / 'run').mkdir(exist_ok=True)
    (tmp_path / 'run' / name).write_text(name)
  orders = set()
  for seed in range(20):
    target = tmp_path / str(seed)
    random_runs.copy(str(tmp_path / 'run'), str(target), random.Random(seed))
    found = sorted(target.iterdir(), key=lambda path: path.stat().st_mtime)
    orders.add(''.join(path.name for path in found))
    assert {path.read_text() for path in found} == {'a', 'b', 'c'}
  assert len(orders) > 2


def test_a_seed_is_a_fault():
  first, second = (campaign.draw(50, seed=3) for _ in range(2))
  assert first == second
  assert [campaign.fault_of(fault.seed) for fault in first] == first
  assert {fault.kind.group for fault in campaign.draw(9, 3, ('disk',))
         } == {'disk'}
  batches = list(campaign.batches(campaign.draw(200, seed=5)))
  assert sum(map(len, batches)) == 200
  assert all(len(batch) <= batch[0].kind.batch for batch in batches)


def test_what_fails_is_counted_and_repeated(monkeypatch, capsys):

  def fails(sandbox, random):
    sandbox.note('drawn: %d', random.randrange(10))
    raise BrokenPromiseError('not kept')

  monkeypatch.setattr(campaign, 'TABLE', (Kind('data', fails, 1),))
  monkeypatch.setattr(campaign, '_SHARES', {'data': 1})
  faults = campaign.draw(2, seed=1, groups=('data',))
  assert campaign.main(faults, jobs=2) == 1
  printed = capsys.readouterr().out
  for fault in faults:
    drawn = random.Random(fault.seed).randrange(10)
    assert 'faults.py --one=%d\ndrawn: %d\n' % (fault.seed, drawn) in printed
  assert re.search(r'^data +2 +2 ', printed, re.MULTILINE)


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


def test_numbers_in_checkpoints_are_checked(tmp_path):
  save_checkpoint(tmp_path, 3, value=float('nan'))
  with pytest.raises(BrokenPromiseError, match='not finite'):
    invariants.checkpoints_load(str(tmp_path))


def test_changes_and_leftovers_are_noticed(tmp_path):
  (tmp_path / 'mine').write_text('a')
  (tmp_path / 'folder').mkdir()
  before = invariants.Unchanged(tmp_path)
  before.check()
  invariants.no_leftovers(str(tmp_path))
  (tmp_path / 'folder' / 'x.tmp17').write_text('b')
  with pytest.raises(BrokenPromiseError, match='has changed'):
    before.check()
  with pytest.raises(BrokenPromiseError, match='is left'):
    invariants.no_leftovers(str(tmp_path))


def test_processes_that_are_left_are_noticed_and_ended():
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
     ('sys.exit("/x: bad")', 'expected one line'),
     ('sys.exit("odd: error: /x: bad\\nand more")', 'expected one line'),
     ('sys.exit(2)', 'status 2'), ('1 / 0', 'traceback'), ('pass', 'status 0'),
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
  script = [campaign.SCRIPT, '--help']
  status, out, err = processes.run(script)
  assert (status, err) == (0, '')
  assert '--count' in out and 'cluster' in out
