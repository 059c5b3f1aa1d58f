"""Standard output and standard error that nobody reads, or that are full."""

import os
import time

from tests.faults import invariants
from tests.faults import runs
from tests.faults import trained
from tests.faults.invariants import expect
from tests.faults.sandbox import Kind

_CLOSED_STATUS = 141  # 128 + SIGPIPE, as a shell reports it.


def trainer(sandbox, random):
  """Training goes on to its end, whatever becomes of its output."""
  plan = runs.Plan(sandbox, random)
  how = random.choice(('closed', 'closed both', 'full', 'full both'))
  sandbox.note('standard output: %s', how)
  last = random.randrange(10, 40)
  flags = ['--max_steps=%d' % last]
  if how.startswith('full'):
    run = _start_full(lambda **files: plan.start(*flags, **files),
                      how.endswith('both'))
  else:
    run = _start_closed(lambda **files: plan.start(*flags, **files),
                        how.endswith('both'), lines=random.randrange(10))
  status = run.wait(2 * invariants.START_SECS)
  expect(status == 0, '%s: status %s', run.name, status)
  expect(not run.err, '%s: error output %r', run.name, run.err[:500])
  saved = plan.check_after()
  expect(saved == last, 'step %d is saved; expected %d', saved, last)
  invariants.no_leftovers(plan.train_dir)


def predict(sandbox, random):
  """Predicting ends, quietly if nobody reads, else with one line."""
  trained.copy(sandbox, 'train', 'pictures')
  before = invariants.Unchanged(sandbox.path('train'), sandbox.path('pictures'))

  def start(**files):
    return sandbox.start('cifar10_predict',
                         '--checkpoint_dir=' + sandbox.path('train'),
                         '--batch_size=1', sandbox.path('pictures'), **files)

  if random.random() < 0.5:
    sandbox.note('standard output: closed')
    run = _start_closed(start, False, lines=random.randrange(4))
    status = run.wait(invariants.START_SECS)
    expect(status == _CLOSED_STATUS, '%s: status %s', run.name, status)
    expect(not run.err, '%s: error output %r', run.name, run.err[:500])
  else:
    sandbox.note('standard output: full')
    run = _start_full(start, False)
    status = run.wait(invariants.START_SECS)
    expect(status == 1, '%s: status %s', run.name, status)
    invariants.error_line(run)
  invariants.no_process(sandbox)
  before.check()


def other(sandbox, random):
  """The other programs end by themselves, and without a traceback."""
  trained.copy(sandbox, 'train', 'pictures')
  before = invariants.Unchanged(sandbox.path('train'), sandbox.path('pictures'))
  command = random.choice(commands(sandbox))
  how = random.choice((_start_closed, _start_full))
  sandbox.note('%s: %s', command[0], how.__name__)
  run = how(lambda **files: sandbox.start(*command, **files), False)
  status = run.wait(invariants.START_SECS)
  expect(status in (0, 1, _CLOSED_STATUS), '%s: status %s', run.name, status)
  if status == 1:
    invariants.error_line(run)
  invariants.no_traceback(run)
  invariants.no_process(sandbox)
  before.check()
  invariants.no_leftovers(str(sandbox.folder))


def commands(sandbox):
  """Commands of the programs that use a trained run and pictures."""
  train = sandbox.path('train')
  return [[
      'cifar10_eval', '--run_once', '--batch_size=100',
      '--checkpoint_dir=' + train, '--eval_dir=' + sandbox.path('out/eval')
  ],
          [
              'cifar10_export', '--checkpoint_dir=' + train,
              '--export_dir=' + sandbox.path('out/export'),
              '--frozen_graph=' + sandbox.path('frozen.pb')
          ],
          [
              'report', train, '--out=' + sandbox.path('report.html'),
              '--eval_dir=' + sandbox.path('out/eval')
          ],
          [
              'make_dataset',
              sandbox.path('pictures'), '--out=' + sandbox.path('out/dataset')
          ]]


def _start_full(start, both):
  """Starts a process whose output is a disk that is full."""
  with open('/dev/full', 'wb', buffering=0) as full:
    return start(**({
        'stdout': full,
        'stderr': full
    } if both else {
        'stdout': full
    }))


def _start_closed(start, both=False, lines=0):
  """Starts a process; nobody reads its output after some lines."""
  reader, writer = os.pipe()
  run = start(**({
      'stdout': writer,
      'stderr': writer
  } if both else {
      'stdout': writer
  }))
  os.close(writer)
  deadline = time.monotonic() + invariants.START_SECS
  read = b''
  while read.count(b'\n') < lines and time.monotonic() < deadline:
    chunk = os.read(reader, 1)
    if not chunk:
      break
    read += chunk
  os.close(reader)
  return run


KINDS = (Kind('output', trainer, 3), Kind('output', predict,
                                          2), Kind('output', other, 2))
