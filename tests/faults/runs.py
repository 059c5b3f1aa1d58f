"""Short training runs that something happens to."""

import os
import pathlib
import time

from tests import synthetic_records
from tests.faults import invariants
from tests.faults.invariants import expect

_MORE_STEPS = 5  # Which a run takes once the fault is gone.

# Files of the user beside a run's own, with names much like them.
_FOREIGN = ('notes.txt', 'model.txt', 'my.checkpoint', 'pictures/ship.bin',
            'old.tmp.txt/kept')


class Plan:
  """A trainer with random flags, whose steps are quick.

  Attributes:
    train_dir: where it trains, a path.
    data: its data folder, a small one, or None.
    flags: its flags, but for --max_steps.
  """

  def __init__(self, sandbox, random, program=None, data=False, save=None):
    """Draws the flags; None: any trainer, any --save_steps."""
    if save is None:
      # With few images, saves take most of the time until they are read again.
      save = random.choice((5, 20) if data else (1, 2, 3, 7))
    self.sandbox = sandbox
    self.train_dir = sandbox.path('train')
    self._program = program or random.choice(('cifar10_train',) * 3 +
                                             ('cifar10_multi_gpu_train',))
    self.flags = [
        '--train_dir=' + self.train_dir,
        '--batch_size=%d' % random.choice((4, 8)), '--log_frequency=1',
        '--save_steps=%d' % save
    ]
    if self._program == 'cifar10_multi_gpu_train':
      self.flags.append('--num_gpus=2')
    self.data = None
    if data:
      folder = pathlib.Path(sandbox.path('data'))
      self.data = synthetic_records.make_folder(
          folder, per_file=random.choice((20, 40)))
      self.flags += ['--data_dir=%s' % folder, '--data_url=nowhere']
    else:
      self.flags.append('--dataset=sample')
    foreign = [pathlib.Path(self.train_dir, name) for name in _FOREIGN]
    for path in foreign:
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text('mine')
    self._foreign = invariants.Unchanged(*foreign)

  def start(self, *flags, **options):
    """Starts the trainer; returns its Run."""
    return self.sandbox.start(self._program, *self.flags, *flags, **options)

  def check_after(self):
    """Checks what must hold once the trainer has ended, however it did.

    Returns the newest step that is saved; -1 if none is.
    """
    invariants.no_process(self.sandbox)
    self._foreign.check()
    return invariants.checkpoints_load(self.train_dir)

  def check_resumes(self, saved):
    """Checks that the run, the fault gone, goes on and reaches its end.

    It must go on from the step that was saved, or from a later one; -1: none.
    """
    last = max(saved, 0) + _MORE_STEPS
    run = self.start('--max_steps=%d' % last)
    invariants.ended_clean(run, 2 * invariants.START_SECS)
    steps = run.steps
    if 'nothing to do' in run.out:
      expect(invariants.saved(self.train_dir) >= last, '%s: early', run.name)
    else:
      expect(
          steps and steps[0] >= saved and steps == list(range(steps[0], last)),
          '%s: took the steps %s; step %d was saved before', run.name, steps,
          saved)
      invariants.equal(invariants.named(self.train_dir), last, 'named step')
    self.check_after()
    invariants.no_leftovers(self.train_dir)


def wait_for_save(run, plan, step=0):
  """Waits for a step and for a checkpoint; returns the step that is named."""
  found = run.wait_for_step(step) and run.wait_until(
      lambda: invariants.named(plan.train_dir) is not None, 'checkpoint')
  expect(found, '%s has ended early, status %s', run.name, run.status)
  return invariants.named(plan.train_dir)


def glimpse(directory, part, seconds):
  """Waits until a new file's name holds `part`, perhaps for milliseconds."""
  before = set(os.listdir(directory))
  deadline = time.monotonic() + seconds
  while time.monotonic() < deadline:
    if any(part in name for name in set(os.listdir(directory)) - before):
      return
    time.sleep(0.0005)
