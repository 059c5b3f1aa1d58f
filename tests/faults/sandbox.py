"""The folder of one fault, and the processes that run in it."""

import contextlib
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Callable, NamedTuple

from tests import processes
from tests import short_runs

_POLL_SECS = 0.01
_SHOWN_CHARACTERS = 3000  # Of the end of each output, for a person to read.

_LINE = r'\S+ \S+: step .*\n'
_STEP_LINES = re.compile('(%s)(?:%s)+(%s)' % (_LINE, _LINE, _LINE))


class BrokenPromiseError(Exception):
  """A promise was not kept: what was expected, and what was found."""


class Kind(NamedTuple):
  """A kind of fault.

  Attributes:
    group: the class of faults that the table counts it in.
    run: function (Sandbox, random.Random) that makes the fault happen and
      checks what follows; raises BrokenPromiseError. With `batch`, it takes a
      list of random.Random and returns a list of messages, None where all is
      well.
    weight: how often it is drawn, in proportion to the others.
    batch: how many such faults may share the processes of one sandbox.
  """

  group: str
  run: Callable
  weight: float
  batch: int = 1

  @property
  def name(self):
    return '%s.%s' % (self.group, self.run.__name__)


def script(program):
  """The path of a program's script."""
  (path,) = glob.glob(
      os.path.join(short_runs.ROOT, 'cifar10', '**', program + '.py'),
      recursive=True)
  return path


class Run:
  """A process whose output goes to files, unless it is sent elsewhere."""

  def __init__(self, program, process, out_path, err_path, name):
    self.program = program
    self.process = process
    self.name = name
    self._paths = {'out': out_path, 'err': err_path}
    self.started = time.monotonic()

  @property
  def out(self):
    return _text(self._paths['out'])

  @property
  def err(self):
    return processes.without_model(_text(self._paths['err']))

  @property
  def status(self):
    return self.process.poll()

  @property
  def steps(self):
    return short_runs.steps(self.out)

  def send(self, number):
    """Sends a signal."""
    self.process.send_signal(number)

  def wait(self, seconds, since='its start'):
    """Waits for the end; returns the status.

    Raises:
      BrokenPromiseError: it still runs after that time.
    """
    try:
      return self.process.wait(seconds)
    except subprocess.TimeoutExpired:
      raise BrokenPromiseError('%s still runs %g s after %s' %
                               (self.name, seconds, since)) from None

  def wait_until(self, condition, what, seconds=60):
    """Polls until `condition()`; whether it came true before the end.

    Raises:
      BrokenPromiseError: neither within `seconds`.
    """
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
    parts = ['$ ' + ' '.join(map(str, self.process.args))]
    parts += ['status: %s' % self.status]
    for stream in ('out', 'err'):
      text = getattr(self, stream)
      if text:
        shown = _STEP_LINES.sub(r'\1...\n\2', text)[-_SHOWN_CHARACTERS:]
        parts.append('std%s: %s' % (stream, shown))
    return '\n'.join(parts)


def _text(path):
  """What a file holds by now; nothing if output goes elsewhere."""
  if path is None:
    return ''
  return path.read_bytes().decode('utf-8', 'backslashreplace')


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
    self._work = self.folder / 'work'
    self._logs = self.folder / 'logs'
    for path in (self._work, self._logs, self.folder / 'tmp'):
      path.mkdir()

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
      subprocess.call(['umount', '--lazy', str(path)])
    if not self._keep:
      shutil.rmtree(str(self.folder), ignore_errors=True)

  def path(self, name):
    """A path in the folder, a string."""
    return str(self.folder / name)

  def note(self, text, *values):
    """Notes what was drawn."""
    self.notes.append(text % values)

  def mount(self, name, megabytes):
    """Mounts a small file system; needs root. Returns its path."""
    path = self.folder / name
    path.mkdir(exist_ok=True)
    options = 'size=%dk' % int(1024 * megabytes)
    subprocess.check_call(
        ['mount', '-t', 'tmpfs', '-o', options, 'none',
         str(path)])
    self._mounts.append(path)
    return str(path)

  def remount(self, path, options):
    """Changes the options of a file system that `mount` has made."""
    subprocess.check_call(['mount', '-o', 'remount,' + options, path])

  def start(self, program, *flags, wrapper=(), **options):
    """Starts a program; returns its Run.

    Args:
      program: name of a module of cifar10/, without `.py`.
      *flags: its arguments.
      wrapper: a script that runs the program, and its arguments.
      **options: as Process takes them; stdout and stderr are files by default.
    """
    number = len(self.runs)
    name = '%s (process %d)' % (program, number)
    paths, opened = {}, []
    for stream in ('out', 'err'):
      paths[stream] = None
      if 'std' + stream not in options:
        paths[stream] = self._logs / ('%d.%s' % (number, stream))
        opened.append(paths[stream].open('wb'))
        options['std' + stream] = opened[-1]
    environment = dict(os.environ, TMPDIR=self.path('tmp'))
    process = processes.start([*wrapper, script(program), *flags],
                              cwd=str(self._work), env=environment,
                              start_new_session=True, **options)
    for file in opened:
      file.close()
    run = Run(program, process, paths['out'], paths['err'], name)
    self.runs.append(run)
    return run

  def pids(self):
    """The processes that work in the folder."""
    found = []
    for name in os.listdir('/proc'):
      if name.isdigit():
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
