"""The other tasks of a cluster: alive, slow or silent."""

import contextlib

import tensorflow.compat.v1 as tf

from cifar10.guard.diagnosis import LOOK_SECS
from cifar10.util import reachability
from cifar10.util import time_limits


class Peers(tf.train.SessionRunHook):
  """The progress of the other tasks, read from the parameter servers.

  These hold the steps of each worker and, for workers that wait for all others,
  the batches that the chief has validated.
  """

  def __init__(self, role):
    """Takes the cluster.worker_role.WorkerRole of this task."""
    self._role, self._task = role, role.server.task
    self._session = self._steps = None
    self._validated = 0
    with tf.device('/job:ps/task:0/cpu:0'), tf.name_scope(None):
      self._shared = tf.Variable(tf.constant(0, tf.int64), trainable=False,
                                 collections=[], name='guard/validated')

  def after_create_session(self, session, coord):
    self._session = session

  def checks(self):
    """Functions for a Watchdog."""
    task, settings = self._task, self._role.settings
    needed = [(task.ps, 'parameter server')]
    if not task.is_chief:
      needed.append((task.workers[:1], 'the chief'))
    lenders = [task.workers[i] for i in task.lenders(settings)]
    needed += [([address], 'worker') for address in lenders]
    check = reachability.answer_check
    return [self._exchange, *(check(*tasks, settings) for tasks in needed)]

  def _exchange(self):
    """Exchanges progress; returns the message of a chief that has failed."""
    session = self._session
    if session is None:
      return None
    # The servers may be out of reach for a while.
    with contextlib.suppress(tf.errors.OpError, RuntimeError):
      problem = self._role.problem_of_chief(session)
      if problem is not None:
        return problem
      self._steps = session.run(self._role.steps).tolist()
      if self._task.is_chief:
        self._shared.load(self._validated, session)
      else:
        self._validated = int(session.run(self._shared))
    return None

  def progress(self, count, validated):
    """A value that changes while all is well; takes counts of this process."""
    if self._task.is_chief:
      self._validated = validated
    # In step with all others, this worker may well wait for them.
    if self._role.waits_for_all:
      return self._steps, self._validated
    return count, validated

  def chief_may_save(self):
    """True if this worker is in step with a chief that answers."""
    return (self._role.waits_for_all and not self._task.is_chief and
            not reachability.unreachable(self._task.workers[0]))

  def waits_for(self):
    """Names tasks that a step waits for; None if it waits for no other task."""
    # Each host that is cut off takes some seconds.
    return time_limits.within(LOOK_SECS, self._missing,
                              'other tasks of the cluster')

  def _missing(self):
    for address in self._task.ps:
      if reachability.unreachable(address):
        return f'parameter server {address}'
    if not self._role.settings.sync:
      return None
    silent = [
        i for i, address in enumerate(self._task.workers)
        if i != self._task.index and reachability.unreachable(address)
    ]
    steps = self._steps or ()
    slow = [i for i, n in enumerate(steps) if n < max(steps)]
    return self._task.describe(silent or slow) or 'an unknown task'
