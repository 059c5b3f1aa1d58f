"""Programs with random values of random flags."""

import json
import os
import resource

from cifar10 import cifar10_eval
from cifar10 import cifar10_export
from cifar10 import cifar10_predict
from cifar10 import flags as flags_lib
from cifar10 import settings as settings_lib
from cifar10.errors import DivergedError
from cifar10.run import combinations
from cifar10.run import recipes
from tests.faults import invariants
from tests.faults import trained
from tests.faults import values
from tests.faults.invariants import expect

_RUN_SECS = 90  # For a few steps of any network, and any evaluation.
_MEMORY_BYTES = 16 << 30  # Of addresses; a program with more is out of hand.
_STEPS = 3
_MANY_STEPS = 1000  # More than anybody waits for.
_TRIES = 20

# Flags that another class of faults is about, that print lines of their own or
# have a program wait for more.
_NOT_DRAWN = ('data_dir', 'data_sha256', 'data_url', 'dataset', 'train_dir',
              'eval_dir', 'export_dir', 'checkpoint_dir',
              'log_device_placement', 'run_once')
# They say how many steps there are, as --max_steps does.
_OTHER_ENDS = {'epochs', 'early_stopping', 'labelled_examples', 'recipe'}

_TRAINERS = {
    'cifar10_train': flags_lib.TRAINER_GROUPS,
    'cifar10_multi_gpu_train': flags_lib.TRAINER_GROUPS + ('towers',)
}
_READERS = {
    'cifar10_eval': cifar10_eval.GROUPS,
    'cifar10_predict': cifar10_predict.GROUPS,
    'cifar10_export': cifar10_export.GROUPS
}


def of_a_new_run(sandbox, random):
  """A right run with what was given, or one line and nothing written."""
  program = random.choice(('cifar10_train',) * 3 + ('cifar10_multi_gpu_train',))
  _train(sandbox, random, program)


def of_a_run_that_is_resumed(sandbox, random):
  """The same, with a run of 12 steps in --train_dir."""
  trained.copy(sandbox, 'train')
  _train(sandbox, random, 'cifar10_train', trained.MAX_STEPS)


def of_a_reader(sandbox, random):
  """Evaluation, prediction and export: an answer, or one line."""
  program = random.choice(sorted(_READERS))
  trained.copy(sandbox, 'train', 'pictures')
  drawn = _drawn(sandbox, random, program)
  given = {'checkpoint_dir': sandbox.path('train'), 'batch_size': '50'}
  arguments = []
  if program == 'cifar10_export':
    del given['batch_size']
    given['export_dir'] = sandbox.path('export')
  elif program == 'cifar10_eval':
    given.update(eval_dir=sandbox.path('eval'), run_once='true')
  else:
    arguments = [sandbox.path('pictures')]
  given.update({name: value.text for name, value in drawn.items()})
  with invariants.unchanged(sandbox, sandbox.path('train'),
                            sandbox.path('pictures')):
    run = _start(sandbox, program, given, arguments)
    _either_way(run, given, drawn, sandbox)
    if run.status == 0:
      expect(run.out, '%s: no answer', run.name)


def _train(sandbox, random, program, resumed_from=0):
  """Runs a trainer with random flags twice, and checks what it leaves."""
  directory = sandbox.path('train')
  os.makedirs(directory, exist_ok=True)
  notes = os.path.join(directory, 'notes.txt')
  with open(notes, 'wb') as file:
    file.write(b'mine')
  drawn = _drawn(sandbox, random, program)
  given = {
      'train_dir': directory,
      'dataset': 'sample',
      'batch_size': '8',
      'log_frequency': '1',
      'max_steps': str(resumed_from + _STEPS)
  }
  given.update({name: value.text for name, value in drawn.items()})
  everything = invariants.Unchanged(directory, ignored=['.lock'])
  mine = invariants.Unchanged(notes)
  run = _start(sandbox, program, given)
  if given['max_steps'].isdecimal() and int(given['max_steps']) > _MANY_STEPS:
    run.wait_until(lambda: len(run.steps) > 1, 'step', _RUN_SECS)
    run.send(15)
  _either_way(run, given, drawn, sandbox)
  invariants.no_process(sandbox)
  invariants.no_leftovers(directory)
  mine.check()
  invariants.checkpoints_load(directory)
  if run.status != 0:
    if DivergedError.MARK not in run.err:
      everything.check()
    return
  found = invariants.named(directory)
  expect(found is not None, '%s: no checkpoint in %s', run.name, directory)
  if 'nothing to do' in run.out:
    everything.check()
  else:
    _check_run(run, directory, given, drawn)
  # The same flags find nothing to do.
  if int(given['max_steps']) > _MANY_STEPS:
    given['max_steps'] = str(found)
  given.pop('overwrite', None)
  run = _start(sandbox, program, given)
  invariants.ended_clean(run, _RUN_SECS)
  expect('nothing to do' in run.out, '%s: finds something to do', run.name)
  invariants.equal(invariants.named(directory), found, 'named step')
  mine.check()


