"""Clusters whose tasks are killed, frozen, signaled or cut off."""

import contextlib
import signal
import time

from tests.faults import disk
from tests.faults import invariants
from tests.faults.invariants import expect
from tests.faults.sandbox import IS_ADMIN
from tests.faults.tasks import Tasks


@contextlib.contextmanager
def _trained(sandbox, random, **options):
  """A cluster that has taken some steps; checks afterwards that it resumes.

  Yields Tasks, and `floors`, a list of the steps from which it must go on.
  """
  with Tasks(sandbox, random, **options) as tasks:
    tasks.start_all()
    floors = [tasks.wait_for_step(random.randrange(12))]
    time.sleep(random.uniform(0, 0.3))
    yield tasks, floors
    tasks.check_resumes(max(floors))


def lost(sandbox, random):
  """SIGKILL or SIGSTOP of a task, for good: others name it, or go on."""
  number = random.choice((signal.SIGKILL,) * 3 + (signal.SIGSTOP,) * 2)
  with _trained(sandbox, random) as (tasks, floors):
    # The chief, still there, saves the last step.
    if _lose(tasks, random, number) == 'worker':
      floors.append(tasks.chief.steps[-1] + 1)


def lost_at_the_start(sandbox, random):
  """SIGKILL of a task before the first steps."""
  with Tasks(sandbox, random) as tasks:
    tasks.start_all()
    delay = random.uniform(0, 3)
    sandbox.note('SIGKILL after %.3f s', delay)
    time.sleep(delay)
    _lose(tasks, random, signal.SIGKILL)
    tasks.check_resumes()


def _lose(tasks, random, number):
  """Loses a task, and checks that others name it or go on; returns its role."""
  role, gone, address = tasks.pick(random, 'ps', 'chief', 'worker')
  gone.send(number)
  if role == 'worker' and not tasks.waits:
    tasks.expect_to_go_on(number.name, but=[gone])
  else:
    others = [run for run in tasks.trainers if run is not gone]
    tasks.expect_errors(others, number.name, address)
    tasks.expect_either_way(number.name, but=[gone])
  gone.kill()
  return role


def restarted(sandbox, random):
  """SIGKILL of a worker that is started again: it joins, no step is lost."""
  with _trained(sandbox, random, patient=True) as (tasks, _):
    _, gone, address = tasks.pick(random, 'chief', 'worker')
    gone.kill()
    delay = random.choice((0, random.uniform(0, 3)))
    sandbox.note('SIGKILL, started again after %.3f s', delay)
    time.sleep(delay)
    again = tasks.start('worker', tasks.workers.index(address))
    if tasks.last is None:
      expect(again.wait_for_step(1), '%s: status %s', again.name, again.status)
    tasks.expect_to_go_on('the restart')


def server_restarted(sandbox, random):
  """A parameter server that comes back empty: no step is lost silently."""
  with _trained(sandbox, random) as (tasks, _):
    _, gone, address = tasks.pick(random, 'ps')
    gone.kill()
    delay = random.uniform(0, 4)
    sandbox.note('SIGKILL, started again after %.3f s', delay)
    time.sleep(delay)
    tasks.start('ps', tasks.ps.index(address))
    tasks.limit += 10  # The time it takes to start.
    tasks.expect_either_way('the restart')


def thawed(sandbox, random):
  """SIGSTOP of a task that goes on soon: the run goes on to its end."""
  with _trained(sandbox, random, patient=True) as (tasks, _):
    _, frozen, _ = tasks.pick(random, 'ps', 'chief', 'worker')
    seconds = random.uniform(0.2, 4)
    sandbox.note('SIGSTOP for %.1f s', seconds)
    frozen.send(signal.SIGSTOP)
    time.sleep(seconds)
    frozen.send(signal.SIGCONT)
    tasks.expect_to_go_on('SIGCONT')


def signalled(sandbox, random):
  """SIGTERM or SIGINT to one task: it ends alone, or all end."""
  number = random.choice((signal.SIGTERM, signal.SIGINT))
  with _trained(sandbox, random) as (tasks, _):
    role, told, _ = tasks.pick(random, 'ps', 'chief', 'worker')
    sandbox.note('%s', number.name)
    told.send(number)
    if role == 'worker' and not tasks.waits:
      invariants.ended_clean(told, tasks.limit, number.name)
      tasks.expect_to_go_on(number.name)
    else:
      last = None if tasks.waits else tasks.chief.steps[-1] + 1
      tasks.expect_clean(number.name, last=last)


def all_signalled(sandbox, random):
  """SIGTERM or SIGINT to all tasks, in any order: the last step is saved."""
  number = random.choice((signal.SIGTERM, signal.SIGINT))
  with _trained(sandbox, random) as (tasks, _):
    for run in random.sample(tasks.tasks, len(tasks.tasks)):
      run.send(number)
      time.sleep(random.choice((0, random.uniform(0, 0.5))))
    tasks.expect_clean(number.name)


def link_cut(sandbox, random):
  """The link to a parameter server is cut for good: the workers name it."""
  with _trained(sandbox, random, linked=True) as (tasks, _):
    tasks.link.flows.clear()
    tasks.expect_errors(tasks.trainers, 'the cut', tasks.ps[0])
    tasks.expect_either_way('the cut')


def link_mended(sandbox, random):
  """The link to a parameter server is cut and mended: no step is lost."""
  with _trained(sandbox, random, linked=True, patient=True) as (tasks, _):
    for _ in range(random.choice((1, 1, 2))):
      seconds = random.uniform(0.1, 5)
      sandbox.note('cut for %.1f s', seconds)
      tasks.link.flows.clear()
      time.sleep(seconds)
      tasks.link.flows.set()
      time.sleep(random.uniform(0, 0.5))
    tasks.expect_to_go_on('the link is mended')


def link_reset(sandbox, random):
  """Connections to a parameter server are reset: no step is lost silently."""
  with _trained(sandbox, random, linked=True) as (tasks, _):
    for _ in range(random.choice((1, 1, 3))):
      tasks.link.drop()
      time.sleep(random.uniform(0, 1))
    tasks.expect_either_way('the reset')


def chief_cannot_save(sandbox, random):
  """The disk of the chief is full: all name the chief, and why."""
  sandbox.mount('train', random.uniform(9.5, 30))
  with Tasks(sandbox, random) as tasks:
    tasks.start_all()
    for run in tasks.trainers:
      run.wait(tasks.limit + invariants.START_SECS, 'the start')
    tasks.expect_errors(tasks.trainers, 'the start', tasks.train_dir)
    tasks.expect_errors(tasks.trainers[1:], 'the start', tasks.workers[0])
    tasks.expect_either_way('the start')
    sandbox.remount('train', disk.PLENTY)
    tasks.check_resumes()


KINDS = {
    lost: 8,
    lost_at_the_start: 2,
    restarted: 6,
    server_restarted: 2,
    thawed: 3,
    signalled: 4,
    all_signalled: 3,
    link_cut: 2,
    link_mended: 3,
    link_reset: 2
}
if IS_ADMIN:
  KINDS[chief_cannot_save] = 2
