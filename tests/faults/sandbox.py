"""The folder of one fault, and the processes that run in it."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from tests import processes
from tests import short_runs

_POLL_SECS = 0.01
_SHOWN_CHARACTERS = 3000  # Of the end of each output, for a person to read.

# Whether this process may mount file systems and have files hang.
_CAPABILITIES = re.search(r'CapEff:\s*(\w+)',
                          pathlib.Path('/proc/self/status').read_text())
IS_ADMIN = bool(int(_CAPABILITIES.group(1), 16) >> 21 & 1)  # CAP_SYS_ADMIN.


class BrokenPromiseError(Exception):
  """A promise was not kept: what was expected, and what was found."""


class Run:
  """A process whose output goes to files, unless it is sent elsewhere."""

  def __init__(self, program, process, paths, name):
    self.program = program
    self.process = process
    self.name = name
    self._paths = paths
    self.send = process.send_signal

  @property
  def out(self):
    return self._text('out')

  @property
  def err(self):
    return processes.without_model(self._text('err'))

  def _text(self, stream):
    """The output by now; nothing if it goes elsewhere."""
    path = self._paths.get(stream)
    return path.read_bytes().decode('utf-8', 'backslashreplace') if path else ''

  @property
  def status(self):
    return self.process.poll()

  @property
  def steps(self):
    return short_runs.steps(self.out)

  def wait(self, seconds, since='its start'):
    """Waits for the end; returns the status. A promise is that it ends."""
    try:
      return self.process.wait(seconds)
    except subprocess.TimeoutExpired:
      raise BrokenPromiseError('%s still runs %g s after %s' %
                               (self.name, seconds, since)) from None

  def kill(self):
    """Ends it by SIGKILL; returns the status."""
    self.process.kill()
    return self.wait(5, 'SIGKILL')

  def wait_until(self, condition, what, seconds=60):
    """Polls until `condition()`; True if it came true before the end."""
    deadline = time.monotonic() + seconds
    while not condition():
      if self.status is not None:
        return bool(condition())
      if time.monotonic() > deadline:
        raise BrokenPromiseError('%s: no %s within %g s' %
                                 (self.name, what, seconds))
      time.sleep(_POLL_SECS)
    return True

  def wait_for_step(self, step, seconds=60):
    """Waits for a step of at least `step` on its output, or its end."""
    return self.wait_until(lambda: bool(self.steps) and self.steps[-1] >= step,
                           'step %d' % step, seconds)

  def transcript(self):
    """Command, status and output, for a person to read."""
    parts = [
        '$ ' + ' '.join(map(str, self.process.args)),
        'status: %s' % self.status
    ]
    for stream in ('out', 'err'):
      shown = getattr(self, stream)[-_SHOWN_CHARACTERS:]
      parts.append('std%s: %s' % (stream, shown))
    return '\n'.join(parts)


class Sandbox:
  """The folder of one fault; a context manager that ends and deletes all.

  Its processes work in this folder, so that none of them, nor a process that
  one of them has started, escapes notice.
  """

  def __init__(self, keep=False):
    self.folder = pathlib.Path(tempfile.mkdtemp(prefix='fault-'))
    self.runs = []
    self.notes = []  # What was drawn, in words.
    self._keep = keep
    self._mounts = []
    for name in ('work', 'logs', 'tmp'):
      (self.folder / name).mkdir()

  def __enter__(self):
    return self

  def __exit__(self, *error):
    for pid in self.pids():
      with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for run in self.runs:
      run.process.kill()  # One that has only begun is not in its folder yet.
      run.process.wait()
    for path in self._mounts:
      subprocess.call(['umount', '--lazy', path])
    if self._keep:
      print('Kept:', self.folder)
    else:
      shutil.rmtree(str(self.folder), ignore_errors=True)

  def path(self, name):
    """A path in the folder, a string."""
    return str(self.folder / name)

  def note(self, text, *values):
    """Notes what was drawn."""
    self.notes.append(text % values)

  def mount(self, name, megabytes):
    """Mounts a small file system; needs root."""
    self.note('%.2f MB for %s', megabytes, name)
    path = self.path(name)
    os.makedirs(path, exist_ok=True)
    options = 'size=%dk' % int(1024 * megabytes)
    subprocess.check_call(['mount', '-t', 'tmpfs', '-o', options, 'none', path])
    self._mounts.append(path)

  def remount(self, name, options):
    """Changes the options of a file system that `mount` has made."""
    subprocess.check_call(
        ['mount', '-o', 'remount,' + options,
         self.path(name)])

  def start(self, program, *flags, wrapper=(), **options):
    """Starts a program, a module of cifar10/; returns its Run.

    `wrapper` is a script that runs the program, and its arguments; `options`
    are those of Process. Output goes to files by default.
    """
    number, paths = len(self.runs), {}
    with contextlib.ExitStack() as opened:
      for stream in ('out', 'err'):
        if 'std' + stream not in options:
          paths[stream] = self.folder / 'logs' / ('%d.%s' % (number, stream))
          file = opened.enter_context(paths[stream].open('wb'))
          options['std' + stream] = file
      process = processes.start(
          [*wrapper, short_runs.script(program), *flags], cwd=self.path('work'),
          env=dict(os.environ,
                   TMPDIR=self.path('tmp')), start_new_session=True, **options)
    self.runs.append(
        Run(program, process, paths, '%s (process %d)' % (program, number)))
    return self.runs[-1]

  def pids(self):
    """The processes that work in the folder."""
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
      with contextlib.suppress(OSError):
        folder = os.readlink('/proc/%s/cwd' % name)
        if folder.startswith(str(self.folder)):
          found.append(int(name))
    return found

  def transcript(self):
    """What was drawn and what all processes have printed."""
    text = '\n'.join(self.notes + [run.transcript() for run in self.runs])
    # Names of files may hold bytes that are not text.
    return text.encode('utf-8', 'backslashreplace').decode('utf-8')
