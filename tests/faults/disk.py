"""Disks that fill up, or that can only be read: small file systems.

Only root may mount them.
"""

from tests.faults import invariants
from tests.faults import runs
from tests.faults import trained
from tests.faults.sandbox import IS_ADMIN

PLENTY = 'size=400m'
_STEPS = 40


def trainer(sandbox, random):
  """The disk fills up while a trainer saves; once there is room it goes on."""
  sandbox.mount('train', random.uniform(0.1, 45))
  plan = runs.Plan(sandbox, random, save=random.choice((1, 2, 5)))
  run = plan.start('--max_steps=%d' % _STEPS)
  invariants.ended_with_error(run, 2 * invariants.START_SECS,
                              names=plan.train_dir)
  saved = plan.check_after()
  sandbox.remount('train', PLENTY)
  plan.check_resumes(saved)


def trainer_may_only_read(sandbox, random):
  """A run whose directory can only be read: one line, and it is as before."""
  directory = sandbox.path('train')
  sandbox.mount('train', 60)
  trained.copy(sandbox, 'train')
  sandbox.remount('train', 'ro')
  flags = random.choice(([], ['--overwrite']))
  with invariants.unchanged(sandbox, directory):
    run = sandbox.start('cifar10_train', '--train_dir=' + directory,
                        '--dataset=sample', *flags)
    invariants.ended_with_error(run, invariants.START_SECS, names=directory)


def other(sandbox, random):
  """The disk is full for what another program writes: one line."""
  trained.copy(sandbox, 'train', 'pictures')
  train, out = sandbox.path('train'), sandbox.path('out')
  # Pages that what is written does not fit in.
  name, pages = random.choice((('eval', 14), ('export', 700), ('frozen', 700),
                               ('report', 19), ('data', 6), ('grid', 6)))
  command = trained.writers(sandbox, train, out + '/new.png')[name]
  # A file system of 0 bytes is one without a limit.
  sandbox.mount('out', random.randrange(1, pages) / 256)
  with invariants.unchanged(sandbox, train, sandbox.path('pictures')):
    run = sandbox.start(*command)
    invariants.ended_with_error(run, invariants.START_SECS, names=out)


KINDS = {trainer: 5, trainer_may_only_read: 1, other: 4}
if not IS_ADMIN:
  KINDS = {}
