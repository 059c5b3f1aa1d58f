"""Without the guard everything trains: nothing but one call knows it."""

import os
import shutil

import pytest

from cifar10.store import checkpoints
from tests import processes
from tests import short_runs

IMPORT = 'from cifar10 import guard\n'
CALL = 'guard.protect(run, role, creator, all_hooks, validator)'
PLAIN = 'tf.train.MonitoredSession(creator, all_hooks)'

PROGRAM = """
import pathlib
from cifar10 import cifar10_train
from cifar10.settings import Settings

assert not pathlib.Path(cifar10_train.__file__).with_name('guard').exists()
for max_steps in (3, 5):
  cifar10_train.train(
      Settings(dataset='sample', batch_size=8, max_steps=max_steps,
               log_frequency=1, train_dir='train', validation_examples=50,
               validation_steps=2, hidden_layers='', conv='direct'))
"""


@pytest.mark.slow
def test_without_the_guard_a_run_trains_saves_and_resumes(tmp_path):
  shutil.copytree(os.path.join(short_runs.ROOT, 'cifar10'),
                  str(tmp_path / 'cifar10'),
                  ignore=shutil.ignore_patterns('__pycache__', 'guard'))
  session = tmp_path / 'cifar10' / 'run' / 'session.py'
  code = session.read_text()
  assert (code.count(IMPORT), code.count(CALL)) == (1, 1)
  session.write_text(code.replace(IMPORT, '').replace(CALL, PLAIN))
  out = processes.output([processes.script(tmp_path, PROGRAM)],
                         cwd=str(tmp_path), env=dict(os.environ, PYTHONPATH=''),
                         modules=('tensorflow.compat.v1',))
  assert short_runs.steps(out) == [0, 1, 2, 3, 4]
  assert 'Resuming from' in out
  found = checkpoints.by_step(str(tmp_path / 'train'))
  assert sorted(found) == [0, 3, 5]
