"""Clusters whose tasks are killed, frozen, signaled or cut off."""

import re
import signal
import time

from tests.faults import disk
from tests.faults import invariants
from tests.faults import runs
from tests.faults import training_files
from tests.faults.invariants import expect
from tests.faults.sandbox import Kind
from tests.faults.tasks import Tasks

_ROLES = ('ps', 'chief', 'worker')
# For tasks that are expected back, on a machine that may be busy.
_PATIENT = {'timeout': 30, 'stall': 30}


def killed(sandbox, random):
  """SIGKILL of a task that nobody starts again."""
  _lose(sandbox, random, signal.SIGKILL)


def frozen(sandbox, random):
  """SIGSTOP of a task, for good."""
  _lose(sandbox, random, signal.SIGSTOP)


def _lose(sandbox, random, number):
  """A task is lost: the others name it, or go on without it."""
  with Tasks(sandbox, random) as tasks:
    tasks.start_all()
    role, lost, address = tasks.pick(random, _ROLES)
    early = number == signal.SIGKILL and random.random() < 0.3
    delay = random.uniform(0, 3) if early else random.uniform(0, 0.3)
    if not early:
      tasks.wait_for_step(random.randrange(12))
    time.sleep(delay)
    floor = invariants.named(tasks.train_dir)
    sandbox.note('%s, after %.3f s, early: %s', number.name, delay, early)
    expect(lost.status is None, '%s has ended early', lost.name)
    lost.send(number)
    others = [run for run in tasks.trainers if run is not lost]
    if role == 'worker' and tasks.mode != 'sync':
      tasks.expect_to_go_on(number.name, but=[lost])
    else:
      tasks.expect_errors(others, number.name, address)
      tasks.expect_either_way(number.name, but=[lost])
    lost.process.kill()
    lost.wait(5)
    floor = -1 if floor is None else floor
    if role == 'worker' and not early:
      # The chief, still there, has saved the last step.
      floor = max(floor, tasks.chief.steps[-1] + 1)
    tasks.check_resumes(floor)


def restarted(sandbox, random):
  """SIGKILL of a worker that is started again: it joins, no step is lost."""
  with Tasks(sandbox, random, ends=True, **_PATIENT) as tasks:
    tasks.start_all()
    _, lost, address = tasks.pick(random, ('chief', 'worker'))
    tasks.wait_for_step(random.randrange(12))
    time.sleep(random.uniform(0, 0.3))
    lost.send(signal.SIGKILL)
    lost.wait(5)  # Else it may still hold the lock of the directory.
    delay = random.choice((0, random.uniform(0, 3)))
    sandbox.note('SIGKILL, started again after %.3f s', delay)
    time.sleep(delay)
    again = tasks.start('worker', tasks.workers.index(address))
    if tasks.last is None:
      joins = again.wait_for_step(1)
      expect(joins, '%s: status %s', again.name, again.status)
    tasks.expect_to_go_on('the restart')
    tasks.check_resumes(-1)


def server_restarted(sandbox, random):
  """A parameter server that comes back empty: no step is lost silently."""
  with Tasks(sandbox, random) as tasks:
    tasks.start_all()
    tasks.wait_for_step(random.randrange(12))
    _, lost, address = tasks.pick(random, ('ps',))
    floor = invariants.named(tasks.train_dir)
    lost.send(signal.SIGKILL)
    lost.wait(5)
    delay = random.uniform(0, 4)
    sandbox.note('SIGKILL, started again after %.3f s', delay)
    time.sleep(delay)
    tasks.start('ps', tasks.ps.index(address))
    tasks.limit += 10  # The time it takes to start.
    tasks.expect_either_way('the restart')
    tasks.check_resumes(floor)


def thawed(sandbox, random):
  """SIGSTOP of a task that goes on soon: the run goes on to its end."""
  with Tasks(sandbox, random, ends=True, **_PATIENT) as tasks:
    tasks.start_all()
    _, lost, _ = tasks.pick(random, _ROLES)
    tasks.wait_for_step(random.randrange(12))
    seconds = random.uniform(0.2, 4)
    sandbox.note('SIGSTOP for %.1f s', seconds)
    lost.send(signal.SIGSTOP)
    time.sleep(seconds)
    lost.send(signal.SIGCONT)
    tasks.expect_to_go_on('SIGCONT')
    tasks.check_resumes(-1)


def signalled(sandbox, random):
  """SIGTERM or SIGINT to one worker: it ends alone, or all end."""
  with Tasks(sandbox, random) as tasks:
    number = random.choice((signal.SIGTERM, signal.SIGINT))
    tasks.start_all()
    role, told, _ = tasks.pick(random, ('chief', 'worker'))
    tasks.wait_for_step(random.randrange(12))
    sandbox.note('%s', number.name)
    told.send(number)
    if role == 'worker' and tasks.mode != 'sync':
      invariants.ended_clean(told, tasks.limit, number.name)
      tasks.expect_to_go_on(number.name)
    else:
      last = None if tasks.mode == 'sync' else tasks.chief.steps[-1] + 1
      tasks.expect_clean(number.name, last=last)
    tasks.check_resumes(-1)


def server_signalled(sandbox, random):
  """SIGTERM or SIGINT to a parameter server: all end, sooner or later."""
  with Tasks(sandbox, random) as tasks:
    number = random.choice((signal.SIGTERM, signal.SIGINT))
    tasks.start_all()
    _, told, _ = tasks.pick(random, ('ps',))
    tasks.wait_for_step(random.randrange(12))
    floor = invariants.named(tasks.train_dir)
    sandbox.note('%s', number.name)
    told.send(number)
    tasks.expect_either_way(number.name, goes_on=False)
    tasks.check_resumes(floor)


