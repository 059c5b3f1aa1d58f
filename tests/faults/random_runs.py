"""Training runs of random techniques, inputs, optimizers and schedules."""

import json
import os
import shutil
import time

from tests.faults import invariants
from tests.faults.invariants import expect

RUN_SECS = 90
_HELD_OUT = 100  # Images; a precision is a whole number of hundredths.
FALL = 0.5  # What --schedule=performance multiplies the rate by.

_TECHNIQUES = ([], ['--normalization=batch'], [
    '--network=airbench', '--normalization=batch', '--image_size=32'
], ['--normalization=none', '--activation=selu', '--initializer=lecun'
   ], ['--dropout=0.5',
       '--conv_dropout=0.2'], ['--label_smoothing=0.1',
                               '--regularizer=l1_l2'], ['--precision=bfloat16'],
               ['--clip_norm=1',
                '--moving_average_decay=0.5'], ['--freeze=conv'])
_NOT_WITH_MUON = (['--max_norm=2'], ['--top_layers=local'])
_CACHED = ['--freeze=conv', '--cache_frozen=1']  # Only with queues.
_OPTIMIZERS = (['--optimizer=sgd'], ['--optimizer=momentum', '--momentum=0.8'],
               ['--optimizer=nesterov'], ['--optimizer=adagrad'
                                         ], ['--optimizer=rmsprop'],
               ['--optimizer=adam',
                '--bias_rate=2'], ['--optimizer=ftrl'], ['--optimizer=muon'])
_SCHEDULES = ([
    '--num_epochs_per_decay=0.02', '--learning_rate_decay_factor=0.5'
], ['--num_epochs_per_decay=0.05', '--nostaircase'], ['--schedule=constant'], [
    '--schedule=power', '--power=0.5', '--num_epochs_per_decay=0.02'
], ['--schedule=one_cycle', '--warmup=0.4'], [
    '--schedule=piecewise', '--boundaries=0.02,0.06',
    '--rates=0.001,0.0005,0.0001'
])
_PERFORMANCE = [
    '--schedule=performance', '--patience=1',
    '--learning_rate_decay_factor=%g' % FALL
]
INPUTS = ('queues', 'queues', 'preloaded', 'tf_data')


class Plan:
  """A random run, in one start or several.

  Attributes:
    last_step: its --max_steps.
    every: its --validation_steps; 0: it does not validate.
    limit: its --early_stopping.
    starts: for each start its run and the lines of its --metrics.
  """

  def __init__(self, sandbox, random):
    self.sandbox = sandbox
    self.last_step = random.randint(10, 16)
    self.every = random.choice((0, 2, 3))
    self.limit = random.choice((0, 0, 1, 3)) if self.every else 0
    self.starts = []
    self._program = random.choice(('cifar10_train',) * 3 +
                                  ('cifar10_multi_gpu_train',))
    pipeline = random.choice(INPUTS)
    optimizer = random.choice(_OPTIMIZERS)
    techniques = list(_TECHNIQUES)
    if 'muon' not in optimizer[0]:
      techniques += _NOT_WITH_MUON
    if pipeline == 'queues':
      techniques.append(_CACHED)
    schedules = list(_SCHEDULES)
    if self.every:
      schedules += [_PERFORMANCE] * 3
    schedule = random.choice(schedules)
    self.falls = schedule is _PERFORMANCE
    self._flags = [
        '--dataset=sample',
        '--batch_size=%d' % random.choice((4, 8)), '--log_frequency=1',
        '--max_steps=%d' % self.last_step,
        '--save_steps=%d' % random.choice((1, 2, 3, 5)), '--input=' + pipeline,
        *random.choice(techniques), *optimizer, *schedule
    ]
    if 'piecewise' not in schedule[0]:
      rate = random.choice(('0.0001', '0.001', '0'))
      self._flags.append('--learning_rate=' + rate)
    if self._program == 'cifar10_multi_gpu_train':
      self._flags.append('--num_gpus=2')
    if random.random() < 0.5:
      self._flags.append('--seed=%d' % random.randrange(100))
    if self.every:
      self._flags += [
          '--validation_examples=%d' % _HELD_OUT,
          '--validation_steps=%d' % self.every
      ]

  def start(self, directory):
    """Starts the trainer in a folder; returns its Run."""
    flags = ['--early_stopping=%d' % self.limit] if self.limit else []
    run = self._start(directory, 'metrics%d' % len(self.starts), *flags)
    self.starts.append(run)
    return run

  def lines(self, number):
    """The lines of the metrics of a start."""
    return lines_of(self.sandbox.path('metrics%d' % number))

  def reference(self):
    """The lines of a run that nothing interrupts, by step."""
    run = self._start('reference', 'reference.json')
    invariants.ended_clean(run, RUN_SECS)
    lines = lines_of(self.sandbox.path('reference.json'))
    shutil.rmtree(self.sandbox.path('reference'))
    expect([line['step'] for line in lines] == list(range(self.last_step)),
           '%s: not a line for each step: %s', run.name, lines)
    return lines

  def _start(self, directory, metrics, *flags):
    return self.sandbox.start(self._program, *self._flags, *flags,
                              '--train_dir=' + self.sandbox.path(directory),
                              '--metrics=' + self.sandbox.path(metrics))


def copy(source, target, random):
  """Copies a run as `cp -r` does: all times are new, in any order."""
  shutil.copytree(source, target)
  paths = [
      os.path.join(folder, name)
      for folder, _, names in os.walk(target)
      for name in sorted(names)
  ]
  order = random.choice(('random', 'names', 'equal'))
  if order == 'random':
    random.shuffle(paths)
  now = time.time()
  for number, path in enumerate(paths):
    at = now if order == 'equal' else now + 0.01 * number
    os.utime(path, (at, at))


def lines_of(path):
  """The objects in a file of metrics; a killed trainer may have cut one."""
  if not os.path.exists(path):
    return []
  with open(path, encoding='utf-8') as file:
    texts = file.read().split('\n')
  return [json.loads(text) for text in texts[:-1]]
