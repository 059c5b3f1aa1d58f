"""Python processes for tests, quick to start: see fork_server.py.

`start` and `run` are as subprocess.Popen and subprocess.run. A process of
another Python, with code on its command line, or whose start is what is tested
is one for subprocess itself.
"""

import array
import atexit
import contextlib
import functools
import glob
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL

# Error output: lines that name the models of a program, and whatever there is.
MODELS, ANY = r'(?:Model: .*\n)*', r'(?s).*'

# What all programs of the project import.
_PROGRAMS = ('cifar10.flags', 'cifar10.infer.inference_graph',
             'cifar10.run.session')


def heed_signals():
  """Has this process and those that it starts heed SIGINT and SIGHUP.

  Behind `nohup` or `&` they would ignore them.
  """
  handlers = {
      signal.SIGINT: signal.default_int_handler,
      signal.SIGHUP: signal.SIG_DFL
  }
  for number, handler in handlers.items():
    if signal.getsignal(number) == signal.SIG_IGN:
      signal.signal(number, handler)


@contextlib.contextmanager
def full_disk(size):
  """No file that this process writes can grow beyond `size` bytes."""
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
  try:
    yield
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


class _Server:
  """A fork server, which ends with this process."""

  def __init__(self, modules):
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    self._path = os.path.join(folder, 'socket')
    script = os.path.join(os.path.dirname(__file__), 'fork_server.py')
    self._process = subprocess.Popen(
        [sys.executable, script, self._path, *modules], stdin=PIPE, stdout=PIPE)
    assert self._process.stdout.readline() == b'ready\n'
    atexit.register(self._process.stdin.close)

  def fork(self, request, files):
    """Returns the connection that tells of the new process."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(self._path)
    numbers = array.array('i', files).tobytes()
    content = (json.dumps(request) + '\n').encode('utf-8')
    sent = connection.sendmsg([content],
                              [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
    connection.sendall(content[sent:])
    return connection


@functools.lru_cache(maxsize=None)
def _server(modules):
  """A fork server of this process, started when it is first needed."""
  return _Server(modules)


class Process:
  """A process, with what tests use of subprocess.Popen."""

  def __init__(self, command, *, stdin=DEVNULL, stdout=None, stderr=None,
               cwd=None, env=None, start_new_session=False,
               controls_terminal=False, modules=_PROGRAMS):
    """Starts it.

    Args:
      command: list: a script of Python or `-m` and a module, then arguments.
      stdin, stdout, stderr, cwd, env, start_new_session: as Popen takes them.
      controls_terminal: whether signals typed at the terminal `stdin` go to
        the process, which has a session of its own.
      modules: tuple of the names of modules that it finds imported.
    """
    self.args = command
    self.returncode = None
    self.stdin = self.stdout = self.stderr = None
    opened = []  # To be closed here once the process has them.
    files = []
    for name, given in (('stdin', stdin), ('stdout', stdout), ('stderr',
                                                               stderr)):
      if given == PIPE:
        ends = os.pipe()
        theirs, ours = ends if name == 'stdin' else ends[::-1]
        opened.append(theirs)
        files.append(theirs)
        mode = 'w' if name == 'stdin' else 'r'
        setattr(self, name, open(ours, mode))
      elif given == DEVNULL:
        opened.append(os.open(os.devnull, os.O_RDWR))
        files.append(opened[-1])
      elif given == STDOUT:
        files.append(files[1])
      elif given is None:
        files.append(len(files))
      else:
        files.append(given if isinstance(given, int) else given.fileno())
    request = {
        'arguments': [str(argument) for argument in command],
        'directory': cwd or os.getcwd(),
        'environment': dict(os.environ if env is None else env),
        'new_session': start_new_session or controls_terminal,
        'controls_terminal': controls_terminal
    }
    self._connection = _server(modules).fork(request, files)
    for number in opened:
      os.close(number)
    self._received = b''
    while b'\n' not in self._received:
      self._received += self._connection.recv(100)
    pid, self._received = self._received.split(b'\n', 1)
    self.pid = int(pid)

  def poll(self):
    """The status once it has ended, else None."""
    try:
      return self.wait(0)
    except subprocess.TimeoutExpired:
      return None

  def wait(self, timeout=None):
    """Waits for the end; returns the status."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while self.returncode is None:
      if b'\n' in self._received:
        self.returncode = int(self._received)
        self._connection.close()
        break
      left = None if deadline is None else max(0, deadline - time.monotonic())
      if not select.select([self._connection], [], [], left)[0]:
        raise subprocess.TimeoutExpired(self.args, timeout)
      self._received += self._connection.recv(100)
    return self.returncode

  def send_signal(self, number):
    """Sends a signal, if it has not ended."""
    if self.poll() is None:
      os.kill(self.pid, number)

  def kill(self):
    """Kills it."""
    self.send_signal(signal.SIGKILL)

  def communicate(self, timeout=None):
    """Waits for the end; returns the output and the error output."""
    texts = {}

    def read(name, stream):
      texts[name] = stream.read()

    threads = [
        threading.Thread(target=read, args=(name, stream), daemon=True)
        for name, stream in (('out', self.stdout), ('err', self.stderr))
        if stream is not None
    ]
    for thread in threads:
      thread.start()
    self.wait(timeout)
    for thread in threads:
      thread.join(timeout)
      if thread.is_alive():
        raise subprocess.TimeoutExpired(self.args, timeout)
    return texts.get('out'), texts.get('err')


def without_model(err):
  """Error output without the lines that name the models of a program."""
  lines = err.splitlines(keepends=True)
  return ''.join(line for line in lines if not line.startswith('Model: '))


def threads_left(before):
  """The threads of this process that are new since `before` and do not end."""
  deadline = time.monotonic() + 10
  while set(threading.enumerate()) - before and time.monotonic() < deadline:
    time.sleep(0.01)
  return set(threading.enumerate()) - before


def wait_until(condition, seconds=120):
  """Waits until `condition()` is true; fails after some seconds."""
  deadline = time.monotonic() + seconds
  while not condition():
    assert time.monotonic() < deadline
    time.sleep(0.01)


def running(*texts):
  """The numbers of the processes whose command line has all of `texts`."""
  found = []
  for path in glob.glob('/proc/[0-9]*/cmdline'):
    try:
      with open(path, 'rb') as file:
        command = file.read()
    except OSError:  # It has just ended.
      continue
    if all(str(text).encode() in command for text in texts):
      found.append(int(path.split('/')[2]))
  return found


def script(folder, code):
  """Writes program.py with some code into a folder; returns its path."""
  path = folder / 'program.py'
  path.write_text(code)
  return str(path)


def start(command, **options):
  """Starts a process: see Process."""
  return Process(command, **options)


def run(command, timeout=300, **options):
  """Runs a process to its end; returns status, output and error output."""
  options = dict({'stdout': PIPE, 'stderr': PIPE}, **options)
  process = Process(command, **options)
  try:
    out, err = process.communicate(timeout)
  finally:
    process.kill()
  return process.returncode, out, err


def output(command, errors='', **options):
  """Runs a process that succeeds; returns its output.

  `errors` is a regular expression that its whole error output matches.
  """
  status, out, err = run(command, **options)
  assert status == 0 and re.fullmatch(errors, err), (command, status, out, err)
  return out
