"""Two trainers in one training directory."""

import socket

from tests.faults import invariants
from tests.faults import runs


def second_is_refused(sandbox, random):
  """The second trainer names host and process; the first goes on."""
  plan = runs.Plan(sandbox, random)
  first = plan.start()
  runs.wait_for_save(first, plan, random.randrange(5))
  flags = random.choice(([], ['--overwrite']))
  sandbox.note('the second with %s', flags)
  other = random.choice(('cifar10_train', 'cifar10_multi_gpu_train'))
  second = sandbox.start(other, *plan.flags[:4], '--dataset=sample', *flags)
  invariants.ended_with_error(second, invariants.START_SECS)
  line = invariants.error_line(second)
  for part in (socket.gethostname(), str(first.process.pid)):
    invariants.expect(part in line, 'the error does not name %s: %r', part,
                      line)
  step = first.steps[-1]
  first.wait_for_step(step + 2)
  invariants.expect(first.status is None, 'the first has ended')
  first.send(15)
  invariants.ended_clean(first, invariants.STOP_SECS, 'SIGTERM')
  saved = plan.check_after()
  invariants.expect(saved > step, 'step %d is saved', saved)
  plan.check_resumes(saved)


def at_the_same_time(sandbox, random):
  """Of trainers that start at the same time, one trains."""
  plan = runs.Plan(sandbox, random)
  count = random.choice((2, 3))
  started = [plan.start('--max_steps=30') for _ in range(count)]
  for run in started:
    run.wait(2 * invariants.START_SECS)
  winners = [run for run in started if run.status == 0]
  # One that comes late finds a run that is at its end.
  trained = [run for run in winners if 'nothing to do' not in run.out]
  invariants.expect(
      len(trained) == 1, '%d of %d have trained', len(trained), count)
  for run in started:
    if run not in winners:
      invariants.ended_with_error(run, 0, names=socket.gethostname())
  saved = plan.check_after()
  invariants.expect(saved == 30, 'step %d is saved', saved)
  plan.check_resumes(saved)


KINDS = {second_is_refused: 3, at_the_same_time: 2}
