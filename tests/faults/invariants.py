"""What must hold after every fault."""

import contextlib
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


def expect(condition, text, *values):
  """Raises a BrokenPromiseError unless `condition`."""
  if not condition:
    raise BrokenPromiseError(text % values)


def equal(found, expected, text, *values):
  """Raises a BrokenPromiseError that names both unless they are equal."""
  expect(found == expected, text + ': %s; expected: %s', *values, found,
         expected)


def ended_clean(run, seconds, since='its start'):
  """Checks that a process ends with status 0 and without an error."""
  status = run.wait(seconds, since)
  expect(status == 0, '%s: status %s; expected 0', run.name, status)
  expect(not run.err, '%s: error output %r', run.name, run.err[:500])


def ended_with_error(run, seconds, since='its start', names=None):
  """Checks that a process ends with status 1 and one line that names.

  `names` is what the line must hold: a string, or some of which one must be
  there; None: any file, flag or address.
  """
  status = run.wait(seconds, since)
  expect(status == 1, '%s: status %s; expected 1', run.name, status)
  line = error_line(run)
  wanted = (names,) if isinstance(names, str) else names
  found = (any(
      name in line for name in wanted) if wanted else _NAMES.search(line))
  expect(found, '%s: the error names %s not: %r', run.name,
         ' or '.join(wanted) if wanted else 'file, flag or host', line)


def error_line(run):
  """Checks that a process has printed one error line; returns it."""
  no_traceback(run)
  # A program that answers on standard output warns beside it.
  lines = [
      line for line in run.err.splitlines()
      if not line.startswith('WARNING: --precision=')
  ]
  start = '%s: error: ' % run.program
  expect(
      len(lines) == 1 and lines[0].startswith(start),
      '%s: expected one line "%s..." as error output, found %d lines: %r',
      run.name, start, len(lines), run.err[-800:])
  return lines[0]


def ended_either_way(run, seconds, since='its start', names=None):
  """Checks that a process ends with status 0, or 1 and one line: which."""
  if run.wait(seconds, since) == 0:
    no_traceback(run)
  else:
    ended_with_error(run, seconds, since, names)
  return run.status


def no_traceback(run):
  """Checks that a process has printed no traceback, on either output."""
  expect('Traceback' not in run.out + run.err, '%s: a traceback', run.name)


def named(directory):
  """The step that the file `checkpoint` names; None if there is none."""
  path = checkpoints.latest(directory)
  return None if path is None else int(path.rpartition('-')[2])


def saved(directory):
  """The step that the newest checkpoint holds; -1 if there is none."""
  path = checkpoints.latest(directory)
  return -1 if path is None else checkpoints.step(path)


def checkpoints_load(directory, spoiled=()):
  """Checks each checkpoint, and that those named exist.

  `spoiled` are steps whose checkpoints the fault itself has damaged. Returns
  the step of the newest checkpoint, or -1 without one.
  """
  found = checkpoints.by_step(directory)
  for step, path in found.items():
    if step not in spoiled:
      _check_loads(path, step)
  if os.path.exists(os.path.join(directory, 'checkpoint')):
    state = tf.train.get_checkpoint_state(directory)
    expect(state, '%s/checkpoint is damaged', directory)
    path = state.model_checkpoint_path
    expect(tf.train.checkpoint_exists(path), '%s is named and not there', path)
  return max(found, default=-1)


def _check_loads(path, step):
  try:
    values = checkpoints.read(path)
  except Exception as error:
    raise BrokenPromiseError('%s does not load: %s' % (path, error)) from error
  expect(len(values) > 10, '%s holds only %s', path, sorted(values))
  for name, value in values.items():
    expect(np.all(np.isfinite(value)), '%s: %s is not finite', path, name)
  found = int(values['global_step'])
  expect(found == step, '%s: holds global_step %d', path, found)


def no_leftovers(directory):
  """Checks that nobody has left a temporary file or holds a lock."""
  for folder, folders, names in os.walk(directory):
    for name in folders + names:
      path = os.path.join(folder, name)
      expect(not _LEFTOVER.search(name), '%s is left', path)
      if 'lock' in name and os.path.isfile(path) and not os.path.islink(path):
        with open(path, 'rb') as lock:
          try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
          except BlockingIOError:
            raise BrokenPromiseError('%s is locked' % path) from None


def no_process(sandbox, seconds=2):
  """Checks that no process of the sandbox is left."""
  deadline = time.monotonic() + seconds
  while sandbox.pids() and time.monotonic() < deadline:
    time.sleep(0.05)
  expect(not sandbox.pids(), 'processes %s are left', sandbox.pids())


@contextlib.contextmanager
def unchanged(sandbox, *paths, ignored=()):
  """Checks that the body changes no path, and leaves no process and no file."""
  before = Unchanged(*paths, ignored=ignored)
  yield
  no_process(sandbox)
  before.check()
  no_leftovers(str(sandbox.folder))


class Unchanged:
  """Files and folders that must stay as they are, byte for byte."""

  def __init__(self, *paths, ignored=()):
    """Remembers files, and folders with all but the files `ignored`."""
    self._ignored = ignored
    self._before = {path: _content(path) for path in map(str, paths)}

  def check(self, but=()):
    """Checks that nothing has changed, come or gone, but for some names."""
    for path, before in self._before.items():
      after = _content(path)
      for name in {*before, *after}:
        expect(
            before.get(name) == after.get(name) or
            os.path.basename(name) in self._ignored or
            name.split(os.sep)[0] in but, '%s has changed: %s before, %s now',
            os.path.join(path, name), before.get(name), after.get(name))


def _content(path):
  """Type and content of a file, or of all in a folder, by relative path."""
  found = {'': _described(path)}
  if found[''] == 'folder':
    for folder, folders, names in os.walk(path):
      for name in folders + names:
        inside = os.path.join(folder, name)
        found[os.path.relpath(inside, path)] = _described(inside)
  return found


def _described(path):
  """Type and content of a file, in few words."""
  if os.path.islink(path):
    return 'link to ' + os.readlink(path)
  if os.path.isdir(path):
    return 'folder'
  if not os.path.isfile(path):
    return 'special file' if os.path.exists(path) else 'missing'
  with open(path, 'rb') as file:
    return hashlib.sha256(file.read()).hexdigest()[:12]
