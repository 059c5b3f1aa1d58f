"""Short training runs that something happens to."""

import os
import pathlib
import time

from tests import synthetic_records
from tests.faults import invariants
from tests.faults.sandbox import BrokenPromiseError

_MORE_STEPS = 5  # Which a run takes once the fault is gone.

# Files of the user beside a run's own, with names much like them.
_FOREIGN = ('notes.txt', 'model.txt', 'my.checkpoint', 'pictures/ship.bin',
            'old.tmp.txt/kept')


class Plan:
  """A trainer with random flags, whose steps are quick.

  Attributes:
    train_dir: where it trains, a path.
    flags: its flags, but for --max_steps.
    program: which trainer.
  """

  def __init__(self, sandbox, random, program=None, data=False, save=None):
    """Draws the flags.

    Args:
      sandbox: sandbox.Sandbox.
      random: random.Random.
      program: which trainer; None: any.
      data: whether it has a data folder of its own, a small one.
      save: --save_steps; None: any.
    """
    if save is None:
      # With few images, saves take most of the time until they are read again.
      save = random.choice((5, 20) if data else (1, 2, 3, 7))
    self.sandbox = sandbox
    self.train_dir = sandbox.path('train')
    self.program = program or random.choice(('cifar10_train',) * 3 +
                                            ('cifar10_multi_gpu_train',))
    self.flags = [
        '--train_dir=' + self.train_dir,
        '--batch_size=%d' % random.choice((4, 8)), '--log_frequency=1',
        '--save_steps=%d' % save
    ]
    if self.program == 'cifar10_multi_gpu_train':
      self.flags.append('--num_gpus=2')
    self.data = None
    if data:
      folder = pathlib.Path(sandbox.path('data'))
      self.data = synthetic_records.make_folder(
          folder, per_file=random.choice((20, 40)))
      self.flags += ['--data_dir=%s' % folder, '--data_url=nowhere']
    else:
      self.flags.append('--dataset=sample')
    self.foreign = invariants.Unchanged(*_write_foreign(self.train_dir, random))

  def start(self, *flags, **options):
    """Starts the trainer; returns its Run."""
    return self.sandbox.start(self.program, *self.flags, *flags, **options)

  def check_after(self):
    """Checks what must hold once the trainer has ended, however it did.

    Returns:
      The newest step that is saved; -1 if none is.
    """
    invariants.no_process(self.sandbox)
    self.foreign.check()
    return invariants.checkpoints_load(self.train_dir)

  def check_resumes(self, saved, *flags):
    """Checks that the run goes on from where it was saved, to its end.

    Args:
      saved: the newest step that is saved; -1 if none is.
      *flags: more flags.
    """
    invariants.trains_to(self.sandbox, self.flags + list(flags),
                         max(saved, 0) + _MORE_STEPS, saved, self.program)
    invariants.no_process(self.sandbox)
    self.foreign.check()


def _write_foreign(directory, random):
  """Writes files that are none of a trainer's; returns their paths."""
  paths = [pathlib.Path(directory, name) for name in _FOREIGN]
  for path in paths:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(random.randrange(256) for _ in range(100)))
  return paths


def wait_for_save(run, plan, step=0):
  """Waits for a step and for a checkpoint; returns the step that is named.

  Raises:
    BrokenPromiseError: the trainer has ended before.
  """
  found = run.wait_for_step(step) and run.wait_until(
      lambda: invariants.named(plan.train_dir) is not None, 'checkpoint')
  if not found:
    raise BrokenPromiseError('%s has ended early, status %s' %
                             (run.name, run.status))
  return invariants.named(plan.train_dir)


def glimpse(directory, part, seconds):
  """Waits until a new file's name holds `part`; whether it was seen.

  Many files have their name for some milliseconds only.
  """
  before = set(os.listdir(directory))
  deadline = time.monotonic() + seconds
  while time.monotonic() < deadline:
    if any(part in name for name in set(os.listdir(directory)) - before):
      return True
    time.sleep(0.0005)
  return False
