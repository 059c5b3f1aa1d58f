"""How the chief's part of a run ends, and how the other workers learn of it.

The last step is lost if the chief fails to save it. So a worker that has taken
it waits for the chief, and ends with an error if the chief does.
"""

import contextlib
import time

from cifar10.cluster import liveness
from cifar10.cluster import membership
from cifar10.cluster import shared_state
from cifar10.errors import UserError

_POLL_SECS = 0.5


@contextlib.contextmanager
def announced(server, task, settings, agreement):
  """Tells the workers how the chief's part of a run has ended.

  Does nothing in the other workers.

  Args:
    server: tf.train.Server.
    task: cluster_spec.Task.
    agreement: membership.Agreement.
  """
  if not task.is_chief:
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
      with membership.side_session(server, task, settings) as session:
        shared_state.Notice('ending').write(session, ending)


def problem_of_chief(task, agreement, ending):
  """What a worker says when the chief has ended with an error; None if not.

  Args:
    task: cluster_spec.Task.
    agreement: membership.Agreement.
    ending: what `announced` has written; None if nothing yet.
  """
  if ending is None or ending['chief_start'] < agreement.chief_start:
    return None
  if ending['problem'] is None:
    return None
  return 'the chief (%s) has ended with an error: %s' % (
    task.workers[0],
    ending['problem'],
  )


def wait_until_saved(task, settings, agreement, observer):
  """Waits, after the last step, until the chief has saved it.

  Args:
    task: cluster_spec.Task.
    agreement: membership.Agreement.
    observer: liveness.Observer.

  Raises:
    UserError: the chief has ended with an error, or gives no answer.
  """
  check = liveness.AnswerCheck(task.workers[:1], 'the chief', settings)
  started = time.monotonic()
  while time.monotonic() - started < settings.stall_secs:
    ending = observer.ending
    if ending and ending['chief_start'] >= agreement.chief_start:
      if ending['problem'] is not None:
        raise UserError(problem_of_chief(task, agreement, ending))
      return
    problem = check()
    if problem is not None:
      raise UserError(problem + '. The last steps may not be saved')
    time.sleep(_POLL_SECS)
  raise UserError(
    'the chief (%s) has not saved the last step within %d s (--stall_secs)'
    % (task.workers[0], settings.stall_secs)
  )
