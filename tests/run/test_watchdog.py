"""The watchdog: it ends a process whose main thread hangs."""

import threading

import pytest

from cifar10.run import watchdog
from tests import processes

# A main thread that hangs in a call of TensorFlow.
PROGRAM = """
import cifar10
from cifar10.run import watchdog
import tensorflow.compat.v1 as tf

def hang():
  import time
  time.sleep(1000)

def check():
  {check}

with watchdog.Watchdog() as dog:
  dog.watch(hang)  # A check that hangs delays no other one.
  dog.watch(check)
  with tf.Session() as session:
    {body}
print('done')
"""
HANGS = 'session.run(tf.FIFOQueue(1, [tf.int32]).dequeue())'


def run(tmp_path, check, body):
  """Runs a program with a watchdog: status, output and error output."""
  path = tmp_path / 'program.py'
  path.write_text(PROGRAM.format(check=check, body=body))
  return processes.run([str(path)])


@pytest.mark.parametrize(
    'check, message',
    [("return 'the server is gone'", 'the server is gone'),
     ("raise OSError('disk full')", 'the watchdog has failed: disk full')],
    ids=['message', 'exception'])
def test_a_hanging_process_ends_with_one_line(tmp_path, check, message):
  status, out, err = run(tmp_path, check, HANGS)
  assert (status, out) == (1, '')
  assert err == 'program: error: %s\n' % message


def test_as_long_as_all_is_well_nothing_happens(tmp_path):
  status, out, err = run(tmp_path, 'return None', 'time = 0')
  assert (status, out, err) == (0, 'done\n', '')


class Stall:
  """A StallCheck whose steps and clock the test moves."""

  def __init__(self, monkeypatch, save=None, stall_secs=100, count=0):
    self.count, self.filled, self.now, self.signals = count, 0, 0.0, []
    monkeypatch.setattr(watchdog.time, 'monotonic', lambda: self.now)
    probes = watchdog.Probes(lambda: self.count, lambda: self.count,
                             lambda: self.filled, lambda: 'x')
    self.check = watchdog.StallCheck(probes, save, self.signals, stall_secs)
    assert self.check() is None

  def step(self, seconds):
    assert self.after(seconds - 1) is None
    self.count += 1
    assert self.after(1) is None

  def after(self, seconds):
    problem = None
    for _ in range(seconds):
      self.now += 1
      problem = problem or self.check()
    return problem


def test_a_step_may_take_stall_secs(monkeypatch):
  stall = Stall(monkeypatch, save=lambda: 'Step 1 is saved in y')
  stall.step(110)  # The first one may take longer.
  stall.step(1)
  assert stall.after(100) is None
  assert stall.after(1) == (
      'no step for 100 s (--stall_secs), waiting for x. Step 1 is saved in y')


def test_after_a_signal_the_limit_is_short_but_not_for_slow_steps(monkeypatch):
  quick, slow = Stall(monkeypatch), Stall(monkeypatch)
  monkeypatch.setattr(watchdog.time, 'monotonic', lambda: quick.now)
  quick.step(1)
  quick.signals.append(15)
  assert quick.after(5) is None
  assert quick.after(1) == 'no step for 5 s, waiting for x'
  monkeypatch.setattr(watchdog.time, 'monotonic', lambda: slow.now)
  slow.step(10)
  slow.signals.append(15)
  assert slow.after(30) is None
  assert slow.after(1) == 'no step for 30 s, waiting for x'


def test_steps_before_the_first_look_are_steps(monkeypatch):
  # A quick trainer takes many of them, and hangs before the second look.
  stall = Stall(monkeypatch, count=49)
  stall.signals.append(15)
  assert stall.after(5) is None
  assert stall.after(1) == 'no step for 5 s, waiting for x'
  stall = Stall(monkeypatch, count=49)
  assert stall.after(100) is None
  assert stall.after(1) == 'no step for 100 s (--stall_secs), waiting for x'


def test_the_time_when_the_process_is_stopped_does_not_count(monkeypatch):
  stall = Stall(monkeypatch)
  stall.step(1)
  stall.now += 1000  # Ctrl-Z, and later `fg`.
  assert stall.after(95) is None
  assert stall.after(6) is not None


def test_a_step_may_wait_as_long_as_the_input_reads(monkeypatch):
  stall = Stall(monkeypatch)
  for _ in range(6):
    assert stall.after(50) is None
    stall.filled += 1
  assert stall.after(75) is None
  assert stall.after(80) is not None
  # But not after a signal.
  stall = Stall(monkeypatch)
  stall.step(1)
  stall.signals.append(2)
  stall.filled += 1
  assert stall.after(6) == 'no step for 5 s, waiting for x'


def test_the_last_save_has_a_limit_too(monkeypatch):
  stall = Stall(monkeypatch)
  stall.step(1)
  assert stall.after(90) is None
  stall.check.expect_end()
  assert stall.after(100) is None
  assert stall.after(1) == (
      'saving the last step takes longer than 100 s (--stall_secs)')


def test_a_save_that_fails_or_hangs_is_told(monkeypatch):

  def fail():
    raise OSError('disk full')

  assert watchdog.and_saved(
      'x', fail) == ('x. The last steps are not saved: disk full')
  monkeypatch.setattr(watchdog, '_SAVE_SECS', 0.1)
  hang = threading.Event().wait
  assert watchdog.and_saved(
      'x',
      hang) == ('x. The last steps are not saved: saving takes longer than 0 s')
  assert watchdog.and_saved(None, fail) is None
  assert watchdog.and_saved('x', None) == 'x'
