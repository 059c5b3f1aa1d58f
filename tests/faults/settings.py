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
from tests.faults.sandbox import Kind

_RUN_SECS = 90  # For a few steps of any network, and any evaluation.
_MEMORY_BYTES = 16 << 30  # Of addresses; a program with more is out of hand.
_STEPS = 3
_MANY_STEPS = 1000  # More than anybody waits for.
_TRIES = 20
_LOCK = '.lock'

# Flags that another class of faults is about, or that print lines of their own.
_NOT_DRAWN = ('data_dir', 'data_sha256', 'data_url', 'dataset', 'train_dir',
              'eval_dir', 'export_dir', 'checkpoint_dir',
              'log_device_placement')
# They say how many steps there are, as --max_steps does.
_OTHER_ENDS = {'epochs', 'early_stopping', 'labelled_examples', 'recipe'}

_TRAINERS = {
    'cifar10_train': flags_lib.TRAINER_GROUPS,
    'cifar10_multi_gpu_train': flags_lib.TRAINER_GROUPS + ('towers',),
    'cifar10_pretrain': flags_lib.PRETRAINER_GROUPS
}
# Defaults of a program that are not those of the settings.
_DEFAULTS = {'cifar10_pretrain': {'optimizer': 'adam'}}
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


def of_pretraining(sandbox, random):
  """The same, of a trainer that has a folder for each layer."""
  _train(sandbox, random, 'cifar10_pretrain')


def of_a_reader(sandbox, random):
  """Evaluation, prediction and export: an answer, or one line."""
  program = random.choice(sorted(_READERS))
  trained.copy(sandbox, 'train', 'pictures')
  drawn = _drawn(sandbox, random, program)
  base = {'checkpoint_dir': sandbox.path('train')}
  arguments = []
  if program == 'cifar10_export':
    base['export_dir'] = sandbox.path('export')
  else:
    base['batch_size'] = '50'
  if program == 'cifar10_eval':
    base.update(eval_dir=sandbox.path('eval'), run_once='true')
  if program == 'cifar10_predict':
    arguments = [sandbox.path('pictures')]
  before = invariants.Unchanged(sandbox.path('train'), sandbox.path('pictures'))
  run, given = _start(sandbox, program, base, drawn, arguments)
  # Left alone, an evaluator waits for the next checkpoint of a run.
  has_end = drawn.get('run_once', values.Value('true')).text == 'true'
  if program == 'cifar10_eval' and not has_end:
    run.wait_until(lambda: 'precision @' in run.out, 'precision', _RUN_SECS)
    run.send(15)
    expect(
        run.wait(invariants.STOP_SECS, 'SIGTERM') in (0, 1, 143, -15),
        '%s: status %s', run.name, run.status)
  else:
    _either_way(run, given, drawn, sandbox)
  if run.status == 0:
    expect(run.out, '%s: no answer', run.name)
  invariants.no_process(sandbox)
  before.check()
  invariants.no_leftovers(str(sandbox.folder))


def _train(sandbox, random, program, resumed_from=0):
  """Runs a trainer with random flags twice, and checks what it leaves."""
  directory = sandbox.path('train')
  os.makedirs(directory, exist_ok=True)
  with open(os.path.join(directory, 'notes.txt'), 'wb') as file:
    file.write(b'mine')
  drawn = _drawn(sandbox, random, program)
  base = {
      'train_dir': directory,
      'dataset': 'sample',
      'batch_size': '8',
      'log_frequency': '1',
      'max_steps': str(resumed_from + _STEPS)
  }
  everything = invariants.Unchanged(directory, ignored=[_LOCK])
  notes = invariants.Unchanged(os.path.join(directory, 'notes.txt'))
  run, given = _start(sandbox, program, base, drawn)
  if _is_endless(given):
    run.wait_until(lambda: len(run.steps) > 1, 'step', _RUN_SECS)
    run.send(15)
  _either_way(run, given, drawn, sandbox)
  invariants.no_process(sandbox)
  invariants.no_leftovers(directory)
  notes.check()
  folders = _run_folders(directory)
  for folder in folders:
    invariants.checkpoints_load(folder)
  if run.status != 0:
    if not _is_diverged(run):
      everything.check(folders=False)
    return
  expect(folders, '%s: no checkpoint in %s', run.name, directory)
  if program != 'cifar10_pretrain':
    if 'nothing to do' in run.out:
      everything.check(folders=False)
    else:
      _check_config(directory, drawn)
    _check_last_step(run, directory, given, drawn)
  _check_second_start(sandbox, program, given, folders)
  notes.check()


def _drawn(sandbox, random, program):
  """Two or three flags of a program and their Values, a dict by name."""
  groups = _TRAINERS.get(program) or _READERS[program]
  names = [n for n in settings_lib.flag_names(*groups) if n not in _NOT_DRAWN]
  # Most flags drawn at random are refused at once; half are to go further.
  for _ in range(random.choice((1, _TRIES))):
    drawn = _some(names, random)
    if all(not value.is_wrong and has_effect(name, drawn, program)
           for name, value in drawn.items()):
      break
  for name, value in drawn.items():
    sandbox.note('%s', value.flag(name))
  return drawn


