"""Folders with odd names, for all programs that take one."""

import os
import shutil

import numpy as np

from tests.faults import invariants
from tests.faults import trained
from tests.faults.invariants import expect
from tests.faults.sandbox import Kind

_RUN_SECS = 90

# A run that a pattern would take for the one that is meant.
_NEIGHBOUR = 'exp1'

_NAMES = ('exp[1]', '[e]xp1', 'exp[!2]', 'exp[0-9]', 'exp*', '*', 'exp?',
          '????', 'exp\\1', 'e\\xp1', 'exp{1,2}', 'exp[1', 'exp]1', 'exp 1',
          ' exp1 ', 'exp\n1', 'exp1\n', 'exp\t1', 'exp\r1', '-exp1', '--exp1',
          "exp'1", 'exp"1', 'exp%s1', 'exp%d%%1', 'exp$HOME', 'exp;1', 'exp,1',
          'exp:1', 'exp@2', 'exp#1', 'exp&1', 'exp\x1b[31m1',
          'exp\xfc1', 'exp\u96ea', os.fsdecode(b'exp\xff1'),
          os.fsdecode(b'\xc3\x28exp'), 'model.ckpt-1', 'x' * 255,
          '\xfc' * 127 + 'x', '~', '...', 'gs://x', 's3://bucket/x')
_LONGEST_NAME = 255
_LONGEST_PATH = 4095  # Bytes; the system counts the zero at the end too.


class _Place:
  """A name in the folder that the programs work in, beside another run.

  Attributes:
    name: the name as it is given to programs, a path.
    path: its absolute path.
  """

  def __init__(self, sandbox, random):
    self._sandbox = sandbox
    self._work = sandbox.path('work')
    trained.copy(sandbox, 'train')
    shutil.copytree(sandbox.path('train'), os.path.join(self._work, _NEIGHBOUR))
    self.name = self._drawn(random)
    self.path = os.path.join(self._work, self.name)
    sandbox.note('name: %r', self.name)
    self._before = invariants.Unchanged(self._work)
    self._neighbours = {
        path: invariants.Unchanged(os.path.join(self._work, path))
        for path in os.listdir(self._work)
        if os.path.realpath(os.path.join(self._work, path)) != self._real()
    }

  def _real(self):
    return os.path.realpath(self.path)

  def _drawn(self, random):
    """Draws a name, and makes what it needs."""
    how = random.choice(('plain',) * 8 +
                        ('link', 'dangling', 'slashes', 'deep', 'longest'))
    # Not a folder of this system to TensorFlow, or one of its root.
    name = random.choice(_NAMES + ('file://%s/exp' % self._work,))
    if how in ('link', 'dangling'):
      target = os.path.join(self._work, 'target')
      if how == 'link':
        os.mkdir(target)
      name = 'link' if random.random() < 0.5 else 'link[1]*'
      os.symlink(target, os.path.join(self._work, name))
    elif how == 'slashes':
      name += random.choice(('/', '//', '/.', '/sub//', '/../exp2/'))
    elif how == 'deep':
      name = '/'.join([name, *'abcdefgh', 'exp[1]'])
    elif how == 'longest':
      length = random.choice((_LONGEST_PATH, 3000, random.randint(3900, 4300)))
      path = self._work
      while len(path) + 1 < length:
        # No part is empty.
        part = min(_LONGEST_NAME, length - len(path) - 1)
        if length - len(path) - 1 - part == 1:
          part -= 1
        path += '/' + 'd' * part
      return path
    if random.random() < 0.5:
      return os.path.join(self._work, name)
    return name if '://' in name else random.choice(('', './')) + name

  def saved(self):
    """Checks the checkpoints of a run of that name; returns the newest step."""
    # By another name, because TensorFlow may take this one for a pattern.
    link = self._sandbox.path('checked')
    os.symlink(self.path, link)
    try:
      return invariants.checkpoints_load(link)
    finally:
      os.unlink(link)

  @property
  def exists(self):
    return os.path.lexists(self.path)

  def check_untouched(self):
    """Checks that nothing was made or changed."""
    invariants.no_process(self._sandbox)
    self._before.check()

  def check_neighbours(self):
    """Checks that only what bears the name has come or changed."""
    invariants.no_process(self._sandbox)
    for unchanged in self._neighbours.values():
      unchanged.check()
    top = os.path.relpath(self._real(), self._work).split(os.sep)[0]
    # `name/../other` may make either.
    parts = self.path[len(self._work) + 1:].strip('/').split('/')
    for name in os.listdir(self._work):
      expect(name in self._neighbours or name == top or name in parts,
             '%r was made in place of %r', name, self.name)

  def work_or_refuse(self, *command):
    """Runs a command that takes the name; whether it works.

    It works, or it ends with one line and nothing has changed.
    """
    run = self._sandbox.start(*command)
    # A name without a slash would not be known for one.
    names = [self.name, '/', '--']
    if invariants.ended_either_way(run, _RUN_SECS, names=names):
      self.check_untouched()
      return False
    self.check_neighbours()
    return True

  def works(self, *command):
    """Checks that a command works."""
    run = self._sandbox.start(*command)
    status = run.wait(_RUN_SECS)
    invariants.no_traceback(run)
    expect(status == 0, '%s: status %s; expected 0', run.name, status)
    self.check_neighbours()
    return run


