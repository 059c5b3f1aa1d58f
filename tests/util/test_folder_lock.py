"""The lock in a folder: who holds it, who waits, and what is left behind."""

import fcntl
import os

import pytest

from cifar10.errors import UserError
from cifar10.util import folder_lock
from tests import processes
from tests import short_runs

# Holds the lock in sys.argv[1] until it reads a line.
HOLDER = """
import sys

from cifar10.util import folder_lock

sys.stdout.reconfigure(line_buffering=True)
with folder_lock.only_process(sys.argv[1]):
  print('held')
  sys.stdin.readline()
"""


def is_locked(path):
  with open(str(path)) as file:
    try:
      fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
      return True
    return False


@pytest.fixture
def hold(tmp_path):
  """Starts processes that hold the lock in a folder."""
  script, started = processes.script(tmp_path, HOLDER), []

  def start(folder):
    started.append(
        processes.start([script, folder], cwd=short_runs.ROOT,
                        stdin=processes.PIPE, stdout=processes.PIPE))
    return started[-1]

  yield start
  for process in started:
    process.kill()


def test_a_path_that_cannot_be_made_leaves_nothing(tmp_path):
  with pytest.raises(OSError, match='too long'):
    with folder_lock.only_process(str(tmp_path / 'new' / ('x' * 300))):
      pass
  (tmp_path / 'file').write_text('')
  with pytest.raises(UserError, match='/file: is not a folder; expected a f'):
    with folder_lock.only_process(str(tmp_path / 'file')):
      pass
  with pytest.raises(NotADirectoryError, match='/file/x'):
    with folder_lock.only_process(str(tmp_path / 'file' / 'x')):
      pass
  assert os.listdir(str(tmp_path)) == ['file']


def test_who_waits_gets_a_lock_that_others_see(tmp_path, hold):
  folder = tmp_path / 'new'
  with pytest.raises(ValueError):
    with folder_lock.only_process(str(folder)):
      second = hold(folder)
      line = second.stdout.readline()
      assert line == 'Another process is fetching the data; waiting for it.\n'
      raise ValueError  # The folder is removed with the lock, if it is in time.
  assert second.stdout.readline() == 'held\n'
  assert is_locked(folder / '.fetch.lock')
  third = hold(folder)
  assert third.stdout.readline().startswith('Another process')
  for process in (second, third):
    process.stdin.write('\n')
    process.stdin.flush()
    assert process.wait(60) == 0
  assert not (folder / '.fetch.lock').exists()


def test_another_file_in_its_place_is_not_removed(tmp_path):
  path = tmp_path / '.fetch.lock'
  with folder_lock.only_process(str(tmp_path)):
    path.unlink()
    path.write_text('of another process')
  assert path.read_text() == 'of another process'
