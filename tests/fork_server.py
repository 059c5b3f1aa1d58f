"""Forks processes that have imported TensorFlow already.

    python fork_server.py SOCKET MODULE...

Importing TensorFlow takes most of the time of a short program. This process
imports the modules once, starts no session, and forks for each request. The
child runs a program as Python itself would, with its own arguments, environment
and files, and ends as any interpreter does. See processes.py for the other
side.
"""

import array
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import termios

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_NUM_FILES = 3  # Standard input, output and error.


def import_modules(names):
  """Imports what the programs import, so that they need not."""
  sys.path.insert(0, _ROOT)
  for name in names:
    importlib.import_module(name)
  sys.path.remove(_ROOT)
  # What is imported needs no garbage collection at the exit of each child,
  # which would take most of its time.
  gc.collect()
  gc.freeze()


def receive(connection):
  """Reads a request: a dict, and the file descriptors of the new process."""
  size = array.array('i').itemsize * _NUM_FILES
  content, ancillary, _, _ = connection.recvmsg(1 << 20,
                                                socket.CMSG_SPACE(size))
  files = array.array('i')
  files.frombytes(ancillary[0][2])
  while not content.endswith(b'\n'):
    content += connection.recv(1 << 20)
  return json.loads(content.decode('utf-8')), list(files)


def serve(path):
  """Forks for each request; returns it, with its files, in the child only."""
  listener = socket.socket(socket.AF_UNIX)
  listener.bind(path)
  listener.listen(64)
  wakeup, writer = os.pipe()
  os.set_blocking(writer, False)
  signal.signal(signal.SIGCHLD, lambda number, frame: None)
  signal.set_wakeup_fd(writer)
  connections = {}  # By the numbers of the processes.
  print('ready', flush=True)
  while True:
    # Standard input ends with the process that has started this one.
    ready, _, _ = select.select([listener, wakeup, sys.stdin], [], [])
    if sys.stdin in ready:
      os._exit(0)
    if wakeup in ready:
      os.read(wakeup, 1 << 10)
      report_ended(connections)
    if listener in ready:
      connection, _ = listener.accept()
      request, files = receive(connection)
      pid = os.fork()
      if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in (wakeup, writer, listener.detach()):
          os.close(number)
        for other in list(connections.values()) + [connection]:
          os.close(other.detach())
        return request, files
      for number in files:
        os.close(number)
      connections[pid] = connection
      connection.sendall(b'%d\n' % pid)


def report_ended(connections):
  """Sends the status of each process that has ended, as Popen has it."""
  for pid, connection in list(connections.items()):
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
      code = os.WEXITSTATUS(status)
      if os.WIFSIGNALED(status):
        code = -os.WTERMSIG(status)
      try:
        connection.sendall(b'%d\n' % code)
      except BrokenPipeError:  # Nobody waits for it.
        pass
      connection.close()
      del connections[pid]


def become(request, files):
  """Makes this process what a new one would be."""
  if request['new_session']:
    os.setsid()
  for target, number in enumerate(files):
    os.dup2(number, target)
    os.close(number)
  if request['controls_terminal']:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
  os.environ.clear()
  os.environ.update(request['environment'])
  os.chdir(request['directory'])
  sys.stdin = sys.__stdin__ = open(0, closefd=False)
  buffering = 1 if os.isatty(1) else -1
  sys.stdout = sys.__stdout__ = open(1, 'w', buffering, closefd=False)
  sys.stderr = sys.__stderr__ = open(2, 'w', 1, errors='backslashreplace',
                                     closefd=False)


def run_program(arguments):
  """Runs what follows `python` on a command line."""
  folders = os.environ.get('PYTHONPATH', '').split(os.pathsep)
  sys.path[1:1] = [folder for folder in folders if folder]
  if arguments[0] == '-m':
    sys.path[0] = os.getcwd()
    sys.argv = arguments[1:]
    runpy.run_module(arguments[1], run_name='__main__', alter_sys=True)
  else:
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name='__main__')


if __name__ == '__main__':
  import_modules(sys.argv[2:])
  # In the child, from here on nothing of the server is left on the stack.
  program, opened = serve(sys.argv[1])
  become(program, opened)
  run_program(program['arguments'])
