"""Files of a run or of a data set that are damaged before a program starts."""

import glob
import json
import os

from tests.faults import invariants
from tests.faults import trained
from tests.faults.invariants import expect
from tests.faults.sandbox import Kind

_RUN_FILES = ('config.json', 'run_state.json', 'checkpoint',
              'model.ckpt-12.index', 'model.ckpt-12.data-00000-of-00001',
              'model.ckpt-12.meta', 'model.ckpt-6.index',
              'events.out.tfevents.*')
_OTHER_JSON = (None, True, 0, -1, 1e308, 10**400, '', 'text', 'a\0b',
               '\x1b[31m\n', '\ud800', [], [[]], {}, {
                   'a': []
               })
_MORE_STEPS = 3

# Ways to damage a file's content: functions of it and a random.Random.


def flip(content, random):
  """Flips some bits."""
  changed = bytearray(content)
  for _ in range(random.choice((1, 1, 2, 20))):
    if changed:
      changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
  return bytes(changed)


def cut(content, random):
  """Cuts it off anywhere."""
  return content[:random.randrange(max(1, len(content)))]


def empty(content, random):
  return b''


def nul(content, random):
  """Replaces some bytes, perhaps all to the end, by NULs."""
  start = random.randrange(max(1, len(content)))
  end = random.choice((len(content), min(len(content), start + 16)))
  return content[:start] + bytes(end - start) + content[end:]


def noise(content, random):
  return bytes(random.randrange(256) for _ in range(random.randrange(1, 4000)))


def nested(content, random):
  """Thousands of brackets."""
  depth = random.choice((1000, 100000))
  opening, closing = random.choice(((b'[', b']'), (b'{"a":', b'}')))
  middle = b'[]' if opening == b'[' else b'{}'
  return opening * depth + middle + closing * random.choice((0, depth))


def other_type(content, random):
  """Puts another type of value somewhere in JSON."""
  try:
    value = json.loads(content.decode('utf-8'))
  except ValueError:
    return noise(content, random)
  new = random.choice(_OTHER_JSON)
  if random.random() < 0.1:
    return json.dumps(new).encode('utf-8')
  place = value
  while True:
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    key = random.choice(keys)
    inner = place[key]
    if (not isinstance(inner, (dict, list)) or not inner or
        random.random() < 0.3):
      break
    place = inner
  if isinstance(place, dict) and random.random() < 0.2:
    del place[key]
  else:
    place[key] = new
  return json.dumps(value).encode('utf-8')


OF_ANY = (flip, flip, cut, empty, nul, noise)
_OF_JSON = (flip, cut, nul, nested, other_type, other_type, other_type)


def _damage(sandbox, path, random):
  """Damages a file, or puts something else in its place."""
  name = os.path.basename(path)
  how = random.random()
  if how < 0.05:
    sandbox.note('%s is a folder', name)
    os.remove(path)
    os.mkdir(path)
  elif how < 0.1:
    target = random.choice(('nowhere', name, '/dev/null'))
    sandbox.note('%s is a link to %s', name, target)
    os.remove(path)
    os.symlink(target, path)
  elif how < 0.15 and os.geteuid():
    sandbox.note('%s is not readable', name)
    os.chmod(path, 0)
  else:
    change = random.choice(_OF_JSON if path.endswith('.json') else OF_ANY)
    sandbox.note('%s: %s', name, change.__name__)
    with open(path, 'rb') as file:
      content = file.read()
    with open(path, 'wb') as file:
      file.write(change(content, random))