def _drawn(sandbox, random, program):
  """Two or three flags of a program and their Values, a dict by name."""
  groups = _TRAINERS.get(program) or _READERS[program]
  names = [n for n in settings_lib.flag_names(*groups) if n not in _NOT_DRAWN]
  # Most flags drawn at random are refused at once; half are to go further.
  for _ in range(random.choice((1, _TRIES))):
    first = random.choice(names)
    # Flags of one group have more to do with one another.
    near = [
        name for name in names
        if settings_lib.GROUP_OF[name] == settings_lib.GROUP_OF[first]
    ]
    chosen = {first, random.choice(near), random.choice(names)}
    drawn = {name: values.draw(name, random) for name in sorted(chosen)}
    if all(not value.is_wrong and has_effect(name, drawn)
           for name, value in drawn.items()):
      break
  sandbox.note('%s', drawn)
  return drawn


def _start(sandbox, program, given, arguments=()):
  """Starts a program with flags, a dict of texts; returns its Run."""
  flags = ['--%s=%s' % flag for flag in given.items()]
  run = sandbox.start(program, *flags, *arguments)
  resource.prlimit(run.process.pid, resource.RLIMIT_AS, (_MEMORY_BYTES,) * 2)
  return run


def _either_way(run, given, drawn, sandbox):
  """Checks that a program ends, in the way that its flags call for."""
  names = ['--' + prefix + name for name in given for prefix in ('', 'no')]
  # The error of a file names it as it was given.
  names += [value.text for value in drawn.values() if '/' in value.text]
  names += [str(sandbox.folder), DivergedError.MARK]
  if invariants.ended_either_way(run, _RUN_SECS, names=names):
    return
  for name, value in drawn.items():
    expect(not value.is_wrong, '%s: takes --%s=%s', run.name, name, value.text)
    # What is given as off says nothing.
    expect(
        run.program in _READERS or not value.value or has_effect(name, drawn),
        '%s: takes --%s=%s, which has no effect', run.name, name, value.text)


def has_effect(name, drawn):
  """True if the settings know a flag as one that has an effect."""
  settings = {n: field.default for n, field in settings_lib.FIELDS.items()}
  settings.update({
      n: value.value for n, value in drawn.items() if not value.is_wrong
  })
  needs = settings_lib.FIELDS[name].metadata['needs']
  return combinations.has_effect(needs, recipes.applied(settings, list(drawn)))


def _check_run(run, directory, given, drawn):
  """Checks the settings that are saved, and how far a run has come."""
  with open(os.path.join(directory, 'config.json'), encoding='utf-8') as file:
    saved = json.load(file)
  for name, value in drawn.items():
    invariants.equal(saved.get(name, value.value), value.value,
                     '%s in config.json', name)
  found, last = invariants.named(directory), int(given['max_steps'])
  invariants.equal(found, invariants.saved(directory), 'named step')
  if last > _MANY_STEPS:
    expect(found > max(run.steps), '%s: step %s is saved', run.name, found)
  elif not _OTHER_ENDS & set(drawn):
    invariants.equal(found, last, '%s: step that is saved', run.name)


KINDS = {of_a_new_run: 12, of_a_run_that_is_resumed: 4, of_a_reader: 6}
