"""Trainers that are killed at random moments."""

import time

from tests.faults import invariants
from tests.faults import runs


def at_any_time(sandbox, random):
  """SIGKILL at a random time after the start, also before the first step."""
  plan = runs.Plan(sandbox, random)
  run = plan.start()
  delay = random.uniform(0, 4)
  sandbox.note('SIGKILL after %.3f s', delay)
  time.sleep(delay)
  plan.check_resumes(_kill(plan, run))


def in_a_save(sandbox, random):
  """SIGKILL shortly after a step, or once a file of a checkpoint is there."""
  plan = runs.Plan(sandbox, random)
  run = plan.start()
  part = random.choice(
      ('', '', '', '', 'tempstate', '.data-', '.index', '.meta', '.tmp'))
  step, delay = random.randrange(12), random.uniform(0, 0.02 if part else 0.1)
  sandbox.note('SIGKILL %.3f s after step %d and a %r', delay, step, part)
  run.wait_for_step(step)
  if part:
    runs.glimpse(plan.train_dir, part, seconds=1)
  time.sleep(delay)
  plan.check_resumes(_kill(plan, run))


def beside_an_evaluator(sandbox, random):
  """An evaluator follows a run whose trainer is killed and started again."""
  plan = runs.Plan(sandbox, random)
  plan.flags.append('--max_to_keep=%d' % random.choice((0, 1, 2)))
  run = plan.start()
  runs.wait_for_save(run, plan)
  evaluator = sandbox.start('cifar10_eval',
                            '--checkpoint_dir=' + plan.train_dir,
                            '--eval_dir=' + sandbox.path('eval'),
                            '--eval_interval_secs=%d' % random.choice(
                                (0, 1)), '--batch_size=100')
  delay = random.uniform(0, 3)
  sandbox.note('SIGKILL after %.3f s', delay)
  time.sleep(delay)
  run.kill()
  last = run.steps[-1] + 20
  again = plan.start('--max_steps=%d' % last)
  invariants.ended_clean(again, 2 * invariants.START_SECS)
  invariants.ended_clean(evaluator, invariants.START_SECS, 'the last step')
  invariants.expect('step %d)' % last in evaluator.out,
                    '%s: has not evaluated step %d', evaluator.name, last)
  plan.check_after()
  for folder in (plan.train_dir, sandbox.path('eval')):
    invariants.no_leftovers(folder)


def _kill(plan, run):
  """Kills a trainer; returns the newest step that is saved, -1 if none is."""
  floor = invariants.named(plan.train_dir)
  # It ends with another status only if it has ended before.
  status = run.kill()
  invariants.expect(status == -9, '%s: status %s', run.name, status)
  invariants.no_traceback(run)
  saved = plan.check_after()
  if floor is not None:
    invariants.expect(saved >= floor, 'step %d was saved; now it is %d', floor,
                      saved)
  return saved


KINDS = {at_any_time: 8, in_a_save: 14, beside_an_evaluator: 2}
