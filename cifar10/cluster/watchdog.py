"""Keeps an eye on a cluster while a step of training may hang in it.

TensorFlow's runtime waits without end for a task that is gone. A thread beside
the training notices, says which one it is, and ends the process.
"""

import os
import sys
import threading
import time

import tensorflow.compat.v1 as tf

from cifar10.cluster import shared_state
from cifar10.cluster import cluster_spec

_POLL_SECS = 1

# How long a step may wait for others once a signal has come to end the run.
_SIGNALLED_SECS = 5


class Watch:
  """Ends this process when other tasks are out of reach for too long.

  Attributes:
    save: function that saves the step in hand and says where; None where this
      task does not save.
  """

  def __init__(self, server, task, config):
    self.save = None
    self._server = server
    self._task = task
    self._config = config
    self._ended = threading.Event()
    self._start(self._watch_servers)

  def training_begins(self, signals):
    """From now on steps are expected; with --sync, of all workers together.

    Args:
      signals: list that a signal handler appends to.
    """
    if self._config.sync:
      self._start(self._watch_steps, signals)

  def end(self):
    """Ends the watch, before the other tasks may leave."""
    self._ended.set()

  def _start(self, work, *args):
    threading.Thread(target=work, args=args, name='watch', daemon=True).start()

  def _watch_servers(self):
    reached = dict.fromkeys(self._task.ps, time.monotonic())
    while not self._ended.wait(_POLL_SECS):
      for address, last in reached.items():
        problem = cluster_spec.unreachable(address)
        now = time.monotonic()
        if problem is None:
          reached[address] = now
        elif now - last > self._config.connect_timeout_secs:
          self._fail(
            'parameter server %s has been out of reach for %d s '
            '(--connect_timeout_secs): %s'
            % (address, self._config.connect_timeout_secs, problem)
          )

  def _watch_steps(self, signals):
    """Fails when no worker has taken a step for too long.

    A thread of its own: what it calls may hang when a server is gone.
    """
    steps, changed = None, time.monotonic()
    with tf.Graph().as_default():
      progress = shared_state.progress(self._task, 0)
      while not self._ended.wait(_POLL_SECS):
        found = self._read(progress.steps)
        if found is None or found != steps:
          steps, changed = found, time.monotonic()
          continue
        limit = self._config.stall_secs
        if signals:
          limit = min(limit, _SIGNALLED_SECS)
        if time.monotonic() - changed > limit:
          self._stalled(steps, limit)

  def _read(self, variable):
    """The value of a variable as a list; None where it cannot be read now."""
    proto = cluster_spec.session_config(self._task, self._config)
    try:
      with tf.Session(self._server.target, config=proto) as session:
        return session.run(variable).tolist()
    except tf.errors.OpError:
      return None

  def _stalled(self, steps, seconds):
    """Names the workers that the others wait for."""
    missing = [
      i
      for i, address in enumerate(self._task.workers)
      if i != self._task.index and cluster_spec.unreachable(address)
    ] or [i for i, count in enumerate(steps) if count < max(steps)]
    names = ', '.join(
      'worker %d (%s)' % (i, self._task.workers[i]) for i in missing
    )
    message = 'no step for %d s%s, waiting for %s' % (
      seconds,
      ' (--stall_secs)' * (seconds == self._config.stall_secs),
      names or 'an unknown task',
    )
    if self.save is not None:
      message += '. ' + self.save()
    self._fail(message)

  def _fail(self, message):
    # The main thread hangs in a call that nothing else ends.
    program = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    sys.stdout.flush()
    sys.stderr.write('%s: error: %s\n' % (program, message))
    sys.stderr.flush()
    os._exit(1)
