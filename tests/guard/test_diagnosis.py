"""Training files that change while a trainer reads them."""

import os
import signal
import time

import pytest

from tests import processes
from tests import short_runs
from tests import synthetic_records

pytestmark = pytest.mark.slow

STALL_SECS = 10  # Longer than a busy machine takes to save.


def relabel(path):
  with open(path, 'r+b') as file:
    file.write(b'\xff')


def start(tmp_path, source):
  """A trainer that has begun, and the path of a file that it reads."""
  folder = synthetic_records.make_folder(tmp_path / 'data', per_file=20)
  process = processes.start([
      short_runs.script('cifar10_train'),
      '--data_dir=%s' % (tmp_path / 'data'),
      '--train_dir=%s' % (tmp_path / 'train'), '--batch_size=8',
      '--input=%s' % source, '--log_frequency=1',
      '--stall_secs=%d' % STALL_SECS, *short_runs.SMALL_FLAGS
  ], stdout=processes.PIPE, stderr=processes.PIPE)
  short_runs.wait_for_step(process)
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


# The reader alone notices a label; a size, the trainer beside any reader.
@pytest.mark.parametrize('source, damage, problem', [
    ('tf_data', lambda path: os.truncate(path, 0),
     'the file is empty; expected '),
    ('queues', lambda path: os.truncate(path, 3073),
     'found 3073 bytes; expected 61460, as when training'),
    ('queues', relabel, 'record 0 has label 255; expected labels 0 to 9'),
    ('tf_data', relabel, 'record 0 has label 255; expected labels 0 to 9'),
    ('queues', os.remove, 'o such file')
], ids=range(5))  # yapf: disable
def test_a_file_that_changes_ends_a_run_that_saves(tmp_path, source, damage,
                                                   problem):
  process, path = start(tmp_path, source)
  damage(path)
  out, err = process.communicate(60)
  assert process.returncode == 1
  assert err.startswith('cifar10_train: error: ') and err.count('\n') == 1
  assert path in err
  assert problem in err if damage is os.remove else f'{path}: {problem}' in err
  last = ([0] + short_runs.steps(out))[-1]
  saved = int(err.rsplit('. Step ', 1)[1].split()[0])
  assert saved > last
  assert (tmp_path / 'train' / ('model.ckpt-%d.index' % saved)).exists()


# An input that reads a part of an epoch, and then slowly, or nothing more.
SLOW = """
import itertools
import time

from cifar10 import cifar10_train
from cifar10.guard import stall
import tensorflow.compat.v1 as tf

numbers = itertools.count()
open_file = tf.data.FixedLengthRecordDataset

def wait(record):
  number = next(numbers)
  # The session's start and the first step may be slow, on a busy machine.
  stall._FIRST_SECS = 0 if number < 990 else 20
  if number > {start}:
    time.sleep({seconds})
  return record

def open_slowly(*args, **kwargs):
  return open_file(*args, **kwargs).map(
    lambda record: tf.ensure_shape(tf.py_func(wait, [record], tf.string), [])
  )

tf.data.FixedLengthRecordDataset = open_slowly
cifar10_train.main()
"""


@pytest.mark.parametrize('start, seconds', [(0, 0.015), (500, 1000)])
def test_a_buffer_that_fills_is_no_stall(tmp_path, start, seconds):
  # 1,000 records take longer than --stall_secs.
  program = SLOW.format(start=start, seconds=seconds)
  status, out, err = processes.run([
      processes.script(tmp_path, program), '--dataset=sample',
      '--train_dir=%s' % (tmp_path / 'train'), '--input=tf_data',
      '--batch_size=8', '--max_steps=2', '--log_frequency=1',
      '--stall_secs=%d' % STALL_SECS, *short_runs.SMALL_FLAGS
  ], cwd=short_runs.ROOT)
  steps = short_runs.steps(out)
  if seconds < 1:
    assert (status, err) == (0, '')
    assert steps == [0, 1]
  else:
    assert status == 1
    assert err.startswith(
        'program: error: no step for 10 s (--stall_secs, and 0 '
        's for the first step), waiting for training images')
    assert steps == [] and 'Step 0 is saved' in err
