"""Clusters whose tasks are killed, frozen, signalled or cut off."""

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
_STEPS = 60
# Of a run that goes on without some of its workers, one step after the other.
_MANY_STEPS = 200
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
    tasks.start_all('--max_steps=%d' % _MANY_STEPS)
    role, lost, address = tasks.pick(random, _ROLES)
    early = number == signal.SIGKILL and random.random() < 0.3
    delay = random.uniform(0, 3) if early else random.uniform(0, 0.3)
    if not early:
      tasks.wait_for_step(random.randrange(12))
    time.sleep(delay)
    floor = invariants.named(tasks.train_dir)
    sandbox.note('%s, after %.3f s, early: %s', number.name, delay, early)
    lost.send(number)
    others = [run for run in tasks.trainers if run is not lost]
    if role == 'worker' and tasks.mode != 'sync':
      tasks.expect_clean(number.name, but=[lost], last=_MANY_STEPS)
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
  with Tasks(sandbox, random, **_PATIENT) as tasks:
    flags = ['--max_steps=%d' % _STEPS] if tasks.mode == 'sync' else []
    tasks.start_all(*flags)
    role, lost, address = tasks.pick(
      random, ('chief', 'worker') if len(tasks.workers) > 1 else ('chief',)
    )
    tasks.wait_for_step(random.randrange(12))
    time.sleep(random.uniform(0, 0.3))
    lost.send(signal.SIGKILL)
    delay = random.choice((0, random.uniform(0, 3)))
    sandbox.note('SIGKILL, started again after %.3f s', delay)
    time.sleep(delay)
    again = tasks.start('worker', tasks.workers.index(address), *flags)
    if not flags:
      again.wait_for_step(1)
      expect(again.status is None, '%s: status %s', again.name, again.status)
      tasks.chief.send(signal.SIGTERM)
    last = _STEPS if flags else tasks.chief.steps[-1] + 1
    tasks.expect_clean('the restart', last=last)
    tasks.check_resumes(-1)


def server_restarted(sandbox, random):
  """A parameter server that comes back empty: no step is lost silently."""
  with Tasks(sandbox, random) as tasks:
    flags = ['--max_steps=%d' % _MANY_STEPS]
    tasks.start_all(*flags)
    tasks.wait_for_step(random.randrange(12))
    _, lost, address = tasks.pick(random, ('ps',))
    floor = invariants.named(tasks.train_dir)
    lost.send(signal.SIGKILL)
    lost.wait(5)
    delay = random.uniform(0, 4)
    sandbox.note('SIGKILL, started again after %.3f s', delay)
    time.sleep(delay)
    tasks.start('ps', tasks.ps.index(address), *flags)
    tasks.limit += 10  # The time it takes to start.
    tasks.expect_either_way('the restart', last=_MANY_STEPS)
    tasks.check_resumes(floor)


def thawed(sandbox, random):
  """SIGSTOP of a task that goes on soon: all steps are taken."""
  with Tasks(sandbox, random, **_PATIENT) as tasks:
    tasks.start_all('--max_steps=%d' % _STEPS)
    _, lost, _ = tasks.pick(random, _ROLES)
    tasks.wait_for_step(random.randrange(12))
    seconds = random.uniform(0.2, 4)
    sandbox.note('SIGSTOP for %.1f s', seconds)
    lost.send(signal.SIGSTOP)
    time.sleep(seconds)
    lost.send(signal.SIGCONT)
    # Others may be at the end of the run before a worker goes on.
    tasks.expect_either_way('SIGCONT', last=_STEPS)
    expect(tasks.chief.status == 0, 'worker 0: status %s', tasks.chief.status)
    tasks.check_resumes(_STEPS)


def signalled(sandbox, random):
  """SIGTERM or SIGINT to one worker."""
  with Tasks(sandbox, random) as tasks:
    number = random.choice((signal.SIGTERM, signal.SIGINT))
    tasks.start_all('--max_steps=%d' % _MANY_STEPS)
    role, told, _ = tasks.pick(random, ('chief', 'worker'))
    tasks.wait_for_step(random.randrange(12))
    sandbox.note('%s', number.name)
    told.send(number)
    alone = role == 'worker' and tasks.mode != 'sync'
    tasks.expect_clean(number.name, last=_MANY_STEPS if alone else None)
    tasks.check_resumes(-1)


