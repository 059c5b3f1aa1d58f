"""Runs of all kinds that are interrupted, copied and resumed.

What follows is what an uninterrupted run does: its schedule, its validations,
its end. Only the batches are others.
"""

import json
import os
import pathlib
import re
import shutil
import time

import numpy as np

from cifar10.run import validation
from tests.faults import invariants
from tests.faults import runs
from tests.faults.invariants import equal
from tests.faults.invariants import expect

_RUN_SECS = 90
_FALL = 0.5  # What --schedule=performance multiplies the rate by.
_VALIDATION = re.compile(
    r'validation precision @ 1 = \S+ \((\d+) / (\d+), step (\d+)\)')

_TECHNIQUES = ('', '--normalization=batch',
               '--network=airbench --normalization=batch --image_size=32',
               '--normalization=none --activation=selu --initializer=lecun',
               '--dropout=0.5 --conv_dropout=0.2',
               '--label_smoothing=0.1 --regularizer=l1_l2',
               '--precision=bfloat16',
               '--clip_norm=1 --moving_average_decay=0.5', '--freeze=conv')
_NOT_WITH_MUON = ('--max_norm=2', '--top_layers=local')
_CACHED = '--freeze=conv --cache_frozen=1'  # Only with queues.
_OPTIMIZERS = ('sgd', 'momentum --momentum=0.8', 'nesterov', 'adagrad',
               'rmsprop', 'adam --bias_rate=2', 'ftrl', 'muon')
_SCHEDULES = ('exponential --num_epochs_per_decay=0.02 '
              '--learning_rate_decay_factor=0.5',
              'exponential --num_epochs_per_decay=0.05 --nostaircase',
              'constant', 'power --power=0.5 --num_epochs_per_decay=0.02',
              'one_cycle --warmup=0.4',
              'piecewise --boundaries=0.02,0.06 --rates=0.001,0.0005,0.0001')
_PERFORMANCE = ('performance --patience=1 --learning_rate_decay_factor=%g' %
                _FALL)
_INPUTS = ('queues', 'queues', 'preloaded', 'tf_data')


class _Plan:
  """A random run, in one start or several.

  Attributes:
    last_step: its --max_steps.
    every: its --validation_steps; 0: it does not validate.
    limit: its --early_stopping.
    starts: for each start its run.
  """

  def __init__(self, sandbox, random):
    self._sandbox = sandbox
    self.last_step = random.randint(10, 16)
    self.every = random.choice((0, 2, 3))
    self.limit = random.choice((0, 0, 1, 3)) if self.every else 0
    self.starts = []
    program = random.choice(('cifar10_train',) * 3 +
                            ('cifar10_multi_gpu_train --num_gpus=2',))
    pipeline, optimizer = random.choice(_INPUTS), random.choice(_OPTIMIZERS)
    techniques = _TECHNIQUES + _NOT_WITH_MUON * (optimizer != 'muon')
    techniques += (_CACHED,) * (pipeline == 'queues')
    schedule = random.choice(_SCHEDULES + (_PERFORMANCE,) *
                             (3 if self.every else 0))
    self.falls = schedule == _PERFORMANCE
    drawn = [
        program,
        random.choice(techniques), '--optimizer=' + optimizer,
        '--schedule=' + schedule, '--input=' + pipeline,
        random.choice(('', '--seed=7'))
    ]
    if 'piecewise' not in schedule:
      drawn.append('--learning_rate=' + random.choice(('0.001', '0')))
    self._command = ' '.join(drawn).split() + [
        '--dataset=sample', '--batch_size=8', '--log_frequency=1',
        '--max_steps=%d' % self.last_step,
        '--save_steps=%d' % random.choice((1, 2, 3, 5))
    ]
    if self.every:
      self._command += [
          '--validation_examples=100',
          '--validation_steps=%d' % self.every
      ]

  def start(self, directory):
    """Starts the trainer in a folder; returns its Run."""
    flags = ['--early_stopping=%d' % self.limit] if self.limit else []
    self.starts.append(self._start(directory, len(self.starts), *flags))
    return self.starts[-1]

  def _start(self, directory, metrics, *flags):
    return self._sandbox.start(
        *self._command, *flags, '--train_dir=' + self._sandbox.path(directory),
        '--metrics=' + self._sandbox.path('%s.json' % metrics))

  def lines(self, metrics):
    """The lines of a start's metrics; a killed trainer may have cut one."""
    path = pathlib.Path(self._sandbox.path('%s.json' % metrics))
    text = path.read_text(encoding='utf-8') if path.exists() else ''
    return [json.loads(line) for line in text.split('\n')[:-1]]

  def reference(self):
    """The lines of a run that nothing interrupts, by step."""
    run = self._start('reference', 'reference')
    invariants.ended_clean(run, _RUN_SECS)
    lines = self.lines('reference')
    shutil.rmtree(self._sandbox.path('reference'))
    equal([line['step'] for line in lines], list(range(self.last_step)),
          'steps of the reference')
    return lines


def _copy(source, target, random):
  """Copies a run as `cp -r` does: all times are new, in any order."""
  seconds = random.choice((0, 0.5))

  def copy(old, new):
    shutil.copy(old, new)
    os.utime(new, (time.time() + random.uniform(0, seconds),) * 2)

  shutil.copytree(source, target, copy_function=copy)


