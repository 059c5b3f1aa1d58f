"""The end of a cluster: the chief announces it, and the others wait for it.

The last step is lost if the chief fails to save it. So a worker that has taken
it waits for the chief, and ends with an error if the chief does.
"""

import contextlib
import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import shared_state
from cifar10.errors import UserError
from cifar10.util import reachability

_POLL_SECS = 0.5


def notice():
  """The Notice of the chief's end: a dict of `chief_start` and `problem`."""
  return shared_state.Notice('ending')


def write(session, chief_start, problem=None):
  """Writes the notice: this start of the chief ends, with a problem or None."""
  notice().write(session, {'chief_start': chief_start, 'problem': problem})


@contextlib.contextmanager
def announced(server, agreement):
  """Tells the other workers, if this is the chief, that the body has ended."""
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
    with contextlib.suppress(UserError):
      with server.side_session() as session:
        write(session, agreement.chief_start, problem)


def problem_of_chief(task, agreement, ending):
  """The message for a worker whose chief has ended with an error; else None."""
  if not _has_ended(agreement, ending) or ending['problem'] is None:
    return None
  return failure(task.workers[0], ending['problem'])


def failure(chief, problem):
  """The message about the error of a chief, which is given by its address."""
  return f'the chief ({chief}) has ended with an error: {problem}'


def _has_ended(agreement, ending):
  """True if `ending` is of the agreement's chief, or of a later one."""
  return bool(ending) and ending['chief_start'] >= agreement.chief_start


def wait(server, agreement, meanwhile=None):
  """Waits until the chief has taken its last step and saved it.

  Calls `meanwhile` from time to time. Raises UserError if the chief has ended
  with an error, or it or a parameter server does not answer.
  """
  task, settings = server.task, agreement.settings
  checks = (reachability.answer_check(task.workers[:1], 'the chief', settings),
            reachability.answer_check(task.ps, 'parameter server', settings))
  with server.side_session() as session:
    end = notice()
    while True:
      ending = None
      with contextlib.suppress(tf.errors.OpError):  # Out of reach for a while.
        ending = end.read(session)
      problem = problem_of_chief(task, agreement, ending)
      if problem is not None:
        raise UserError(problem)
      if _has_ended(agreement, ending):
        return
      for check in checks:
        problem = check()
        if problem is not None:
          raise UserError(f'{problem}. The last steps may not be saved')
      if meanwhile is not None:
        meanwhile()
      time.sleep(_POLL_SECS)
