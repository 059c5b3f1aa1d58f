"""Files of training images that somebody spoils while a trainer reads them."""

import os
import shutil

from tests import synthetic_records
from tests.faults import invariants
from tests.faults import runs

_STALL_SECS = 4
_RECORD_BYTES = 3073


def _truncate(path, random):
  os.truncate(path, 0)


def _cut(path, random):
  """Cuts it within a record."""
  records = random.randrange(os.path.getsize(path) // _RECORD_BYTES)
  os.truncate(path,
              records * _RECORD_BYTES + random.randrange(1, _RECORD_BYTES))


def _label(path, random):
  """Overwrites a label, in place."""
  with open(path, 'r+b') as file:
    records = os.path.getsize(path) // _RECORD_BYTES
    file.seek(random.randrange(records) * _RECORD_BYTES)
    file.write(bytes([random.randrange(10, 256)]))


def _replace(path, random):
  """Puts a file of other labels in its place, at once."""
  labels = [random.randrange(10, 256) for _ in range(20)]
  with open(path + '.new', 'wb') as file:
    file.write(synthetic_records.make_records(labels).tobytes())
  os.replace(path + '.new', path)


def _remove(path, random):
  os.remove(path)


def _make_folder(path, random):
  os.remove(path)
  os.mkdir(path)


_CHANGES = (_truncate, _cut, _label, _replace, _remove, _make_folder)


def spoiled(sandbox, random):
  """One line names the file, or one of all, and the last step is saved."""
  count = random.choice((1, 1, 1, 5))
  plan = runs.Plan(sandbox, random, data=True)
  run = plan.start('--stall_secs=%d' % _STALL_SECS)
  runs.wait_for_save(run, plan, random.randrange(8))
  restore, paths = spoil(plan, random, count)
  invariants.ended_with_error(run, _STALL_SECS + invariants.STALL_GRACE_SECS,
                              'the damage', names=paths)
  saved = plan.check_after()
  invariants.expect(saved > run.steps[-1], 'step %d is saved of %s', saved,
                    run.steps[-3:])
  restore()
  data = invariants.Unchanged(plan.data)
  plan.check_resumes(saved)
  data.check()


def spoil(plan, random, count):
  """Spoils some of the five files of training images of a runs.Plan.

  Returns a function that puts all back, and the paths of those spoiled.
  """
  kept = plan.sandbox.path('kept')
  shutil.copytree(str(plan.data), kept)
  change = random.choice(_CHANGES)
  numbers = random.sample(range(1, 6), count)
  paths = [str(plan.data / ('data_batch_%d.bin' % n)) for n in numbers]
  plan.sandbox.note('%s of files %s', change.__name__[1:], numbers)
  for path in paths:
    change(path, random)

  def restore():
    shutil.rmtree(str(plan.data))
    shutil.copytree(kept, str(plan.data))

  return restore, paths


KINDS = {spoiled: 1}
