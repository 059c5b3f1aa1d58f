"""Folders with odd names, for all programs that take one."""

import os
import shutil

from tests.faults import invariants
from tests.faults import trained
from tests.faults.invariants import expect

_RUN_SECS = 90

# A run that a pattern would take for the one that is meant.
_NEIGHBOUR = 'exp1'
_NAMES = ('exp[1]', '[e]xp1', 'exp[!2]', 'exp*', '*', 'exp?', '????', 'exp\\1',
          'exp{1,2}', 'exp[1', ' exp1 ', 'exp\n1', 'exp1\n', 'exp\t1', 'exp\r1',
          '--exp1', "exp'1", 'exp"1', 'exp%s1', 'exp%d%%1', 'exp$HOME', 'exp;1',
          'exp,1', 'exp:1', 'exp@2', 'exp#1', 'exp&1', 'exp\x1b[31m1',
          'exp\xfc1', 'exp\u96ea', os.fsdecode(b'exp\xff1'), 'model.ckpt-1',
          'x' * 255, '\xfc' * 127 + 'x', '~', '...', 'gs://x')
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

  def _drawn(self, random):
    """Draws a name, and makes what it needs."""
    how = random.choice(('plain',) * 8 + ('link', 'slashes', 'longest'))
    # Not a folder of this system to TensorFlow, or one of its root.
    name = random.choice(_NAMES + ('file://%s/exp' % self._work,))
    if how == 'link':
      target = os.path.join(self._work, 'target')
      if random.random() < 0.5:  # Else it leads to nothing.
        os.mkdir(target)
      name = random.choice(('link', 'link[1]*'))
      os.symlink(target, os.path.join(self._work, name))
    elif how == 'slashes':
      name += random.choice(('/', '//', '/.', '/sub//', '/a/b/c', '/../exp2/'))
    elif how == 'longest':
      length = random.choice((_LONGEST_PATH, 3000, random.randint(3900, 4300)))
      path = self._work
      while length - len(path) > 1:
        path += '/' + 'd' * min(_LONGEST_NAME, length - len(path) - 1)
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

  def check_others(self):
    """Checks that only what bears the name has come or changed."""
    invariants.no_process(self._sandbox)
    real = os.path.relpath(os.path.realpath(self.path), self._work)
    # `name/../other` may make either.
    parts = self.path[len(self._work) + 1:].strip('/').split('/')
    self._before.check(but={real.split(os.sep)[0], *parts})

  def works_or_is_refused(self, *command):
    """True if a command that takes the name works.

    Else it ends with one line, and nothing was made or changed.
    """
    run = self._sandbox.start(*command)
    # A name without a slash would not be known for one.
    names = [self.name, '/', '--']
    if invariants.ended_either_way(run, _RUN_SECS, names=names):
      invariants.no_process(self._sandbox)
      self._before.check()
      return False
    self.check_others()
    return True

  def works(self, *command):
    """Checks that a command works; returns its Run."""
    expect(self.works_or_is_refused(*command), '%s refuses it', command[0])
    return self._sandbox.runs[-1]


def of_a_run(sandbox, random):
  """A run is trained, resumed, evaluated, and used, under its name."""
  place = _Place(sandbox, random)
  program = random.choice(('cifar10_train', 'cifar10_multi_gpu_train'))
  flags = [
      program, '--train_dir=' + place.name, '--dataset=sample',
      '--batch_size=8', '--log_frequency=1',
      '--max_to_keep=%d' % random.choice((0, 1, 2))
  ]
  if not place.works_or_is_refused(*flags, '--max_steps=4'):
    return
  expect(place.saved() == 4, 'step 4 is not saved')
  run = place.works(*flags, '--max_steps=6')
  expect(run.steps == [4, 5], '%s: takes the steps %s', run.name, run.steps)
  expect(place.saved() == 6, 'step 6 is not saved')
  invariants.no_leftovers(place.path)
  before = invariants.Unchanged(place.path)
  run = place.works('cifar10_eval', '--checkpoint_dir=' + place.name,
                    '--eval_dir=' + sandbox.path('eval'), '--batch_size=100',
                    *random.choice(([], ['--run_once'])))
  expect('precision @ 1' in run.out, '%s: no precision', run.name)
  trained.copy(sandbox, 'pictures')
  commands = trained.writers(sandbox, place.name, sandbox.path('out.png'))
  del commands['data']
  commands['init'] = ['cifar10_train', '--init_from=' + place.name,
                      '--train_dir=' + sandbox.path('next'), '--max_steps=1',
                      '--dataset=sample', '--batch_size=8']  # yapf: disable
  place.works(*commands[random.choice(sorted(commands))])
  before.check()


def of_data(sandbox, random):
  """A data set is made, and trained on, under its name."""
  place = _Place(sandbox, random)
  trained.copy(sandbox, 'pictures')
  if place.works_or_is_refused('make_dataset', sandbox.path('pictures'),
                               '--out=' + place.name, '--size=32'):
    before = invariants.Unchanged(place.path, ignored=['.fetch.lock'])
    pipeline = random.choice(('queues', 'preloaded', 'tf_data'))
    run = place.works('cifar10_train', '--data_dir=' + place.name,
                      '--input=' + pipeline, '--batch_size=2',
                      '--train_dir=' + sandbox.path('new'), '--log_frequency=1',
                      '--max_steps=2')
    expect(run.steps == [0, 1], '%s: takes the steps %s', run.name, run.steps)
    before.check()


def of_an_output(sandbox, random):
  """What a program writes appears under its name, or nothing does."""
  place = _Place(sandbox, random)
  trained.copy(sandbox, 'pictures')
  step = ['--dataset=sample', '--batch_size=8', '--max_steps=1']
  commands = trained.writers(sandbox, sandbox.path('train'), place.name)
  commands.update({
      'metrics': ['cifar10_train', '--train_dir=' + sandbox.path('new'), *step,
                  '--log_frequency=1', '--metrics=' + place.name],
      'pretrain': ['cifar10_pretrain', '--task=corrupted', *step,
                   '--train_dir=' + place.name]
  })  # yapf: disable
  command = commands[random.choice(sorted(commands))]
  if place.works_or_is_refused(*command):
    expect(os.path.lexists(place.path), 'nothing is written to %r', place.name)
    expect(
        os.path.isfile(place.path) or os.listdir(place.path),
        '%s leaves %r empty', command[0], place.name)


KINDS = {of_a_run: 5, of_data: 2, of_an_output: 4}