def all_signalled(sandbox, random):
  """SIGTERM or SIGINT to all tasks, in any order: the last step is saved."""
  with Tasks(sandbox, random) as tasks:
    number = random.choice((signal.SIGTERM, signal.SIGINT))
    tasks.start_all()
    tasks.wait_for_step(random.randrange(12))
    for run in random.sample(tasks.tasks, len(tasks.tasks)):
      run.send(number)
      time.sleep(random.choice((0, random.uniform(0, 0.5))))
    sandbox.note('%s', number.name)
    tasks.expect_clean(number.name)
    tasks.check_resumes(-1)


def link_cut(sandbox, random):
  """The link to a parameter server is cut for good: the workers name it."""
  with Tasks(sandbox, random, linked=True) as tasks:
    tasks.start_all()
    tasks.wait_for_step(random.randrange(12))
    floor = invariants.named(tasks.train_dir)
    tasks.link.freeze()
    tasks.expect_errors(tasks.trainers, 'the cut', tasks.ps[0])
    tasks.expect_either_way('the cut')
    tasks.check_resumes(floor)


def link_mended(sandbox, random):
  """The link to a parameter server is cut and mended: no step is lost."""
  with Tasks(sandbox, random, linked=True, ends=True, **_PATIENT) as tasks:
    tasks.start_all()
    tasks.wait_for_step(random.randrange(12))
    for _ in range(random.choice((1, 1, 2))):
      seconds = random.uniform(0.1, 5)
      sandbox.note('cut for %.1f s', seconds)
      tasks.link.freeze()
      time.sleep(seconds)
      tasks.link.thaw()
      time.sleep(random.uniform(0, 0.5))
    tasks.expect_to_go_on('the link is mended')
    tasks.check_resumes(-1)


def link_reset(sandbox, random):
  """Connections to a parameter server are reset: no step is lost silently."""
  with Tasks(sandbox, random, linked=True) as tasks:
    tasks.start_all()
    tasks.wait_for_step(random.randrange(12))
    floor = invariants.named(tasks.train_dir)
    for _ in range(random.choice((1, 1, 3))):
      tasks.link.drop()
      time.sleep(random.uniform(0, 1))
    tasks.expect_either_way('the reset')
    tasks.check_resumes(floor)


def chief_cannot_save(sandbox, random):
  """The disk of the chief is full: all name the chief, and why."""
  mounts = disk.can_mount()
  if mounts:
    megabytes = random.uniform(9.5, 30)
    sandbox.note('%.1f MB for the training directory', megabytes)
    sandbox.mount('train', megabytes)
  with Tasks(sandbox, random) as tasks:
    tasks.start_all()
    if not mounts:
      tasks.wait_for_step(random.randrange(12))
      disk.limit(tasks.chief, random.randrange(8 << 20))
    for run in tasks.trainers:
      run.wait(tasks.limit + invariants.START_SECS, 'the start')
    tasks.expect_errors([tasks.chief], 'the start', tasks.train_dir)
    others = tasks.trainers[1:]
    tasks.expect_errors(others, 'the start', tasks.workers[0])
    tasks.expect_errors(others, 'the start', tasks.train_dir)
    tasks.expect_either_way('the start')
    if mounts:
      sandbox.remount(tasks.train_dir, 'size=400m')
    tasks.check_resumes(-1)


def training_files_spoiled(sandbox, random):
  """The files of training images are spoiled: all workers end, and say why."""
  with Tasks(sandbox, random, data=True) as tasks:
    tasks.start_all()
    tasks.wait_for_step(random.randrange(12))
    floor = invariants.named(tasks.train_dir)
    restore, paths = training_files.spoil(tasks.plan, random, count=5)
    tasks.expect_errors(tasks.trainers, 'the damage', paths + tasks.workers)
    tasks.expect_either_way('the damage')
    restore()
    tasks.check_resumes(floor)


def launcher_ended(sandbox, random):
  """The program that runs a cluster on this machine is killed or signaled."""
  plan = runs.Plan(sandbox, random, 'cifar10_train', save=10)
  run = sandbox.start('local_cluster', '--num_workers=%d' % random.choice(
      (1, 2)), '--log_dir=' + sandbox.path('logs'), *plan.flags)
  step = random.randrange(12)

  def steps():
    """The steps that the chief has printed."""
    return [
        int(found) for found in re.findall(r'worker 0 .*: step (\d+),', run.out)
    ]

  run.wait_until(lambda: steps() and steps()[-1] >= step, 'step %d' % step)
  number = random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
  sandbox.note('%s after step %d', number.name, step)
  run.send(number)
  expected = -number if number == signal.SIGKILL else 128 + number
  status = run.wait(invariants.START_SECS, number.name)
  expect(status == expected, '%s: status %s', run.name, status)
  invariants.no_process(sandbox, seconds=invariants.START_SECS)
  saved = plan.check_after()
  # What it has passed on, at least.
  expect(saved > steps()[-1], 'step %d is saved of %s', saved, steps()[-1])
  plan.check_resumes(saved)


KINDS = (Kind('cluster', killed, 6), Kind('cluster', frozen, 4),
         Kind('cluster', restarted, 6), Kind('cluster', server_restarted,
                                             2), Kind('cluster', thawed, 3),
         Kind('cluster', signalled, 3), Kind('cluster', server_signalled, 1),
         Kind('cluster', all_signalled,
              3), Kind('cluster', link_cut, 2), Kind('cluster', link_mended, 3),
         Kind('cluster', link_reset,
              2), Kind('cluster', chief_cannot_save,
                       2), Kind('cluster', training_files_spoiled,
                                1), Kind('cluster', launcher_ended, 1))