def anywhere(sandbox, random):
  """Interrupted, perhaps copied, resumed: all is as without it."""
  plan = _Plan(sandbox, random)
  reference, path = plan.reference(), sandbox.path('train')
  floors = [-1]
  for number in range(random.choice((1, 1, 2, 3))):
    run = plan.start(path)
    _interrupt(sandbox, plan, run, path, random)
    invariants.no_process(sandbox)
    invariants.checkpoints_load(os.path.join(path, 'best'))
    floors.append(invariants.checkpoints_load(path))
    if random.random() < 0.5:
      old, path = path, sandbox.path('train%d' % number)
      sandbox.note('copied to %s', path)
      _copy(old, path, random)
      shutil.rmtree(old)
  invariants.ended_clean(plan.start(path), _RUN_SECS)
  invariants.no_process(sandbox)
  invariants.no_leftovers(path)
  if plan.every:
    _check_validations(plan, path)
  else:
    found = invariants.named(path), invariants.checkpoints_load(path)
    equal(found, (plan.last_step,) * 2, 'the step named and the last one saved')
  _check_steps(plan, floors, reference, path)
  # A copy is at its end too, and stays as it is.
  copy = sandbox.path('copy')
  _copy(path, copy, random)
  before = invariants.Unchanged(copy, ignored=['.lock'])
  run = plan.start(copy)
  invariants.ended_clean(run, _RUN_SECS)
  expect('nothing to do' in run.out, '%s: finds something to do', run.name)
  before.check()


def _interrupt(sandbox, plan, run, directory, random):
  """Kills or stops a trainer after some step, or while it saves."""
  step, delay = random.randrange(12), random.uniform(0, 0.1)
  part = random.choice(('', '', '.data-', '.index', 'checkpoint', '.json'))
  folder = os.path.join(directory, random.choice(('', 'best')))
  number = random.choice((9, 9, 9, 15, 2))
  sandbox.note('signal %d %.3f s after step %d and a new %r in %s', number,
               delay, step, part, folder)
  run.wait_for_step(step, _RUN_SECS)
  if part and os.path.isdir(folder):
    delay /= 20
    runs.glimpse(folder, part, seconds=1)
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


def _state(directory):
  with open(os.path.join(directory, 'run_state.json')) as file:
    return json.load(file)


def _check_validations(plan, path):
  """Checks the validations of a run, its end and its best checkpoint."""
  state, best = _state(path), os.path.join(path, 'best')
  invariants.checkpoints_load(path)
  invariants.checkpoints_load(best)
  validated = [at for at, _ in state['validations']]
  best_step = invariants.named(best)
  after_best = sum(at > best_step for at in validated)
  has_stopped = bool(plan.limit) and after_best >= plan.limit
  last = validated[-1] if has_stopped else plan.last_step
  equal(validated, list(range(plan.every, last + 1, plan.every)), 'validations')
  end, stopped_at = plan.last_step, None
  if has_stopped:
    end = stopped_at = best_step
    equal(after_best, plan.limit, 'validations after the best one')
  equal(state['stopped_at'], stopped_at, 'stopped_at')
  equal(invariants.named(path), end, 'named step')
  # No validation of any start has found a better precision.
  _, precision = validation.best_so_far(best)
  found = [
      int(correct) / int(total)
      for run in plan.starts
      for correct, total, _ in _VALIDATION.findall(run.out)
  ]
  expect(precision >= max(found, default=0),
         'the best checkpoint, of step %d, has a precision of %s; found: %s',
         best_step, precision, found)


def _check_steps(plan, floors, reference, path):
  """Checks the steps, epochs and learning rates of all starts."""
  starts = [plan.lines(number) for number in range(len(plan.starts))]
  firsts = [lines[0]['step'] if lines else plan.last_step for lines in starts]
  for number, (lines, floor) in enumerate(zip(starts, floors)):
    steps = [line['step'] for line in lines]
    expect(not steps or steps == list(range(steps[0], steps[-1] + 1)),
           'start %d takes the steps %s', number, steps)
    expect(not steps or steps[0] >= max(floor, 0),
           'start %d begins at step %s; %d was saved', number, steps[:1], floor)
    # What a later start has done again is not in the run's state.
    later = min(firsts[number + 1:], default=plan.last_step)
    for line in lines[:max(0, later - firsts[number])]:
      expected = dict(reference[line['step']])
      if plan.falls:
        falls = _falls(_state(path)['validations'], line['step'])
        expected['learning_rate'] = reference[0]['learning_rate'] * _FALL**falls
      for name in ('learning_rate', 'epoch'):
        expect(np.isclose(line[name], expected[name], rtol=1e-5,
                          atol=0), 'step %d has the %s %s; expected %s',
               line['step'], name, line[name], expected[name])


def _falls(validations, step):
  """How often a rate has fallen by a step that waits for one validation."""
  best, falls = -1, 0
  for at, precision in validations:
    falls += at <= step and precision <= best
    best = max(best, precision)
  return falls


KINDS = {anywhere: 1}
