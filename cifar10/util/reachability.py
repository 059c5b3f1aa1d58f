"""Checks whether TensorFlow's servers answer."""

import socket
import time

from cifar10.errors import UserError

_POLL_SECS = 0.2
_ANSWER_SECS = 2

OTHER_PROGRAM = 'another program than a TensorFlow server answers'

# RFC 9113, section 3.4: both sides begin with a SETTINGS frame, of type 4 and
# stream 0. That of the client is empty; its length is in the first three bytes.
_SETTINGS = b'\4' + bytes(5)
_HTTP2_BEGINNING = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + bytes(3) + _SETTINGS

# The numbers of hosts as long as they answer. To look for a name reads files,
# which guard/stall.py would take for the input's.
_numbers = {}


def unreachable(address):
  """The reason why the server at `host:port` gives no answer; None if it does.

  An open port is not enough: a process that is stopped still has it.
  """
  host, _, port = address.rpartition(':')
  place = _numbers.pop(address, (host.strip('[]'), int(port)))
  try:
    with socket.create_connection(place, _ANSWER_SECS) as connection:
      connection.sendall(_HTTP2_BEGINNING)
      with connection.makefile('rb') as stream:
        answer = stream.read(3 + len(_SETTINGS))
      if not answer:
        return 'the connection was closed'
      if answer[3:] != _SETTINGS:
        return OTHER_PROGRAM
      _numbers[address] = connection.getpeername()[:2]
  except socket.timeout:
    return f'no answer within {_ANSWER_SECS} s'
  except OSError as error:
    return error.strerror or str(error)
  return None


def reach(addresses, job, timeout_secs):
  """Waits at most `timeout_secs` until all tasks at `host:port` answer.

  Raises UserError that names the first one that does not, and why; it calls the
  tasks by `job`, as 'worker'.
  """
  deadline = time.monotonic() + timeout_secs
  for address in addresses:
    problem = unreachable(address)
    while problem is not None:
      if time.monotonic() > deadline:
        raise UserError(
            f'{job} {address} cannot be reached within {timeout_secs} s '
            f'(--connect_timeout_secs): {problem}')
      time.sleep(_POLL_SECS)
      problem = unreachable(address)


def answer_check(addresses, name, settings, clock=time.monotonic):
  """A function that, called repeatedly, tells of a task that is out of reach.

  It returns None, or a message about a task at `host:port`, called `name`.
  """
  timeout_secs = settings.connect_timeout_secs
  answered = dict.fromkeys(addresses, clock())

  def check():
    for address, last in answered.items():
      problem = unreachable(address)
      now = clock()
      if problem is None:
        answered[address] = now
      elif now - last > timeout_secs:
        return (f'{name} {address} has been out of reach for {timeout_secs} s '
                f'(--connect_timeout_secs): {problem}')
    return None

  return check
