"""Runs of all kinds that are interrupted, copied and resumed.

What follows is what an uninterrupted run does: its schedule, its validations,
its end. Only the batches are others.
"""

import json
import os
import re
import shutil
import time

import numpy as np

from cifar10.run import validation
from tests.faults import invariants
from tests.faults import random_runs
from tests.faults import runs
from tests.faults.invariants import expect
from tests.faults.sandbox import Kind

_VALIDATION = re.compile(
    r'validation precision @ 1 = \S+ \((\d+) / (\d+), step (\d+)\)')


def anywhere(sandbox, random):
  """Interrupted, perhaps copied, resumed: all is as without it."""
  plan = random_runs.Plan(sandbox, random)
  reference, directory = plan.reference(), 'train'
  floors = [-1]
  for number in range(random.choice((1, 1, 2, 3))):
    run = plan.start(directory)
    _interrupt(plan, run, sandbox.path(directory), random)
    invariants.no_process(sandbox)
    path = sandbox.path(directory)
    invariants.checkpoints_load(os.path.join(path, 'best'))
    newest = invariants.checkpoints_load(path)
    directory, is_copy = _moved(sandbox, random, directory, number)
    floors.append(newest)
    if is_copy:
      shutil.rmtree(path)
  run = plan.start(directory)
  invariants.ended_clean(run, random_runs.RUN_SECS)
  invariants.no_process(sandbox)
  path = sandbox.path(directory)
  invariants.no_leftovers(path)
  _check_end(plan, path)
  _check_steps(plan, floors, reference, path)
  _check_copy_is_at_its_end(plan, random, directory)


def _interrupt(plan, run, directory, random):
  """Kills or stops a trainer after some step, or while it saves."""
  step, delay = random.randrange(12), random.uniform(0, 0.1)
  part = random.choice(('', '', '.data-', '.index', 'checkpoint', '.json'))
  folder = random.choice(('', 'best'))
  number = random.choice((9, 9, 9, 15, 2))
  plan.sandbox.note('signal %d %.3f s after step %d and a new %r in %r', number,
                    delay, step, part, folder)
  run.wait_for_step(step, random_runs.RUN_SECS)
  if part:
    delay = min(delay, 0.005)
    if os.path.isdir(os.path.join(directory, folder)):
      runs.glimpse(os.path.join(directory, folder), part, seconds=1)
  time.sleep(delay)
  run.send(number)
  status = run.wait(invariants.STOP_SECS, 'the signal')
  expected = {0}
  # Once the last step is saved, it is what it is to any program.
  is_over = run.steps[-1:] == [plan.last_step - 1] or 'Stopping: ' in run.out
  if number == 9 or is_over:
    expected |= {-number, 128 + number}
  expect(status in expected, '%s: status %s after signal %d', run.name, status,
         number)
  invariants.no_traceback(run)


def _moved(sandbox, random, directory, number):
  """Perhaps moves or copies a run; returns its folder, and if it is a copy."""
  how = random.choice(('stays', 'stays', 'moved', 'copied', 'copied'))
  if how == 'stays':
    return directory, False
  new = 'train%d' % number
  sandbox.note('%s to %s', how, new)
  if how == 'moved':
    os.rename(sandbox.path(directory), sandbox.path(new))
    return new, False
  random_runs.copy(sandbox.path(directory), sandbox.path(new), random)
  return new, True


def _state(directory):
  with open(os.path.join(directory, 'run_state.json')) as file:
    return json.load(file)


def _check_end(plan, path):
  """Checks the end of a run, its validations and its best checkpoint."""
  step = invariants.checkpoints_load(path)
  if not plan.every:
    expect(step == plan.last_step, 'step %d is the last one saved', step)
    expect(invariants.named(path) == step, 'another step is named')
    return
  state, best = _state(path), os.path.join(path, 'best')
  validated = [at for at, _ in state['validations']]
  invariants.checkpoints_load(best)
  best_step = invariants.named(best)
  after_best = sum(at > best_step for at in validated)
  has_stopped = bool(plan.limit) and after_best >= plan.limit
  last = validated[-1] if has_stopped else plan.last_step
  expect(validated == list(range(plan.every, last + 1, plan.every)),
         'validations at %s; expected one every %d steps to %d', validated,
         plan.every, last)
  expect(not has_stopped or after_best == plan.limit,
         '%d validations after the best one; expected %d', after_best,
         plan.limit)
  end = best_step if has_stopped else plan.last_step
  expect(state['stopped_at'] == (end if has_stopped else None),
         'stopped_at is %s; the best validation was at %s of %s',
         state['stopped_at'], best_step, validated)
  expect(
      invariants.named(path) == end, 'step %s is named; expected %d',
      invariants.named(path), end)
  _check_best(plan, best, best_step)


