"""What must hold after every fault."""

import fcntl
import hashlib
import os
import re
import time

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.store import checkpoints
from tests.faults.sandbox import BrokenPromiseError

# How long a process may take, in seconds.
START_SECS = 30  # To start, on a busy machine.
STOP_SECS = 10  # To end after a signal.
STALL_GRACE_SECS = 10  # To end once --stall_secs are over.

# What an error line names: a path, a flag or an address.
_NAMES = re.compile(r'/|--\w|[\w.]+:\d+')
_LEFTOVER = re.compile(r'\.tmp\w*$|\.tempstate|\.unpacking|_temp_[0-9a-f]')
_SHARD = re.compile(r'\.data-\d{5}-of-(\d{5})$')


def expect(condition, text, *values):
  """Raises a BrokenPromiseError unless `condition`."""
  if not condition:
    raise BrokenPromiseError(text % values)


def ended_clean(run, seconds, since='its start'):
  """Checks that a process ends with status 0 and without an error."""
  status = run.wait(seconds, since)
  expect(status == 0, '%s: status %s; expected 0', run.name, status)
  expect(not run.err, '%s: error output %r', run.name, run.err[:500])


def ended_with_error(run, seconds, since='its start', names=None):
  """Checks that a process ends with status 1 and one line that names.

  Args:
    run: sandbox.Run.
    seconds: within which time.
    since: since when, in words.
    names: what the line must hold: a string, or some of which one must be
      there; None: any file, flag or address.
  """
  status = run.wait(seconds, since)
  expect(status == 1, '%s: status %s; expected 1', run.name, status)
  line = error_line(run)
  wanted = (names,) if isinstance(names, str) else names
  expect(
      any(str(name) in line for name in wanted) if wanted else
      _NAMES.search(line), '%s: the error names %s not: %r', run.name,
      ' or '.join(map(str, wanted)) if wanted else 'file, flag or host', line)


def error_line(run):
  """Checks that a process has printed one error line; returns it."""
  no_traceback(run)
  # A program that answers on standard output warns beside it.
  warning = 'WARNING: --precision='
  lines = [
      line for line in run.err.splitlines() if not line.startswith(warning)
  ]
  start = '%s: error: ' % run.program
  expect(
      len(lines) == 1 and lines[0].startswith(start),
      '%s: expected one line "%s..." as error output, found %d lines: %r',
      run.name, start, len(lines), run.err[-800:])
  return lines[0]


def ended_either_way(run, seconds, since='its start', names=None):
  """Checks that a process ends as it should: status 0, or 1 and one line."""
  if run.wait(seconds, since) == 0:
    no_traceback(run)
  else:
    ended_with_error(run, seconds, since, names)
  return run.status


def no_traceback(run):
  """Checks that a process has printed no traceback, on either output."""
  for text in (run.out, run.err):
    expect('Traceback' not in text, '%s: a traceback', run.name)


def whole(directory):
  """The steps of the checkpoints in a folder that have all their files."""
  names = set(os.listdir(directory)) if os.path.isdir(directory) else ()
  shards = {}
  for name in names:
    found = _SHARD.search(name)
    if found:
      shards.setdefault(name[:found.start()], set()).add(int(found.group(1)))
  steps = []
  for name, totals in shards.items():
    step = name.rpartition('-')[2]
    count = sum(other.startswith(name + '.data-') for other in names)
    if name + '.index' in names and totals == {count} and step.isdigit():
      steps.append(int(step))
  return sorted(steps)


def named(directory):
  """The step that the file `checkpoint` names; None if there is none."""
  path = checkpoints.latest(directory)
  return None if path is None else int(path.rpartition('-')[2])


def saved(directory):
  """The step that the newest checkpoint holds; -1 if there is none."""
  path = checkpoints.latest(directory)
  return -1 if path is None else checkpoints.step(path)


def checkpoints_load(directory, spoiled=()):
  """Checks each whole checkpoint, and that those named exist.

  Args:
    directory: a training directory.
    spoiled: steps whose checkpoints the fault itself has damaged.

  Returns:
    The newest step that a whole checkpoint is of; -1 if there is none.
  """
  steps = whole(directory)
  for step in steps:
    if step not in spoiled:
      _check_loads('%s-%d' % (checkpoints.prefix(directory), step), step)
  if os.path.exists(os.path.join(directory, 'checkpoint')):
    state = tf.train.get_checkpoint_state(directory)
    expect(state, '%s/checkpoint is damaged', directory)
    path = state.model_checkpoint_path
    expect(tf.train.checkpoint_exists(path), '%s is named and not there', path)
  return steps[-1] if steps else -1