def _some(names, random):
  """Two or three of some flags, and their Values, a dict by name."""
  first = random.choice(names)
  chosen = [first]
  while len(chosen) < 2 + (random.random() < 0.5):
    # Flags of one group have more to do with one another.
    near = [
        name for name in names
        if settings_lib.GROUP_OF[name] == settings_lib.GROUP_OF[first]
    ]
    name = random.choice(near if random.random() < 0.5 else names)
    if name not in chosen:
      chosen.append(name)
  return {name: values.draw(name, random) for name in chosen}


def _start(sandbox, program, base, drawn, arguments=()):
  """Starts a program; returns its Run and all its flags, a dict of texts."""
  given = dict(base, **{name: drawn[name].text for name in drawn})
  flags = [
      drawn[name].flag(name) if name in drawn else '--%s=%s' % (name, text)
      for name, text in given.items()
  ]
  run = sandbox.start(program, *flags, *arguments)
  limits = (_MEMORY_BYTES, _MEMORY_BYTES)
  resource.prlimit(run.process.pid, resource.RLIMIT_AS, limits)
  return run, given


def _is_endless(given):
  """Whether --max_steps is far away; no recipe of these ends before it."""
  text = given['max_steps']
  return text.isdecimal() and int(text) > _MANY_STEPS


def _either_way(run, given, drawn, sandbox):
  """Checks that a program ends, in the way that its flags call for."""
  names = ['--' + prefix + name for name in given for prefix in ('', 'no')]
  # The error of a file names it as it was given.
  names += [value.text for value in drawn.values() if '/' in value.text]
  invariants.ended_either_way(
      run, _RUN_SECS, names=names + [str(sandbox.folder), DivergedError.MARK])
  if run.status != 0:
    return
  for name, value in drawn.items():
    expect(not value.is_wrong, '%s: takes %s', run.name, value.flag(name))
    # What is given as off says nothing.
    is_off = not value.value
    expect(
        run.program in _READERS or is_off or
        has_effect(name, drawn, run.program),
        '%s: takes %s, which has no effect', run.name, value.flag(name))


def has_effect(name, drawn, program='cifar10_train'):
  """Whether the settings know a flag as one that has an effect."""
  settings = {
      other: field.default for other, field in settings_lib.FIELDS.items()
  }
  settings.update(_DEFAULTS.get(program, {}))
  settings.update({
      other: value.value for other, value in drawn.items() if not value.is_wrong
  })
  needs = settings_lib.FIELDS[name].metadata['needs']
  applied = recipes.applied(settings, list(drawn))
  return combinations.has_effect(needs, applied)


def _is_diverged(run):
  return DivergedError.MARK in run.err


def _run_folders(directory):
  """The folders in a directory that a trainer has saved checkpoints in."""
  return [
      folder for folder, _, names in os.walk(directory)
      if 'checkpoint' in names and os.path.basename(folder) != 'best'
  ]


def _check_config(directory, drawn):
  """Checks that the settings that are saved are those that were given."""
  with open(os.path.join(directory, 'config.json'), encoding='utf-8') as file:
    saved = json.load(file)
  for name, value in drawn.items():
    expect(name not in saved or saved[name] == value.value,
           '%s: %s was given; config.json has %r', directory, value.flag(name),
           saved.get(name))


def _check_last_step(run, directory, given, drawn):
  """Checks how far a run has come."""
  found = invariants.named(directory)
  expect(found == invariants.saved(directory), 'step %s is named', found)
  if _is_endless(given):
    expect(found > max(run.steps), '%s: step %s is saved', run.name, found)
  elif not _OTHER_ENDS & set(drawn):
    last = int(given['max_steps'])
    # One that was at its end already has not gone back.
    expect(found == last or 'nothing to do' in run.out and found > last,
           '%s: step %s is saved; expected %s', run.name, found, last)


def _check_second_start(sandbox, program, given, folders):
  """Checks that the same flags find nothing to do."""
  flags = {name: text for name, text in given.items() if name != 'overwrite'}
  if _is_endless(given):
    flags['max_steps'] = str(invariants.named(folders[0]))
  before = {folder: invariants.named(folder) for folder in folders}
  run = sandbox.start(
      program, *('--%s=%s' % (name, text) for name, text in flags.items()))
  invariants.ended_clean(run, _RUN_SECS)
  expect('nothing to do' in run.out, '%s: finds something to do', run.name)
  after = {folder: invariants.named(folder) for folder in folders}
  expect(before == after, '%s: from %s to %s', run.name, before, after)


KINDS = (Kind('settings', of_a_new_run,
              12), Kind('settings', of_a_run_that_is_resumed,
                        4), Kind('settings', of_pretraining,
                                 2), Kind('settings', of_a_reader, 6))
