"""The watchdog: it ends a process whose main thread hangs."""

import pytest

from tests import processes

# A main thread that hangs in a call of TensorFlow.
PROGRAM = """
import cifar10
from cifar10.guard import watchdog
import tensorflow.compat.v1 as tf

def hang():
  import time
  time.sleep(1000)

def check():
  {check}

with watchdog.Watchdog(poll_secs=0.05) as dog:
  dog.watch(hang)  # A check that hangs delays no other one.
  dog.watch(check)
  with tf.Session() as session:
    {body}
print('done')
"""
HANGS = 'session.run(tf.FIFOQueue(1, [tf.int32]).dequeue())'


def run(tmp_path, check, body):
  """Runs a program with a watchdog: status, output and error output."""
  program = PROGRAM.format(check=check, body=body)
  return processes.run([processes.script(tmp_path, program)])


@pytest.mark.parametrize(
    'check, message',
    [("return 'the server is gone'", 'the server is gone'),
     ("raise OSError('disk full')", 'the watchdog has failed: disk full')],
    ids=['message', 'exception'])
def test_a_hanging_process_ends_with_one_line(tmp_path, check, message):
  line = 'program: error: %s\n' % message
  assert run(tmp_path, check, HANGS) == (1, '', line)


def test_as_long_as_all_is_well_nothing_happens(tmp_path):
  assert run(tmp_path, 'return None', 'time = 0') == (0, 'done\n', '')