def server_signalled(sandbox, random):
  """SIGTERM or SIGINT to a parameter server: the workers name it."""
  with Tasks(sandbox, random) as tasks:
    number = random.choice((signal.SIGTERM, signal.SIGINT))
    tasks.start_all('--max_steps=1000000')
    _, told, address = tasks.pick(random, ('ps',))
    tasks.wait_for_step(random.randrange(12))
    floor = invariants.named(tasks.train_dir)
    sandbox.note('%s', number.name)
    told.send(number)
    tasks.expect_errors(tasks.trainers, number.name, address)
    tasks.expect_either_way(number.name)
    tasks.check_resumes(floor)


def all_signalled(sandbox, random):
  """SIGTERM or SIGINT to all tasks, in any order: the last step is saved."""
  with Tasks(sandbox, random) as tasks:
    number = random.choice((signal.SIGTERM, signal.SIGINT))
    tasks.start_all('--max_steps=1000000')
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
    tasks.start_all('--max_steps=%d' % _MANY_STEPS)
    tasks.wait_for_step(random.randrange(12))
    floor = invariants.named(tasks.train_dir)
    tasks.link.freeze()
    tasks.expect_errors(tasks.trainers, 'the cut', tasks.ps[0])
    tasks.expect_either_way('the cut')
    tasks.check_resumes(floor)


def link_mended(sandbox, random):
  """The link to a parameter server is cut and mended: no step is lost."""
  with Tasks(sandbox, random, linked=True, **_PATIENT) as tasks:
    tasks.start_all('--max_steps=%d' % _STEPS)
    tasks.wait_for_step(random.randrange(12))
    for _ in range(random.choice((1, 1, 2))):
      seconds = random.uniform(0.1, 5)
      sandbox.note('cut for %.1f s', seconds)
      tasks.link.freeze()
      time.sleep(seconds)
      tasks.link.thaw()
      time.sleep(random.uniform(0, 0.5))
    tasks.expect_clean('the link is mended', last=_STEPS)
    tasks.check_resumes(_STEPS)


def link_reset(sandbox, random):
  """Connections to a parameter server are reset: no step is lost silently."""
  with Tasks(sandbox, random, linked=True) as tasks:
    tasks.start_all('--max_steps=%d' % _STEPS)
    tasks.wait_for_step(random.randrange(12))
    floor = invariants.named(tasks.train_dir)
    for _ in range(random.choice((1, 1, 3))):
      tasks.link.drop()
      time.sleep(random.uniform(0, 1))
    tasks.expect_either_way('the reset', last=_STEPS)
    tasks.check_resumes(floor)


def chief_cannot_save(sandbox, random):
  """The disk of the chief is full: all name the chief, and why."""
  mounts = disk.can_mount()
  if mounts:
    megabytes = random.uniform(9.5, 30)
    sandbox.note('%.1f MB for the training directory', megabytes)
    sandbox.mount('train', megabytes)
  with Tasks(sandbox, random) as tasks:
    tasks.start_all('--max_steps=1000000')
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
    tasks.start_all('--max_steps=1000000')
    tasks.wait_for_step(random.randrange(12))
    floor = invariants.named(tasks.train_dir)
    restore, paths = training_files.spoil(tasks.plan, random, count=5)
    tasks.expect_errors(tasks.trainers, 'the damage', paths + tasks.workers)
    tasks.expect_either_way('the damage')
    restore()
    tasks.check_resumes(floor)


def launcher_ended(sandbox, random):
  """The program that runs a cluster on this machine is killed or signalled."""
  plan = runs.Plan(sandbox, random, 'cifar10_train', save=10)
  run = sandbox.start(
    'local_cluster',
    '--num_workers=%d' % random.choice((1, 2)),
    '--log_dir=' + sandbox.path('logs'),
    *plan.flags,
  )
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


KINDS = (
  Kind('cluster', killed, 6),
  Kind('cluster', frozen, 4),
  Kind('cluster', restarted, 6),
  Kind('cluster', server_restarted, 2),
  Kind('cluster', thawed, 3),
  Kind('cluster', signalled, 3),
  Kind('cluster', server_signalled, 1),
  Kind('cluster', all_signalled, 3),
  Kind('cluster', link_cut, 2),
  Kind('cluster', link_mended, 3),
  Kind('cluster', link_reset, 2),
  Kind('cluster', chief_cannot_save, 2),
  Kind('cluster', training_files_spoiled, 1),
  Kind('cluster', launcher_ended, 1),
)