def _check_loads(path, step):
  try:
    reader = tf.train.load_checkpoint(path)
    values = {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
    }
  except Exception as error:
    raise BrokenPromiseError('%s does not load: %s' % (path, error)) from error
  expect(len(values) > 10, '%s holds only %s', path, sorted(values))
  for name, value in values.items():
    expect(np.all(np.isfinite(value)), '%s: %s is not finite', path, name)
  found = int(values['global_step'])
  expect(found == step, '%s: holds global_step %d', path, found)


def trains_to(sandbox, flags, last_step, floor, program='cifar10_train'):
  """Checks that a run, the fault gone, goes on and reaches its end.

  Args:
    sandbox: sandbox.Sandbox.
    flags: flags of the trainer; `--train_dir` is `train`.
    last_step: its --max_steps.
    floor: a step that was saved, from which or after which it must go on; -1:
      none was.
    program: the trainer.
  """
  directory = sandbox.path('train')
  run = sandbox.start(program, *flags, '--max_steps=%d' % last_step)
  ended_clean(run, 2 * START_SECS)
  if 'nothing to do' in run.out:
    expect(saved(directory) >= last_step, '%s: too early', run.name)
  else:
    first = run.steps[0] if run.steps else -1
    expect(first >= floor, '%s: went on from step %d; step %d was saved before',
           run.name, first, floor)
    expect(run.steps == list(range(first, last_step)),
           '%s: took the steps %s, not all from %d to %d', run.name, run.steps,
           first, last_step - 1)
    expect(
        named(directory) == last_step,
        '%s: the newest checkpoint is of step %s; expected %d', run.name,
        named(directory), last_step)
  no_process(sandbox)
  no_leftovers(directory)
  return run


def no_leftovers(*directories):
  """Checks that nobody has left a temporary file or holds a lock."""
  for directory in directories:
    for path, folders, names in os.walk(directory):
      for name in folders + names:
        expect(not _LEFTOVER.search(name), '%s is left',
               os.path.join(path, name))
      for name in names:
        if 'lock' in name:
          _check_free(os.path.join(path, name))


def _check_free(path):
  if not os.path.isfile(path) or os.path.islink(path):
    return
  with open(path, 'rb') as lock:
    try:
      fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
      raise BrokenPromiseError('%s: somebody holds the lock' % path) from None


def no_process(sandbox, seconds=2):
  """Checks that no process of the sandbox is left."""
  deadline = time.monotonic() + seconds
  while sandbox.pids() and time.monotonic() < deadline:
    time.sleep(0.05)
  expect(not sandbox.pids(), 'processes %s are left', sandbox.pids())


class Unchanged:
  """Files and folders that must stay as they are, byte for byte."""

  def __init__(self, *paths, ignored=()):
    """Remembers files, and folders with all that is in them.

    Args:
      *paths: the files and folders.
      ignored: names of files in them that may come and go.
    """
    self._ignored = set(ignored)
    self._before = {path: _content(path) for path in map(str, paths)}

  def check(self, folders=True):
    """Checks that nothing has changed, come or gone.

    Args:
      folders: whether new folders count, as long as they are empty.
    """
    for path, before in self._before.items():
      after = _content(path)
      for name in sorted(set(before) | set(after)):
        if os.path.basename(name) in self._ignored:
          continue
        if not folders and (name not in before and after[name] == 'folder'):
          continue
        expect(
            before.get(name) == after.get(name),
            '%s has changed: %s before, %s now', os.path.join(path, name),
            before.get(name), after.get(name))


def _content(path):
  """What a path holds: a description of each file by its relative path."""
  if os.path.islink(path):
    return {'': 'link to ' + os.readlink(path)}
  if not os.path.isdir(path):
    return {'': _described(path)}
  return {
      os.path.relpath(os.path.join(folder, name), path):
          _described(os.path.join(folder, name))
      for folder, folders, names in os.walk(path) for name in folders + names
  }


def _described(path):
  """Type and content of a file, in few words."""
  if os.path.islink(path):
    return 'link to ' + os.readlink(path)
  if os.path.isdir(path):
    return 'folder'
  if not os.path.isfile(path):
    return 'missing' if not os.path.exists(path) else 'special file'
  with open(path, 'rb') as source:
    content = source.read()
  return '%d bytes %s' % (len(content),
                          hashlib.sha256(content).hexdigest()[:12])
