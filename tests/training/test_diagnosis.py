"""Training files that change while a trainer reads them."""

import os
import signal
import time

import pytest

from tests import short_runs
from tests import synthetic_records

STALL_SECS = 10  # Longer than a busy machine takes to save.


def truncate(path):
  os.truncate(path, 0)


def cut(path):
  os.truncate(path, 3073 + 1)


def cut_between_records(path):
  os.truncate(path, 3073)


def relabel(path):
  with open(path, 'r+b') as file:
    file.write(b'\xff')


EXPECTED = {
  truncate: 'the file is empty; expected ',
  cut: 'found 3,074 bytes; expected a whole number',
  cut_between_records: 'found 3073 bytes; expected 61460, as when training',
  relabel: 'record 0 has label 255; expected labels 0 to 9',
  os.remove: 'no such file',
}


def start(tmp_path, source):
  """A trainer that has begun, and the path of a file that it reads."""
  folder = synthetic_records.make_folder(tmp_path / 'data', per_file=20)
  process = short_runs.processes.start(
    [
      short_runs.script('cifar10_train'),
      '--data_dir=%s' % (tmp_path / 'data'),
      '--train_dir=%s' % (tmp_path / 'train'),
      '--batch_size=8',
      '--input=%s' % source,
      '--log_frequency=1',
      '--stall_secs=%d' % STALL_SECS,
    ],
    stdout=short_runs.processes.PIPE,
    stderr=short_runs.processes.PIPE,
  )
  while not short_runs.steps(process.stdout.readline()):
    assert process.poll() is None
  return process, str(folder / 'data_batch_3.bin')


def test_a_preloaded_run_needs_no_file_any_more(tmp_path):
  process, path = start(tmp_path, 'preloaded')
  os.remove(path)
  deadline = time.monotonic() + 3  # Two looks at the files, and more.
  while time.monotonic() < deadline:
    assert short_runs.steps(process.stdout.readline())
  process.send_signal(signal.SIGTERM)
  process.communicate(60)
  assert process.returncode == 0


@pytest.mark.parametrize('source', ['queues', 'tf_data'])
@pytest.mark.parametrize('damage', list(EXPECTED), ids=lambda f: f.__name__)
def test_a_file_that_changes_ends_a_run_that_saves(tmp_path, damage, source):
  process, path = start(tmp_path, source)
  damage(path)
  out, err = process.communicate(60)
  assert process.returncode == 1
  assert err.startswith('cifar10_train: error: ') and err.count('\n') == 1
  assert path + ': ' + EXPECTED[damage] in err or (
    damage is os.remove and path in err and 'o such file' in err
  )
  last = ([0] + short_runs.steps(out))[-1]
  saved = int(err.rsplit('. Step ', 1)[1].split()[0])
  assert saved > last
  assert (tmp_path / 'train' / ('model.ckpt-%d.index' % saved)).exists()
