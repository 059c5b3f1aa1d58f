"""Checks of whether the other tasks of a cluster are alive, for a watchdog."""

import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import shared_state

# How long a step may wait for others once a signal has come to end the run.
_SIGNALED_SECS = 5


class ServersCheck:
  """Finds parameter servers that are out of reach for too long."""

  def __init__(self, task, settings):
    """Takes a cluster_spec.Task and the config.Cluster."""
    self._timeout_secs = settings.connect_timeout_secs
    self._reached = dict.fromkeys(task.ps, time.monotonic())

  def __call__(self):
    for address, last in self._reached.items():
      problem = cluster_spec.unreachable(address)
      now = time.monotonic()
      if problem is None:
        self._reached[address] = now
      elif now - last > self._timeout_secs:
        return (
          'parameter server %s has been out of reach for %d s '
          '(--connect_timeout_secs): %s'
          % (address, self._timeout_secs, problem)
        )
    return None


class StepsCheck:
  """Notices when no worker has taken a step for too long; saves if it can."""

  def __init__(self, server, task, config, signals, save):
    """Makes the check.

    Args:
      server: tf.train.Server.
      task: cluster_spec.Task.
      config: config.Config.
      signals: list to which signal numbers are appended.
      save: function that saves the last whole step and returns a sentence that
        says where; None if this task does not save.
    """
    self._server = server
    self._task = task
    self._proto = cluster_spec.config_proto(task, config)
    self._stall_secs = config.run.stall_secs
    self._signals = signals
    self._save = save
    self._steps, self._changed = None, time.monotonic()
    with tf.Graph().as_default() as self._graph:
      self._progress = shared_state.progress(task, 0)

  def __call__(self):
    found = self._read_steps()
    if found is None or found != self._steps:
      self._steps, self._changed = found, time.monotonic()
      return None
    limit = self._stall_secs
    if self._signals:
      limit = min(limit, _SIGNALED_SECS)
    if time.monotonic() - self._changed <= limit:
      return None
    message = self._stalled(limit)
    return message if self._save is None else message + '. ' + self._save()

  def _read_steps(self):
    """The steps of all workers; None if they cannot be read now."""
    try:
      with tf.Session(
        self._server.target, graph=self._graph, config=self._proto
      ) as session:
        return session.run(self._progress.steps).tolist()
    except tf.errors.OpError:
      return None

  def _stalled(self, seconds):
    """The message that names the workers which the others wait for."""
    missing = [
      i
      for i, address in enumerate(self._task.workers)
      if i != self._task.index and cluster_spec.unreachable(address)
    ] or [i for i, n in enumerate(self._steps) if n < max(self._steps)]
    names = ', '.join(
      'worker %d (%s)' % (i, self._task.workers[i]) for i in missing
    )
    flag = ' (--stall_secs)' if seconds == self._stall_secs else ''
    return 'no step for %d s%s, waiting for %s' % (
      seconds,
      flag,
      names or 'an unknown task',
    )
