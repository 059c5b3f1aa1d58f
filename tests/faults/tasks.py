"""The tasks of a cluster on this machine, to which something happens."""

import signal
import time

from cifar10.cluster import local_cluster
from tests import clusters
from tests.faults import invariants
from tests.faults import moved_server
from tests.faults import runs
from tests.faults.invariants import expect
from tests.faults.proxy import Proxy

# How long a cluster may take, beyond its own limits, to end.
_GRACE_SECS = 25
_START_SECS = 60
_LAST_STEP = 60
_NO_LAST_STEP = 10**6
_MORE_STEPS = 10  # That show that a run goes on.
# And to take the rest of its steps, on a busy machine.
_TRAINING_SECS = 60

MODES = ('sync', 'async', 'backup')
_MODE_FLAGS = {
    'sync': [],
    'async': ['--nosync'],
    'backup': ['--backup_workers=1']
}


class Tasks:
  """A cluster: its size, its flags, and its processes.

  Attributes:
    mode: one of MODES.
    ps, workers: addresses.
    servers, trainers: sandbox.Run of each task, the latest start of it.
    train_dir: where the chief saves.
    last: the --max_steps; None if the run has no end in sight.
    limit: seconds within which each task ends once one of them is gone.
  """

  def __init__(self, sandbox, random, *, modes=MODES, most=3, linked=False,
               data=False, ends=False, timeout=6, stall=5):
    """Draws a cluster.

    Args:
      sandbox: sandbox.Sandbox.
      random: random.Random.
      modes: of which modes.
      most: the most workers.
      linked: whether the first parameter server is reached over a Proxy.
      data: whether the workers have a data folder of their own.
      ends: whether it ends at a --max_steps, if workers wait for one another.
        Otherwise one may come late and find a run that has ended.
      timeout: --connect_timeout_secs.
      stall: --stall_secs.
    """
    self.sandbox = sandbox
    self.mode = random.choice(modes)
    num_ps = random.choice((1, 1, 2))
    num_workers = random.randint(2 if self.mode == 'backup' else 1, most)
    sandbox.note('%s, %d ps, %d workers', self.mode, num_ps, num_workers)
    addresses = clusters.free_addresses(num_ps + num_workers)
    self.ps, self.workers = addresses[:num_ps], addresses[num_ps:]
    self.link = None
    self._linked = linked
    self.limit = timeout + stall + _GRACE_SECS
    # The plan of a trainer on its own, which the run is resumed with.
    self.plan = runs.Plan(sandbox, random, 'cifar10_train', data,
                          save=random.choice((3, 10)))
    self.train_dir = self.plan.train_dir
    self._flags = self.plan.flags + [
        '--ps_hosts=' + ','.join(self.ps),
        '--worker_hosts=' + ','.join(self.workers),
        '--connect_timeout_secs=%d' % timeout,
        '--stall_secs=%d' % stall
    ]
    self._flags += _MODE_FLAGS[self.mode]
    self.last = _LAST_STEP if ends and self.mode == 'sync' else None
    self._flags.append('--max_steps=%d' % (self.last or _NO_LAST_STEP))
    self.servers = [None] * num_ps
    self.trainers = [None] * num_workers

  def start(self, job, index, wrapper=()):
    """Starts a task; returns its Run."""
    run = self.sandbox.start('cifar10_distributed_train', '--job_name=' + job,
                             '--task_index=%d' % index, *self._flags,
                             wrapper=wrapper)
    run.name = '%s %d' % (job, index)
    (self.servers if job == 'ps' else self.trainers)[index] = run
    return run

  def start_all(self):
    """Starts every task."""
    for index in range(len(self.ps)):
      if self._linked and index == 0:
        self._start_behind_proxy('ps', index)
      else:
        self.start('ps', index)
    for index in range(len(self.workers)):
      self.start('worker', index)

  def _start_behind_proxy(self, job, index):
    """Starts a server that the others reach over `link`."""
    port = int(self.ps[index].rpartition(':')[2])
    (moved,) = local_cluster.free_ports(1)
    wrapper = [moved_server.__file__, moved]
    run = self.start(job, index, wrapper)
    run.wait_until(lambda: 'Serving' in run.out, 'server', _START_SECS)
    self.link = Proxy(port, moved)

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

  def pick(self, random, roles):
    """Draws a task of some roles: (role, Run, address).

    Args:
      random: random.Random.
      roles: some of `ps`, `chief` and `worker`, any worker but the chief.
    """
    choices = []
    if 'ps' in roles:
      choices += [('ps',) + pair for pair in zip(self.servers, self.ps)]
    found = list(zip(self.trainers, self.workers))
    if 'chief' in roles:
      choices += [('chief',) + found[0]] * 2
    if 'worker' in roles:
      choices += [('worker',) + pair for pair in found[1:]]
    drawn = random.choice(choices)
    self.sandbox.note('the %s at %s', drawn[0], drawn[2])
    return drawn

  def wait_for_step(self, step):
    """Waits for a step of each worker, and for a checkpoint."""
    for run in self.trainers:
      reached = run.wait_for_step(step, _START_SECS)
      expect(reached, '%s: no step %d', run.name, step)
    self.chief.wait_until(lambda: invariants.named(self.train_dir) is not None,
                          'checkpoint')

  def expect_to_go_on(self, since, but=()):
    """Checks that the run goes on, to its end or till it is told to end.

    Args:
      since: since when, in words.
      but: the tasks that are gone.
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

    Args:
      since: since when, in words.
      but: the tasks that are gone.
      last: the step that is saved; None: the last one that was taken.
    """
    for run in self._ended(since, but):
      invariants.ended_clean(run, 0)
      _check_order(run)
    taken = [step + 1 for run in self.trainers for step in run.steps]
    self._expect_saved(last or max(taken))

  def _expect_saved(self, last):
    saved = invariants.saved(self.train_dir)
    expect(saved >= last, 'step %d is saved; expected %d', saved, last)

  def _ended(self, since, but=()):
    """Waits for the end of all tasks, but for some; returns them."""
    seconds = self.limit + (_TRAINING_SECS if self.last else 0)
    deadline = time.monotonic() + seconds
    ended = [run for run in self.tasks if run not in but]
    for run in ended:
      run.wait(max(0, deadline - time.monotonic()), since)
    return ended

  def expect_errors(self, runs, since, names):
    """Checks that tasks end with an error that names."""
    deadline = time.monotonic() + self.limit
    for run in runs:
      left = max(0, deadline - time.monotonic())
      invariants.ended_with_error(run, left, since, names=names)

  def expect_either_way(self, since, but=(), goes_on=True):
    """Checks that tasks end with an error or go on, and lose no step silently.

    Args:
      since: since when, in words.
      but: the tasks that are gone.
      goes_on: whether the run may go on till it is told to end; else it ends.
    """
    if self.last is None and goes_on and self.chief not in but:
      self._end_after_more_steps()
    ended = self._ended(since, but)
    for run in ended:
      invariants.ended_either_way(run, 0)
      if run.status == 0:
        _check_order(run)
    if all(run.status == 0 for run in ended) and not but:
      self._expect_saved(self.last or self.chief.steps[-1] + 1)

  def check_resumes(self, floor):
    """Checks that the run is resumed, by a trainer on its own.

    Args:
      floor: a step that was saved; -1: none.
    """
    saved = self.plan.check_after()
    expect(saved >= floor, 'step %d was saved; now %d', floor, saved)
    self.plan.check_resumes(max(saved, invariants.saved(self.train_dir)))


def _check_order(run):
  """Checks that a worker has gone back to no earlier step in silence."""
  steps = run.steps
  back = [(a, b) for a, b in zip(steps, steps[1:]) if b <= a]
  expect(not back, '%s: went back, from and to steps %s', run.name, back)
