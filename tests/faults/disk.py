"""Disks that fill up, or that can only be read.

Root mounts small file systems. Others limit the size of the files that a
process may write, which fails in the same calls.
"""

import functools
import os
import resource
import subprocess
import tempfile

from tests.faults import invariants
from tests.faults import runs
from tests.faults import trained
from tests.faults.invariants import expect
from tests.faults.sandbox import Kind

_PLENTY_MB = 400
_STEPS = 40


@functools.lru_cache(maxsize=None)
def can_mount():
  """Whether this process may mount file systems."""
  if os.geteuid():
    return False
  with tempfile.TemporaryDirectory() as folder:
    mounted = not subprocess.call(['mount', '-t', 'tmpfs', 'none', folder],
                                  stderr=subprocess.DEVNULL)
    if mounted:
      subprocess.check_call(['umount', folder])
  return mounted


def limit(run, size):
  """Limits the size of the files that a process writes from now on."""
  resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (size, size))


def _fill(directory, left):
  """Fills a file system with the file `filler`, but for some bytes."""
  path = os.path.join(directory, 'filler')
  with open(path, 'wb', buffering=0) as filler:
    try:
      while True:
        filler.write(bytes(1 << 16))
    except OSError:
      filler.truncate(max(0, filler.tell() - left))


def trainer(sandbox, random):
  """The disk fills up while a trainer saves; once there is room it goes on."""
  mounts = can_mount()
  if mounts:
    megabytes = random.uniform(0.1, 45)
    sandbox.note('%.1f MB for the training directory', megabytes)
    sandbox.mount('train', megabytes)
  plan = runs.Plan(sandbox, random, save=random.choice((1, 2, 5)))
  run = plan.start('--max_steps=%d' % _STEPS)
  floor = -1
  if not mounts:
    floor = runs.wait_for_save(run, plan, random.randrange(10))
    size = random.randrange(8 << 20)
    sandbox.note('from step %d on, files of at most %d bytes', floor, size)
    limit(run, size)
  invariants.ended_with_error(run, 2 * invariants.START_SECS,
                              names=plan.train_dir)
  saved = plan.check_after()
  expect(saved >= floor, 'step %s was saved; now %d', floor, saved)
  if mounts:
    sandbox.remount(plan.train_dir, 'size=%dm' % _PLENTY_MB)
  plan.check_resumes(saved)


def trainer_resumes(sandbox, random):
  """A run that is resumed on a full disk: its checkpoints stay as they are."""
  mounts = can_mount()
  if mounts:
    sandbox.mount('train', 60)
  plan = runs.Plan(sandbox, random, save=random.choice((1, 2, 5)))
  run = plan.start('--max_steps=%d' % random.randrange(1, 3))
  invariants.ended_clean(run, 2 * invariants.START_SECS)
  saved = plan.check_after()
  before = invariants.Unchanged(*_checkpoint_files(plan.train_dir))
  left = random.choice((0, random.randrange(4096), random.randrange(8 << 20)))
  sandbox.note('%d bytes left', left)
  if mounts:
    _fill(plan.train_dir, left)
  run = plan.start('--max_steps=%d' % _STEPS)
  if not mounts:
    limit(run, left)
  invariants.ended_with_error(run, 2 * invariants.START_SECS,
                              names=plan.train_dir)
  before.check()
  expect(plan.check_after() >= saved, 'step %d was saved', saved)
  if mounts:
    os.remove(os.path.join(plan.train_dir, 'filler'))
    sandbox.remount(plan.train_dir, 'size=%dm' % _PLENTY_MB)
  plan.check_resumes(plan.check_after())


def _checkpoint_files(directory):
  return [
      os.path.join(directory, name)
      for name in sorted(os.listdir(directory))
      if name.startswith('model.ckpt-')
  ]


def trainer_may_only_read(sandbox, random):
  """A run whose directory can only be read: one line, and it is as before."""
  trained.copy(sandbox, 'train')
  directory = sandbox.path('train')
  if can_mount():
    copied = sandbox.path('copied')
    os.rename(directory, copied)
    sandbox.mount('train', 60)
    subprocess.check_call(['cp', '-r', copied + '/.', directory])
    sandbox.remount(directory, 'ro')
  else:
    os.chmod(directory, 0o555)
  before = invariants.Unchanged(directory)
  flags = random.choice(([], ['--overwrite']))
  sandbox.note('flags %s', flags)
  run = sandbox.start('cifar10_train', '--train_dir=' + directory,
                      '--dataset=sample', *flags)
  invariants.ended_with_error(run, invariants.START_SECS, names=directory)
  before.check()
  invariants.no_process(sandbox)


def other(sandbox, random):
  """The disk is full for what another program writes: one line."""
  trained.copy(sandbox, 'train', 'pictures')
  before = invariants.Unchanged(sandbox.path('train'), sandbox.path('pictures'))
  out = sandbox.path('out')
  smallest, *command = random.choice(_writing_commands(sandbox, out))
  # Of pages: a file system of 0 bytes is one without a limit.
  size = 4096 * random.randrange(1, smallest // 4096)
  sandbox.note('%d bytes of room', size)
  if can_mount():
    sandbox.mount('out', size / (1 << 20))
    run = sandbox.start(*command)
  else:
    os.mkdir(out)
    run = sandbox.start(*command)
    limit(run, size)
  invariants.ended_with_error(run, invariants.START_SECS, names=out)
  invariants.no_process(sandbox)
  before.check()
  invariants.no_leftovers(out)


def _writing_commands(sandbox, out):
  """Commands that write into `out`, after bytes that none of them fits in."""
  train = sandbox.path('train')
  run = '--checkpoint_dir=' + train
  return [[
      60000, 'cifar10_eval', '--run_once', '--batch_size=100', run,
      '--eval_dir=%s/eval' % out
  ], [3000000, 'cifar10_export', run,
      '--export_dir=%s/export' % out],
          [
              3000000, 'cifar10_export', run, '--export_dir=',
              '--frozen_graph=%s/a.pb' % out
          ],
          [
              80000, 'report', train,
              '--out=%s/report.html' % out, '--eval_dir=' + sandbox.path('eval')
          ],
          [
              25000, 'make_dataset',
              sandbox.path('pictures'),
              '--out=%s/dataset' % out
          ],
          [
              25000, 'cifar10_predict', run,
              sandbox.path('pictures'),
              '--grid=%s/sheet.png' % out
          ]]


KINDS = (Kind('disk', trainer, 4), Kind('disk', trainer_resumes, 3),
         Kind('disk', trainer_may_only_read, 1), Kind('disk', other, 4))
