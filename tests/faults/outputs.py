"""Standard output and standard error that nobody reads, or that are full."""

import os

from tests.faults import invariants
from tests.faults import runs
from tests.faults import trained
from tests.faults.invariants import expect

_CLOSED_STATUS = 141  # 128 + SIGPIPE, as a shell reports it.


def trainer(sandbox, random):
  """Training goes on to its end, whatever becomes of its output."""
  plan = runs.Plan(sandbox, random)
  last, lines = random.randrange(10, 40), random.randrange(10)
  how, both = random.choice((_closed, _full)), random.random() < 0.5
  sandbox.note('%s, both: %s', how.__name__, both)
  run = how(lambda **files: plan.start('--max_steps=%d' % last, **files), both,
            lines)
  status = run.wait(2 * invariants.START_SECS)
  expect(status == 0, '%s: status %s', run.name, status)
  expect(not run.err, '%s: error output %r', run.name, run.err[:500])
  saved = plan.check_after()
  expect(saved == last, 'step %d is saved; expected %d', saved, last)
  invariants.no_leftovers(plan.train_dir)


def other(sandbox, random):
  """The other programs end by themselves; predicting says why."""
  trained.copy(sandbox, 'train', 'pictures')
  train, pictures = sandbox.path('train'), sandbox.path('pictures')
  before = invariants.Unchanged(train, pictures)
  run, evals = '--checkpoint_dir=' + train, sandbox.path('out/eval')
  command = random.choice([
      ['cifar10_predict', run, '--batch_size=1', pictures],
      ['cifar10_predict', run, '--batch_size=1', pictures],
      ['cifar10_eval', run, '--run_once', '--batch_size=100',
       '--eval_dir=' + evals],
      ['cifar10_export', run, '--export_dir=' + sandbox.path('out/export'),
       '--frozen_graph=' + sandbox.path('frozen.pb')],
      ['report', train, '--out=' + sandbox.path('report.html'),
       '--eval_dir=' + evals],
      ['make_dataset', pictures, '--out=' + sandbox.path('out/dataset')]
  ])  # yapf: disable
  how, predicts = random.choice((_closed, _full)), 'predict' in command[0]
  sandbox.note('%s', how.__name__)
  run = how(lambda **files: sandbox.start(*command, **files), False,
            random.randrange(4) if predicts else 0)
  status = run.wait(invariants.START_SECS)
  expected = (0, 1, _CLOSED_STATUS)
  if predicts:  # It answers there: quietly if nobody reads, else with one line.
    expected = (1,) if how is _full else (_CLOSED_STATUS,)
  expect(status in expected, '%s: status %s', run.name, status)
  if status == 1:
    invariants.error_line(run)
  elif predicts:
    expect(not run.err, '%s: error output %r', run.name, run.err[:500])
  invariants.no_traceback(run)
  invariants.no_process(sandbox)
  before.check()
  invariants.no_leftovers(str(sandbox.folder))


def _full(start, both, lines):
  """Starts a process whose output is a disk that is full."""
  with open('/dev/full', 'wb', buffering=0) as full:
    return start(stdout=full, **({'stderr': full} if both else {}))


def _closed(start, both, lines):
  """Starts a process; nobody reads its output after some lines."""
  reader, writer = os.pipe()
  run = start(stdout=writer, **({'stderr': writer} if both else {}))
  os.close(writer)
  with open(reader, 'rb', buffering=0) as output:
    for _ in range(lines):
      output.readline()
  return run


KINDS = {trainer: 3, other: 4}
