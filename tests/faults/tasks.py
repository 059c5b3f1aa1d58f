"""The tasks of a cluster on this machine, to which something happens."""

import signal
import time

from cifar10.cluster import local_cluster
from tests import clusters
from tests.faults import invariants
from tests.faults import proxy
from tests.faults import runs
from tests.faults.invariants import expect

# How long a cluster may take, beyond its own limits, to end.
_GRACE_SECS = 25
_START_SECS = 60
_LAST_STEP = 60
_NO_LAST_STEP = 10**6
_MORE_STEPS = 10  # That show that a run goes on.
# And to take the rest of its steps, on a busy machine.
_TRAINING_SECS = 60

_FLAGS_OF_MODE = {
    'sync': [],
    'async': ['--nosync'],
    'backup': ['--backup_workers=1']
}


class Tasks:
  """A cluster: its size, its flags, and its processes; a context manager.

  Attributes:
    waits: True if its workers wait for one another.
    ps, workers: addresses.
    servers, trainers: sandbox.Run of each task, the latest start of it.
    last: the --max_steps; None if the run has no end in sight.
    limit: seconds within which each task ends once one of them is gone.
    link: the proxy.Proxy before the first parameter server, or None.
  """

  def __init__(self, sandbox, random, linked=False, patient=False):
    """Draws a cluster; if `linked`, its first parameter server has a Proxy.

    A `patient` one waits long for tasks, which are expected back, and ends at a
    --max_steps, if workers wait for one another. Otherwise one may come late
    and find a run that has ended.
    """
    self._sandbox = sandbox
    mode = random.choice(sorted(_FLAGS_OF_MODE))
    self.waits = mode == 'sync'
    num_ps = random.choice((1, 1, 2))
    num_workers = random.randint(2 if mode == 'backup' else 1, 3)
    sandbox.note('%s, %d ps, %d workers', mode, num_ps, num_workers)
    addresses = clusters.free_addresses(num_ps + num_workers)
    self.ps, self.workers = addresses[:num_ps], addresses[num_ps:]
    self.link, self._linked = None, linked
    timeout, stall = (30, 30) if patient else (6, 5)
    self.limit = timeout + stall + _GRACE_SECS
    self.last = _LAST_STEP if patient and self.waits else None
    # The plan of a trainer on its own, which the run is resumed with.
    self.plan = runs.Plan(sandbox, random, 'cifar10_train', save=random.choice(
        (3, 10)))
    self.train_dir = self.plan.train_dir
    self._flags = self.plan.flags + _FLAGS_OF_MODE[mode] + [
        '--ps_hosts=' + ','.join(self.ps),
        '--worker_hosts=' + ','.join(self.workers),
        '--connect_timeout_secs=%d' % timeout,
        '--stall_secs=%d' % stall,
        '--max_steps=%d' % (self.last or _NO_LAST_STEP)
    ]
    self.servers = [None] * num_ps
    self.trainers = [None] * num_workers

  def start(self, job, index, wrapper=()):
    """Starts a task; returns its Run."""
    run = self._sandbox.start('cifar10_distributed_train', '--job_name=' + job,
                              '--task_index=%d' % index, *self._flags,
                              wrapper=wrapper)
    run.name = '%s %d' % (job, index)
    (self.servers if job == 'ps' else self.trainers)[index] = run
    return run

  def wait_for_step(self, step):
    """Waits for a step of each worker, and for a checkpoint; returns its step.
    """
    for run in self.trainers:
      expect(run.wait_for_step(step, _START_SECS), '%s: no step %d', run.name,
             step)
    return runs.wait_for_save(self.chief, self.plan)

  def start_all(self):
    """Starts every task."""
    for index, address in enumerate(self.ps):
      wrapper = ()
      if self._linked and index == 0:
        (moved,) = local_cluster.free_ports(1)
        wrapper = [proxy.__file__, moved]
      run = self.start('ps', index, wrapper)
      if wrapper:
        run.wait_until(lambda run=run: 'Serving' in run.out, 'server',
                       _START_SECS)
        self.link = proxy.Proxy(int(address.rpartition(':')[2]), moved)
    for index in range(len(self.workers)):
      self.start('worker', index)

  def __enter__(self):
    return self

  def __exit__(self, *error):
    if self.link:
      self.link.close()

  @property
  def tasks(self):
    return self.servers + self.trainers

  @property
  def chief(self):
    return self.trainers[0]

  def pick(self, random, *roles):
    """Draws a task: (role, Run, address).

    `roles` are some of `ps`, `chief` and `worker`, any worker but the chief.
    """
    found = [('ps', *pair) for pair in zip(self.servers, self.ps)]
    found += [('worker' if index else 'chief', *pair)
              for index, pair in enumerate(zip(self.trainers, self.workers))]
    role, run, address = random.choice([f for f in found if f[0] in roles])
    self._sandbox.note('picked: %s', run.name)
    return role, run, address

  def expect_to_go_on(self, since, but=()):
    """Checks that the run goes on, to its end or till it is told to end.

    `but` are the tasks that are gone.
    """
    if self.last is None:
      self._end_after_more_steps()
    # Others may take a step while the chief saves and ends them.
    self.expect_clean(since, but, self.last or self.chief.steps[-1] + 1)

  def _end_after_more_steps(self):
    """Tells the chief to end, once it has taken more steps, if it does."""
    step = self.chief.steps[-1] if self.chief.steps else -1
    if self.chief.wait_for_step(step + _MORE_STEPS, self.limit):
      self.chief.send(signal.SIGTERM)

  def expect_clean(self, since, but=(), last=None):
    """Checks that tasks end with status 0, and that the last step is saved.

    `last` is the step that is saved; None: the last one that was taken.
    """
    for run in self._ended(since, but):
      invariants.ended_clean(run, 0)
      _check_order(run)
    self._expect_saved(
        last or max(step + 1 for run in self.trainers for step in run.steps))

  def _expect_saved(self, last):
    saved = invariants.saved(self.train_dir)
    expect(saved >= last, 'step %d is saved; expected %d', saved, last)

  def _ended(self, since, but=()):
    """Waits for the end of all tasks, but for some; returns them."""
    ended = [run for run in self.tasks if run not in but]
    _wait(ended, self.limit + (_TRAINING_SECS if self.last else 0), since)
    return ended

  def expect_errors(self, tasks, since, *names):
    """Checks that tasks end with an error that names one of some things."""
    _wait(tasks, self.limit, since)
    for run in tasks:
      invariants.ended_with_error(run, 0, names=names)

  def expect_either_way(self, since, but=(), goes_on=True):
    """Checks that tasks end with an error or go on, and lose no step silently.

    `but` are the tasks that are gone. Unless the run `goes_on`, till it is told
    to end, it ends.
    """
    if self.last is None and goes_on and self.chief not in but:
      self._end_after_more_steps()
    ended = self._ended(since, but)
    for run in ended:
      if invariants.ended_either_way(run, 0) == 0:
        _check_order(run)
    if all(run.status == 0 for run in ended) and not but:
      self._expect_saved(self.last or self.chief.steps[-1] + 1)

  def check_resumes(self, floor=-1):
    """Checks that a trainer on its own resumes the run.

    `floor` is a step that was saved; -1: none.
    """
    saved = self.plan.check_after()
    expect(saved >= floor, 'step %d was saved; now %d', floor, saved)
    self.plan.check_resumes(max(saved, invariants.saved(self.train_dir)))


def _wait(tasks, seconds, since):
  """Waits for the end of tasks, within a time for all of them."""
  deadline = time.monotonic() + seconds
  for run in tasks:
    run.wait(max(0, deadline - time.monotonic()), since)


def _check_order(run):
  """Checks that a worker has gone back to no earlier step in silence."""
  steps = run.steps
  back = [(a, b) for a, b in zip(steps, steps[1:]) if b <= a]
  expect(not back, '%s: went back, from and to steps %s', run.name, back)
