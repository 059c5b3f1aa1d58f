"""Files of a run or of a data set that are damaged before a program starts."""

import glob
import json
import os

from tests.faults import invariants
from tests.faults import trained
from tests.faults.invariants import expect

_RUN_FILES = ('config.json', 'run_state.json', 'checkpoint',
              'model.ckpt-12.index', 'model.ckpt-12.data-00000-of-00001',
              'model.ckpt-12.meta', 'model.ckpt-6.index',
              'events.out.tfevents.*')
_OTHER_JSON = (None, True, -1, 1e308, 10**400, '', 'a\0b', '\x1b[31m\n',
               '\ud800', [], [[]], {})

# Ways to damage a file's content: functions of it and a random.Random.


def flip(content, random):
  """Flips some bits."""
  changed = bytearray(content)
  for _ in range(random.choice((1, 1, 2, 20))):
    if changed:
      changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
  return bytes(changed)


def cut(content, random):
  """Cuts it off anywhere, perhaps at its beginning."""
  return content[:random.choice((0, random.randrange(max(1, len(content)))))]


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
  return opening * depth + b'{}' + closing * random.choice((0, depth))


def other_type(content, random):
  """Puts another type of value somewhere in JSON, or removes one."""
  value = json.loads(content.decode('utf-8'))
  places = [({'': value}, '')]  # Pairs (container, key or index).
  for place, key in places:
    inner = place[key]
    if isinstance(inner, dict):
      places += [(inner, name) for name in inner]
    elif isinstance(inner, list):
      places += [(inner, index) for index in range(len(inner))]
  top, (place, key) = places[0][0], random.choice(places)
  if isinstance(place, dict) and random.random() < 0.2:
    del place[key]
  else:
    place[key] = random.choice(_OTHER_JSON)
  return json.dumps(top.get('')).encode('utf-8')


OF_ANY = (flip, flip, cut, nul, noise)
_OF_JSON = (flip, cut, nul, nested, other_type, other_type, other_type)


def _damage(sandbox, pattern, random):
  """Damages a file, or puts something else in its place."""
  path = random.choice(sorted(glob.glob(sandbox.path(pattern))))
  name, how = os.path.basename(path), random.random()
  if how < 0.1:
    target = random.choice(('a folder', 'nowhere', name, '/dev/null'))
    sandbox.note('%s leads to %s', name, target)
    os.remove(path)
    if target == 'a folder':
      os.mkdir(path)
    else:
      os.symlink(target, path)
    return
  change = random.choice(_OF_JSON if path.endswith('.json') else OF_ANY)
  sandbox.note('%s: %s', name, change.__name__)
  with open(path, 'rb') as file:
    content = file.read()
  with open(path, 'wb') as file:
    file.write(change(content, random))


def of_a_run(sandbox, random):
  """A program that reads a run with a damaged file: success or one line."""
  trained.copy(sandbox, 'train', 'eval', 'pictures')
  train, evals = sandbox.path('train'), sandbox.path('eval')
  name = random.choice(('grid', 'eval', 'export', 'report'))
  command = trained.writers(sandbox, train, sandbox.path('out.png'))[name]
  is_eval = name == 'report' and random.random() < 0.5
  _damage(sandbox,
          'eval/events.*' if is_eval else 'train/' + random.choice(_RUN_FILES),
          random)
  _check(sandbox, command, train, evals, sandbox.path('pictures'))


def of_a_data_set(sandbox, random):
  """A program that reads a damaged data set: success or one line."""
  kind, pattern = random.choice((('own', 'own/*'), ('data', 'data/*/*.bin')))
  trained.copy(sandbox, kind)
  _damage(sandbox, pattern, random)
  command = random.choice((['fetch_data'], [
      'cifar10_train', '--batch_size=4', '--max_steps=2',
      '--train_dir=' + sandbox.path('train')
  ]))
  folder = sandbox.path(kind)
  flags = ['--data_dir=' + folder, '--data_url=file:///nowhere']
  _check(sandbox, command + flags, folder)


def _check(sandbox, command, *paths):
  """Checks that a command ends either way, and that paths are unchanged."""
  with invariants.unchanged(sandbox, *paths, ignored=['.fetch.lock']):
    invariants.ended_either_way(sandbox.start(*command), invariants.START_SECS)


def of_a_run_that_is_resumed(sandbox, random):
  """A trainer resumes a run with a damaged file, or says why it does not."""
  trained.copy(sandbox, 'train')
  train, last = sandbox.path('train'), trained.MAX_STEPS + 3
  notes = os.path.join(train, 'notes.txt')
  with open(notes, 'w') as file:
    file.write('mine')
  _damage(sandbox, 'train/' + random.choice(_RUN_FILES), random)
  # Checkpoints and events are never written over. The others are written anew.
  kept = glob.glob(os.path.join(train, 'model.ckpt-*'))
  kept += glob.glob(os.path.join(train, 'events.*'))
  with invariants.unchanged(sandbox, notes, *kept):
    run = sandbox.start('cifar10_train', '--train_dir=' + train,
                        '--dataset=sample', '--batch_size=8',
                        '--max_steps=%d' % last)
    if invariants.ended_either_way(run, invariants.START_SECS) == 0:
      saved = invariants.checkpoints_load(train, (6, trained.MAX_STEPS))
      expect(saved == last, 'step %s is saved; expected %d', saved, last)


KINDS = {of_a_run: 12, of_a_run_that_is_resumed: 5, of_a_data_set: 6}
