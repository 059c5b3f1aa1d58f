"""Whether the other tasks of a cluster are alive, and what they are doing."""

import contextlib
import threading
import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import shared_state

_POLL_SECS = 1


class AnswerCheck:
  """A check for a watchdog: tasks that give no answer for too long."""

  def __init__(self, addresses, name, settings):
    """Makes the check.

    Args:
      addresses: list of `host:port`.
      name: what these tasks are called, for the message.
      settings: settings.Cluster.
    """
    self._name = name
    self._timeout_secs = settings.connect_timeout_secs
    self._answered = dict.fromkeys(addresses, time.monotonic())

  def __call__(self):
    for address, last in self._answered.items():
      problem = cluster_spec.unreachable(address)
      now = time.monotonic()
      if problem is None:
        self._answered[address] = now
      elif now - last > self._timeout_secs:
        return '%s %s has been out of reach for %d s (%s): %s' % (
          self._name,
          address,
          self._timeout_secs,
          '--connect_timeout_secs',
          problem,
        )
    return None


class Observer:
  """Reads from the parameter servers, again and again, what others are doing.

  In a thread of its own, because a call to a server that is stopped does not
  return; what was read last is there at once. A context manager.

  Attributes:
    steps: list of the steps that each worker has taken; None before the first
      answer.
    ending: what the chief has told of its end, see `ending.announced`;
      None as long as it trains.
  """

  def __init__(self, server, task, settings):
    """Takes the tf.train.Server, cluster_spec.Task and settings.Settings."""
    self.steps = self.ending = None
    self._target = server.target
    self._proto = cluster_spec.config_proto(task, settings)
    self._ended = threading.Event()
    with tf.Graph().as_default() as self._graph:
      self._progress = shared_state.progress(task, 0)
      self._notice = shared_state.Notice('ending')

  def __enter__(self):
    threading.Thread(target=self._read, name='observer', daemon=True).start()
    return self

  def __exit__(self, *error):
    self._ended.set()

  def _read(self):
    while not self._ended.is_set():
      # They may be out of reach for a while.
      with contextlib.suppress(tf.errors.OpError):
        self._read_in_session()
      self._ended.wait(_POLL_SECS)

  def _read_in_session(self):
    """Reads until the end; TensorFlow keeps some memory of each session."""
    with tf.Session(
      self._target, graph=self._graph, config=self._proto
    ) as session:
      while not self._ended.is_set():
        self.ending = self._notice.read(session)
        self.steps = session.run(self._progress.steps).tolist()
        self._ended.wait(_POLL_SECS)


def missing_workers(task, steps):
  """The workers that the others wait for, as text.

  Args:
    task: cluster_spec.Task.
    steps: the steps that each worker has taken; None if that is not known.
  """
  silent = [
    i
    for i, address in enumerate(task.workers)
    if i != task.index and cluster_spec.unreachable(address)
  ]
  slow = [i for i, n in enumerate(steps or ()) if n < max(steps)]
  names = ['worker %d (%s)' % (i, task.workers[i]) for i in silent or slow]
  return ', '.join(names) or 'an unknown task'