def of_a_run(sandbox, random):
  """A program that reads a run with a damaged file: success or one line."""
  trained.copy(sandbox, 'train', 'eval', 'pictures')
  train = sandbox.path('train')
  (path,) = glob.glob(os.path.join(train, random.choice(_RUN_FILES)))
  _damage(sandbox, path, random)
  before = invariants.Unchanged(train, sandbox.path('pictures'),
                                sandbox.path('eval'))
  run = '--checkpoint_dir=' + train
  command = random.choice(
      (['cifar10_predict', run,
        sandbox.path('pictures/cat')], [
            'cifar10_eval', run, '--run_once', '--batch_size=100',
            '--eval_dir=' + sandbox.path('eval2')
        ], ['cifar10_export', run, '--export_dir=' + sandbox.path('export')], [
            'report', train, '--out=' + sandbox.path('r.html'),
            '--eval_dir=' + sandbox.path('eval')
        ]))
  run = sandbox.start(*command)
  invariants.ended_either_way(run, invariants.START_SECS)
  invariants.no_process(sandbox)
  before.check()
  invariants.no_leftovers(str(sandbox.folder))


def of_a_run_that_is_resumed(sandbox, random):
  """A trainer resumes a run with a damaged file, or says why it does not."""
  trained.copy(sandbox, 'train')
  train = sandbox.path('train')
  notes = os.path.join(train, 'notes.txt')
  with open(notes, 'wb') as file:
    file.write(b'mine')
  (path,) = glob.glob(os.path.join(train, random.choice(_RUN_FILES)))
  _damage(sandbox, path, random)
  # Checkpoints and events are never written over. The others are written anew.
  kept = glob.glob(os.path.join(train, 'model.ckpt-*'))
  kept += glob.glob(os.path.join(train, 'events.*'))
  before = invariants.Unchanged(notes, *kept)
  flags = ['--train_dir=' + train, '--dataset=sample', '--batch_size=8']
  last = trained.MAX_STEPS + _MORE_STEPS
  run = sandbox.start('cifar10_train', *flags, '--max_steps=%d' % last)
  status = invariants.ended_either_way(run, invariants.START_SECS)
  invariants.no_process(sandbox)
  before.check()
  spoiled = (trained.MAX_STEPS, 6)
  saved = invariants.checkpoints_load(train, spoiled) if status == 0 else None
  if status == 0:
    expect(saved == last, 'step %s is saved; expected %d', saved, last)
  invariants.no_leftovers(train)


def of_an_evaluation(sandbox, random):
  """A report on damaged events of the trainer or the evaluator."""
  trained.copy(sandbox, 'train', 'eval')
  train, evaluation = sandbox.path('train'), sandbox.path('eval')
  folder = random.choice((train, evaluation))
  (path,) = glob.glob(os.path.join(folder, 'events.*'))
  _damage(sandbox, path, random)
  before = invariants.Unchanged(train, evaluation)
  run = sandbox.start('report', train, '--out=' + sandbox.path('r.html'),
                      '--eval_dir=' + evaluation)
  invariants.ended_either_way(run, invariants.START_SECS)
  before.check()


def of_a_data_set(sandbox, random):
  """A program that reads a damaged data set: success or one line."""
  kind = random.choice(('own', 'own', 'data'))
  trained.copy(sandbox, kind)
  folder = sandbox.path(kind)
  if kind == 'own':
    path = os.path.join(
        folder,
        random.choice(
            ('dataset.json', 'dataset.json', 'train.bin', 'test.bin')))
  else:
    path = random.choice(sorted(glob.glob(folder + '/*/*.bin')))
  _damage(sandbox, path, random)
  before = invariants.Unchanged(folder, ignored=['.fetch.lock'])
  flags = ['--data_dir=' + folder, '--data_url=file:///nowhere']
  command = random.choice((['fetch_data'], ['fetch_data'], [
      'cifar10_train', '--batch_size=4', '--max_steps=2',
      '--train_dir=' + sandbox.path('train')
  ]))
  run = sandbox.start(*command, *flags)
  invariants.ended_either_way(run, invariants.START_SECS)
  invariants.no_process(sandbox)
  before.check()


KINDS = (Kind('damage', of_a_run,
              10), Kind('damage', of_a_run_that_is_resumed,
                        5), Kind('damage', of_an_evaluation,
                                 2), Kind('damage', of_a_data_set, 6))
