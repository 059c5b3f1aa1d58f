"""Signals that ask a trainer to end, and the watchdog that ends it."""

import contextlib
import ctypes
import os
import signal
import time

from tests.faults import invariants
from tests.faults import runs
from tests.faults.invariants import expect
from tests.faults.sandbox import IS_ADMIN

# From linux/fanotify.h and linux/fcntl.h.
_FAN_CLASS_CONTENT = 4
_FAN_CLOEXEC = 1
_FAN_MARK_ADD = 1
_FAN_OPEN_PERM, _FAN_ACCESS_PERM = 0x10000, 0x20000
_AT_FDCWD = -100

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def after_a_step(sandbox, random):
  """Signals end the run after the current step, which is saved."""
  plan = runs.Plan(sandbox, random)
  run = plan.start()
  step, delay = random.randrange(15), random.uniform(0, 0.1)
  run.wait_for_step(step)
  time.sleep(delay)
  # Several in quick succession are one.
  for number in random.choices(_NUMBERS, k=random.choice((1, 1, 1, 2, 5))):
    sandbox.note('%s, %.3f s after step %d', number.name, delay, step)
    run.send(number)
    time.sleep(random.choice((0, 0.001, 0.05)))
  invariants.ended_clean(run, invariants.STOP_SECS, 'the signal')
  plan.check_resumes(_check_last_step_saved(plan, run))


def at_any_time(sandbox, random):
  """A signal at any time, also before there is anything to save."""
  plan = runs.Plan(sandbox, random)
  run = plan.start()
  number, delay = random.choice(_NUMBERS), random.uniform(0.3, 3)
  sandbox.note('%s after %.3f s', number.name, delay)
  time.sleep(delay)
  run.send(number)
  status = run.wait(invariants.STOP_SECS, number.name)
  # Before the first step it is what it is to any program.
  expected = (0, 128 + number, -number) if not run.steps else (0,)
  expect(status in expected, '%s: status %s', run.name, status)
  invariants.no_traceback(run)
  saved = plan.check_after()
  if run.steps:
    saved = _check_last_step_saved(plan, run)
  plan.check_resumes(saved)


def in_a_hung_step(sandbox, random):
  """A signal in a step that hangs saves the last whole one: an error."""
  with _hung(sandbox, random) as (plan, run):
    number = random.choice(_NUMBERS)
    sandbox.note('%s', number.name)
    run.send(number)
    invariants.ended_with_error(run, 1.5 * invariants.STOP_SECS, number.name)
    saved = _check_last_step_saved(plan, run)
  plan.check_resumes(saved)


def no_step(sandbox, random):
  """No step within --stall_secs: the last one is saved, an error says why."""
  seconds = random.randint(3, 5)
  with _hung(sandbox, random, '--stall_secs=%d' % seconds) as (plan, run):
    invariants.ended_with_error(run, seconds + invariants.STALL_GRACE_SECS,
                                'the last step')
    saved = _check_last_step_saved(plan, run)
  plan.check_resumes(saved)


@contextlib.contextmanager
def _hanging(paths):
  """Has all who open or read some files wait; needs root.

  Size and type of the files stay as they are, for all to see. They are asked
  for from the kernel, which asks this process for permission, and waits. After
  the body, or the end of this process, they may go on.
  """
  libc = ctypes.CDLL(None, use_errno=True)
  number = libc.fanotify_init(_FAN_CLASS_CONTENT | _FAN_CLOEXEC, os.O_RDONLY)
  if number < 0:
    raise OSError(ctypes.get_errno(), 'fanotify_init')
  try:
    events = ctypes.c_uint64(_FAN_OPEN_PERM | _FAN_ACCESS_PERM)
    for path in paths:
      if libc.fanotify_mark(number, _FAN_MARK_ADD, events, _AT_FDCWD,
                            os.fsencode(str(path))):
        raise OSError(ctypes.get_errno(), 'fanotify_mark', str(path))
    yield
  finally:
    os.close(number)


@contextlib.contextmanager
def _hung(sandbox, random, *flags):
  """A trainer in a step that waits for its images: a pair (Plan, Run)."""
  plan = runs.Plan(sandbox, random, data=True)
  run = plan.start(*flags)
  runs.wait_for_save(run, plan, random.randrange(5))
  with _hanging(sorted(plan.data.glob('data_*.bin'))):
    since, steps = time.monotonic(), None

    def hangs():
      """True once there was no step for a second."""
      nonlocal since, steps
      if len(run.steps) != steps:
        since, steps = time.monotonic(), len(run.steps)
      return time.monotonic() > since + 1

    run.wait_until(hangs, 'hung step')
    expect(run.status is None, '%s: status %s', run.name, run.status)
    yield plan, run


def _check_last_step_saved(plan, run):
  """Checks that the last step that was printed is saved; returns its number."""
  saved = plan.check_after()
  last = run.steps[-1] + 1
  expect(saved >= last and invariants.named(plan.train_dir) == saved,
         '%s: step %d is saved, %s is named; %d steps were taken', run.name,
         saved, invariants.named(plan.train_dir), last)
  return saved


KINDS = {after_a_step: 5, at_any_time: 3}
if IS_ADMIN:
  KINDS.update({in_a_hung_step: 3, no_step: 3})
