"""The other tasks of a cluster: alive, slow or silent; the end of the chief.

The last step is lost if the chief fails to save it. So a worker that has taken
it waits for the chief, and ends with an error if the chief does.
"""

import contextlib
import socket
import threading
import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import shared_state
from cifar10.errors import UserError

_REACH_POLL_SECS = 0.2
_OBSERVE_SECS = 1
_SAVED_POLL_SECS = 0.5

_ANSWER_SECS = 2

# RFC 9113, section 3.4: both sides begin with a SETTINGS frame, of type 4 and
# stream 0. That of the client is empty; its length is in the first three bytes.
_SETTINGS = b'\4' + bytes(5)
_HTTP2_BEGINNING = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + bytes(3) + _SETTINGS

_ENDING = 'ending'  # The Notice of the chief.


def reach(addresses, job, timeout_secs):
  """Waits at most `timeout_secs` until all tasks at `host:port` answer.

  Raises UserError that names the first one that does not, and why; it calls the
  tasks by `job`, as 'worker'.
  """
  deadline = time.monotonic() + timeout_secs
  for address in addresses:
    while True:
      problem = unreachable(address)
      if problem is None:
        break
      if time.monotonic() > deadline:
        raise UserError(
            f'{job} {address} cannot be reached within {timeout_secs} s '
            f'(--connect_timeout_secs): {problem}')
      time.sleep(_REACH_POLL_SECS)


def unreachable(address):
  """The reason why the task at `host:port` gives no answer; None if it does.

  An open port is not enough: a process that is stopped still has it. The
  server speaks HTTP/2, and answers the beginning of a connection.
  """
  host, _, port = address.rpartition(':')
  try:
    with socket.create_connection((host.strip('[]'), int(port)),
                                  timeout=_ANSWER_SECS) as connection:
      connection.sendall(_HTTP2_BEGINNING)
      with connection.makefile('rb') as stream:
        answer = stream.read(3 + len(_SETTINGS))
      if not answer:
        return 'the connection was closed'
      if answer[3:] != _SETTINGS:
        return 'another program than a TensorFlow server answers'
  except socket.timeout:
    return f'no answer within {_ANSWER_SECS} s'
  except OSError as error:
    return error.strerror or str(error)
  return None


def answer_check(addresses, name, settings):
  """A check for a Watchdog that tasks at `addresses`, `host:port`, answer.

  Its message calls them by `name`.
  """
  timeout_secs = settings.connect_timeout_secs
  answered = dict.fromkeys(addresses, time.monotonic())

  def check():
    for address, last in answered.items():
      problem = unreachable(address)
      now = time.monotonic()
      if problem is None:
        answered[address] = now
      elif now - last > timeout_secs:
        return (f'{name} {address} has been out of reach for {timeout_secs} s '
                f'(--connect_timeout_secs): {problem}')
    return None

  return check


def missing_workers(task, steps):
  """Text that names the workers for which the others wait.

  They are silent, or have taken fewer steps than others; `steps` is a list, a
  number for each worker, or None before it is known.
  """
  silent = [
      i for i, address in enumerate(task.workers)
      if i != task.index and unreachable(address)
  ]
  slow = [i for i, n in enumerate(steps or ()) if n < max(steps)]
  return task.names(silent or slow) or 'an unknown task'


class Observer:
  """Reads the progress of all workers and the end of the chief, once a second.

  In a thread of its own, because a call to a server that is stopped does not
  return. A context manager.

  Attributes:
    steps: list of the steps that each worker has taken; None before the first
      answer.
    validated: number of batches that the chief has validated; the chief sets
      it, for the others to read.
    ending: see `ending_announced`; None as long as the chief trains.
  """

  def __init__(self, server):
    self.steps = self.ending = None
    self.validated = 0
    self._server = server
    self._ended = threading.Event()
    with tf.Graph().as_default() as self._graph:
      self._progress = shared_state.progress(server.task, 0)
      self._notice = shared_state.Notice(_ENDING)

  def __enter__(self):
    threading.Thread(target=self._read, name='observer', daemon=True).start()
    return self

  def __exit__(self, *error):
    self._ended.set()

  def _read(self):
    target, proto = self._server.target, self._server.config_proto()
    while not self._ended.is_set():
      # The servers may be out of reach for a while.
      with contextlib.suppress(tf.errors.OpError):
        # One session for many looks: TensorFlow keeps some memory of each.
        with tf.Session(target, self._graph, proto) as session:
          while not self._ended.is_set():
            self.ending = self._notice.read(session)
            self.steps = session.run(self._progress.steps).tolist()
            if self._server.task.is_chief:
              self._progress.validated.load(self.validated, session)
            else:
              self.validated = int(session.run(self._progress.validated))
            self._ended.wait(_OBSERVE_SECS)
      self._ended.wait(_OBSERVE_SECS)


@contextlib.contextmanager
def ending_announced(server, agreement):
  """Tells the other workers the end of the body, if this is the chief.

  The Notice is a dict of `chief_start` and `problem`: a str, or None.
  """
  if not server.task.is_chief:
    yield
    return
  problem = None
  try:
    yield
  except BaseException as error:
    problem = str(error) or type(error).__name__
    raise
  finally:
    ending = {'chief_start': agreement.chief_start, 'problem': problem}
    with contextlib.suppress(UserError):
      with server.side_session() as session:
        shared_state.Notice(_ENDING).write(session, ending)


def problem_of_chief(task, agreement, ending):
  """The message of a worker when the chief has ended with an error; or None."""
  if not _has_ended(agreement, ending) or ending['problem'] is None:
    return None
  chief, problem = task.workers[0], ending['problem']
  return f'the chief ({chief}) has ended with an error: {problem}'


def _has_ended(agreement, ending):
  """True if `ending` is of the agreement's chief, or of a later one."""
  return bool(ending) and ending['chief_start'] >= agreement.chief_start


def chief_check(task, settings):
  """The `answer_check` of the chief."""
  return answer_check(task.workers[:1], 'the chief', settings)


def has_saved(task, agreement, observer, check):
  """True if the chief has taken its last step and saved it.

  Raises UserError if the chief has ended with an error, or gives no answer;
  `check` is its `chief_check`.
  """
  ending = observer.ending
  ended = _has_ended(agreement, ending)
  problem = problem_of_chief(task, agreement, ending)
  if problem is None and not ended:
    problem = check()
    if problem is not None:
      problem += '. The last steps may not be saved'
  if problem is not None:
    raise UserError(problem)
  return ended


def wait_until_saved(task, agreement, observer):
  """Waits, after the last step, until the chief has saved it.

  Raises UserError as `has_saved` does, or if it takes too long.
  """
  settings = agreement.settings
  check = chief_check(task, settings)
  started, validated = time.monotonic(), observer.validated
  while time.monotonic() - started < settings.stall_secs:
    if has_saved(task, agreement, observer, check):
      return
    if observer.validated != validated:  # Before it saves.
      started, validated = time.monotonic(), observer.validated
    time.sleep(_SAVED_POLL_SECS)
  raise UserError(
      f'the chief ({task.workers[0]}) has not saved the last step within '
      f'{settings.stall_secs} s (--stall_secs)')
