"""The server of a task, of TensorFlow's own runtime, and sessions with it."""

import contextlib
import socket

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import console
from cifar10.util import session_settings
from cifar10.util import time_limits


class Server:
  """The server of a cluster_spec.Task; its `target` is for tf.Session."""

  def __init__(self, task, settings):
    """Starts the server; UserError if the port is taken."""
    _check_port(task.address)
    self.task, self.settings = task, settings
    session_settings.bypass_proxies(*task.ps, *task.workers)
    # A parameter server would take memory of the workers' GPUs.
    proto = session_settings.config_proto(settings, task.job == 'worker')
    spec = {'ps': task.ps, 'worker': task.workers}
    self._server = tf.train.Server(spec, task.job, task.index, config=proto)
    self.target = self._server.target

  def config_proto(self):
    """The tf.ConfigProto of this task's sessions.

    A worker's sessions reach the parameter servers and itself, a parameter
    server's only itself; otherwise they would wait for tasks that are gone.
    """
    proto = session_settings.config_proto(self.settings, on_server=True)
    if self.task.job == 'worker':
      proto.device_filters.append('/job:ps')
    proto.device_filters.append(self.task.device)
    return proto

  @contextlib.contextmanager
  def side_session(self):
    """A session beside the training, in its own graph.

    Raises UserError if the parameter servers do not answer; an OpError of the
    body becomes a UserError that says so.
    """
    timeout_secs = self.settings.connect_timeout_secs
    proto = self.config_proto()
    proto.device_filters.append('/job:ps/task:0')  # It has the shared state.
    proto.operation_timeout_in_ms = 1000 * timeout_secs
    problem = f'{", ".join(self.task.ps)}: no answer'
    late = UserError(f'{problem} within {timeout_secs} s '
                     '(--connect_timeout_secs)')
    with console.naming(problem), tf.Graph().as_default():
      first, session = tf.no_op(), tf.Session(self.target, config=proto)
      # The first operation makes the session on all servers. TensorFlow knows
      # no limit for that, and signals have to wait: so it is in a thread.
      if time_limits.within(timeout_secs, lambda: session.run(first),
                            late) is late:
        raise late  # To close the session would hang, too.
      with session:
        yield session


def _check_port(address):
  """Checks that the port of this task is free.

  TensorFlow's server silently shares a port with another one.
  """
  port = int(address.rpartition(':')[2])
  with socket.socket() as probe:
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
      probe.bind(('', port))
    except OSError as error:
      raise UserError(f'{address}: port {port} of this machine: '
                      f'{error.strerror}') from error