def _check_best(plan, best, step):
  """Checks that no validation of any start has found a better precision."""
  _, precision = validation.best_so_far(best)
  found = [(int(correct) / int(total), int(at))
           for run in plan.starts
           for correct, total, at in _VALIDATION.findall(run.out)]
  expect(not found or precision >= max(found)[0],
         'the best checkpoint, of step %d, has a precision of %s; found: %s',
         step, precision, found)


def _check_steps(plan, floors, reference, path):
  """Checks the steps, epochs and learning rates of all starts."""
  starts = [plan.lines(number) for number in range(len(plan.starts))]
  firsts = [lines[0]['step'] if lines else None for lines in starts]
  for number, (lines, floor) in enumerate(zip(starts, floors)):
    steps = [line['step'] for line in lines]
    expect(not steps or steps == list(range(steps[0], steps[-1] + 1)),
           'start %d takes the steps %s', number, steps)
    expect(not steps or steps[0] >= max(floor, 0),
           'start %d begins at step %s; %d was saved', number, steps[:1], floor)
    # What a later start has done again is not in the run's state.
    later = [first for first in firsts[number + 1:] if first is not None]
    for line in lines:
      if line['step'] < min(later, default=plan.last_step):
        _check_line(plan, line, reference, path)


def _check_line(plan, line, reference, path):
  """Checks epoch and learning rate of a step."""
  step = line['step']
  rate = reference[step]['learning_rate']
  if plan.falls:
    rate = reference[0]['learning_rate'] * random_runs.FALL**_falls(
        [p for at, p in _state(path)['validations'] if at <= step])
  expect(np.isclose(line['learning_rate'], rate, rtol=1e-5,
                    atol=0), 'step %d has a learning rate of %s; expected %s',
         step, line['learning_rate'], rate)
  expect(np.isclose(line['epoch'], reference[step]['epoch']),
         'step %d is of epoch %s; expected %s', step, line['epoch'],
         reference[step]['epoch'])


def _falls(precisions):
  """How often a rate falls that waits for one validation."""
  best, falls = -1, 0
  for precision in precisions:
    falls += precision <= best
    best = max(best, precision)
  return falls


def _check_copy_is_at_its_end(plan, random, directory):
  """Checks that a copy of the run is at its end too, and stays as it is."""
  path = plan.sandbox.path('copy')
  random_runs.copy(plan.sandbox.path(directory), path, random)
  before = invariants.Unchanged(path, ignored=['.lock'])
  run = plan.start('copy')
  invariants.ended_clean(run, random_runs.RUN_SECS)
  expect('nothing to do' in run.out, '%s: finds something to do', run.name)
  before.check()


def with_other_batches(sandbox, random):
  """A seeded run that is resumed sees other batches, and is repeatable."""
  first = random.randint(4, 8)
  flags = [
      '--dataset=sample',
      '--batch_size=%d' % random.choice((4, 8)),
      '--log_frequency=1',
      '--seed=%d' % random.randrange(1000),
      '--input=' + random.choice(random_runs.INPUTS),
      # The loss tells which batch it is.
      '--learning_rate=0',
      '--regularizer=none',
      '--optimizer=' + random.choice(
          ('sgd', 'momentum', 'nesterov', 'adagrad', 'adam')),
      *random.choice(([], ['--normalization=none'], ['--normalization=batch'])),
      *random.choice(([], ['--augment='], ['--augment=flip']))
  ]
  program = random.choice(('cifar10_train',) * 2 + ('cifar10_multi_gpu_train',))
  if program == 'cifar10_multi_gpu_train':
    flags.append('--num_gpus=2')

  def losses(directory, last_step):
    metrics = sandbox.path('%s.%d' % (directory, last_step))
    run = sandbox.start(program, *flags,
                        '--train_dir=' + sandbox.path(directory),
                        '--max_steps=%d' % last_step, '--metrics=' + metrics)
    invariants.ended_clean(run, random_runs.RUN_SECS)
    return [line['loss'] for line in random_runs.lines_of(metrics)]

  found = [losses('train', first)]
  random_runs.copy(sandbox.path('train'), sandbox.path('again'), random)
  found.append(losses('train', 2 * first))
  again = losses('again', 2 * first)
  expect(np.allclose(found[1], again, rtol=1e-5),
         'two starts from step %d have the losses %s and %s', first, found[1],
         again)
  found.append(losses('train', 3 * first))
  for number, later in enumerate(found):
    for earlier in found[:number]:
      expect(not share(earlier, later),
             'batches are repeated: losses %s, then %s', earlier, later)


def share(first, second, length=3):
  """Whether two lists of numbers have a few in a row in common."""
  return any(
      np.allclose(first[i:i + length], second[j:j + length], rtol=1e-6)
      for i in range(len(first) - length + 1)
      for j in range(len(second) - length + 1))


KINDS = (Kind('resume', anywhere, 7), Kind('resume', with_other_batches, 3))