def of_a_run(sandbox, random):
  """A run is trained, resumed, evaluated, and used, under its name."""
  place = _Place(sandbox, random)
  program = random.choice(('cifar10_train',) * 3 + ('cifar10_multi_gpu_train',))
  flags = [
      program, '--train_dir=' + place.name, '--dataset=sample',
      '--batch_size=8', '--log_frequency=1',
      '--save_steps=%d' % random.choice((1, 2)),
      '--max_to_keep=%d' % random.choice((0, 1, 2))
  ]
  if random.random() < 0.3:
    flags += [
        '--validation_examples=100', '--validation_steps=2',
        '--early_stopping=%d' % random.choice((0, 9))
    ]
  if not place.work_or_refuse(*flags, '--max_steps=4'):
    return
  expect(place.saved() == 4, 'step 4 is not saved')
  run = place.works(*flags, '--max_steps=6')
  expect(run.steps == [4, 5], '%s: takes the steps %s', run.name, run.steps)
  expect(place.saved() == 6, 'step 6 is not saved')
  invariants.no_leftovers(place.path)
  _check_used(sandbox, random, place)
  if random.random() < 0.3:
    run = place.works(*flags, '--max_steps=2', '--overwrite')
    expect(run.steps == [0, 1], '%s: takes the steps %s', run.name, run.steps)
    expect(invariants.whole(place.path)[-1] == 2, 'older steps are left')


def _check_used(sandbox, random, place):
  """Checks the programs that take a run."""
  before = invariants.Unchanged(place.path)
  trained.copy(sandbox, 'pictures')
  run = place.works('cifar10_eval', '--checkpoint_dir=' + place.name,
                    '--eval_dir=' + sandbox.path('eval'), '--batch_size=100',
                    *random.choice(([], ['--run_once'])))
  expect('precision @ 1' in run.out, '%s: no precision', run.name)
  place.works(*random.choice(_users(sandbox, place)))
  before.check()


def _users(sandbox, place):
  """Commands that use the run of a name."""
  return [
      [
          'cifar10_predict', '--checkpoint_dir=' + place.name,
          sandbox.path('pictures')
      ],
      [
          'cifar10_export', '--checkpoint_dir=' + place.name,
          '--export_dir=' + sandbox.path('export'),
          '--frozen_graph=' + sandbox.path('frozen.pb')
      ],
      [
          'cifar10_train', '--init_from=' + place.name,
          '--train_dir=' + sandbox.path('next'), '--dataset=sample',
          '--batch_size=8', '--max_steps=1'
      ],
      # A name may begin like a flag.
      [
          'sparsify', '--keep=0.5', '--out=' + sandbox.path('sparse'), '--',
          place.name
      ],
      [
          'report', '--out=' + sandbox.path('report.html'),
          '--eval_dir=' + sandbox.path('eval'), '--', place.name
      ]
  ]


def of_data(sandbox, random):
  """A data set is made, and trained on, under its name."""
  place = _Place(sandbox, random)
  trained.copy(sandbox, 'pictures')
  made = place.work_or_refuse('make_dataset', sandbox.path('pictures'),
                              '--out=' + place.name, '--size=32')
  if made:
    before = invariants.Unchanged(place.path, ignored=['.fetch.lock'])
    run = place.works(
        'cifar10_train', '--data_dir=' + place.name, '--input=' + random.choice(
            ('queues', 'preloaded', 'tf_data')),
        '--train_dir=' + sandbox.path('new'), '--batch_size=2',
        '--log_frequency=1', '--max_steps=2')
    expect(run.steps == [0, 1], '%s: takes the steps %s', run.name, run.steps)
    before.check()


def of_an_output(sandbox, random):
  """What a program writes appears under its name, or nothing does."""
  place = _Place(sandbox, random)
  trained.copy(sandbox, 'pictures')
  command = random.choice(_writers(sandbox, place))
  if place.work_or_refuse(*command):
    expect(place.exists, '%s writes nothing to %r', command[0], place.name)
    expect(
        os.path.isfile(place.path) or os.listdir(place.path),
        '%s leaves %r empty', command[0], place.name)


def _writers(sandbox, place):
  """Commands that write what bears a name."""
  train, weights = sandbox.path('train'), sandbox.path('weights.npz')
  shapes = {
      'conv1': (5, 5, 3, 64),
      'conv2': (5, 5, 64, 64),
      'local3': (6 * 6 * 64, 384),
      'local4': (384, 192),
      'softmax_linear': (192, 10)
  }
  arrays = {}
  for layer, shape in shapes.items():
    arrays[layer + '/weights'] = np.ones(shape, np.float32)
    arrays[layer + '/biases'] = np.ones(shape[-1], np.float32)
  np.savez(weights, **arrays)
  step = ['--dataset=sample', '--batch_size=8', '--max_steps=1']
  return [
      [
          'cifar10_eval', '--checkpoint_dir=' + train, '--run_once',
          '--eval_dir=' + place.name
      ], ['cifar10_export', '--checkpoint_dir=' + train] +
      ['--export_dir=' + place.name],
      ['cifar10_export', '--checkpoint_dir=' + train] +
      ['--export_dir=', '--frozen_graph=' + place.name],
      ['sparsify', train, '--keep=0.5', '--out=' + place.name],
      ['import_weights', weights, '--out=' + place.name],
      ['report', train, '--eval_dir=' + train, '--out=' + place.name],
      ['cifar10_train', '--train_dir=' + sandbox.path('new'), *step] +
      ['--log_frequency=1', '--metrics=' + place.name],
      ['cifar10_pretrain', '--task=corrupted', '--train_dir=' + place.name] +
      step
  ]


KINDS = (Kind('names', of_a_run, 5), Kind('names', of_data,
                                          2), Kind('names', of_an_output, 4))
