"""A worker that lends its device to the model of the chief.

With --model_parallelism and one GPU a worker, the chief takes all steps; the
servers of the other workers compute the parts of its model that are there.
"""

import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import liveness
from cifar10.cluster import shared_state
from cifar10.run import signals as signals_lib

_POLL_SECS = 0.5


def lend(server, agreement):
  """Waits until the chief has ended; a signal to this worker ends it, too.

  Takes a servers.Server and a membership.Agreement. Raises UserError if the
  chief ends with an error, or gives no answer.
  """
  task, signals = server.task, signals_lib.noted_until_exit()
  print(f'Computing a part of the model of the chief, {task.workers[0]}.')
  check = liveness.chief_check(task, agreement.settings)
  with liveness.Observer(server) as observer:
    while not liveness.has_saved(task, agreement, observer, check):
      if signals:
        _end_chief(server)
      time.sleep(_POLL_SECS)
  signals_lib.print_first(signals)


def _end_chief(server):
  """Lets the chief end, and save, after the step that it takes now."""
  with server.side_session() as session:
    last_step = shared_state.progress(server.task, 0).last_step
    session.run(tf.assign(last_step, 0))
