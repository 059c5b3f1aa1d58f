"""The server --master, which runs the graph of a trainer.

The trainer is its client: it builds the graph and starts each step. Networks
may train on a server one after another, each in a resource container of its
own, as variables and queues of one name would be the same. They may not train
at the same time: emptying a container ends all sessions on the server.
"""

import contextlib
import hashlib
import os

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import console
from cifar10.util import reachability
from cifar10.util import session_settings
from cifar10.util import time_limits

_ANSWER_SECS = 30
_SCHEME = 'grpc://'


@contextlib.contextmanager
def placed(settings):
  """Places operations on the server --master, in the container of the run.

  The container is emptied before each run, as a run that was killed may leave a
  queue behind that is full or closed, and after a run that ends well. Raises
  UserError if the server does not answer. Does nothing without --master.
  """
  target = settings.master
  if not target:
    yield
    return
  if not target.startswith(_SCHEME):
    raise UserError(f'--master={target}: expected grpc://host:port')
  session_settings.bypass_proxies(target[len(_SCHEME):])
  # Not the path of the directory, whose characters a container may not have.
  directory = os.path.abspath(settings.train_dir).encode('utf-8')
  name = hashlib.sha1(directory).hexdigest()

  def empty(target, config):
    tf.Session.reset(target, [name], config)

  task = _answer(target, _task_of)
  _answer(target, empty)
  with tf.device(task), tf.container(name):
    yield
  _answer(target, empty)


class LimitedCreator(tf.train.SessionCreator):
  """Makes sessions by another creator; UserError if it takes too long.

  TensorFlow would wait forever for a server that is gone or stopped.
  """

  def __init__(self, creator, settings):
    self._creator, self._settings = creator, settings

  def create_session(self):
    graph, limit = tf.get_default_graph(), self._settings.stall_secs

    def create():
      with graph.as_default():
        return self._creator.create_session()

    session = time_limits.within(limit, create, None)
    if session is None:
      raise UserError(f'--master={self._settings.master}: no session within '
                      f'{limit} s (--stall_secs)')
    return session


def _task_of(target, config):
  """The device name of a server: TensorFlow 1 would place on any task."""
  with tf.Graph().as_default(), tf.Session(target, config=config) as session:
    # Its own devices come first.
    return session.list_devices()[0].name.partition('/device:')[0]


def _answer(target, ask):
  """Returns `ask(target, config)`; UserError if there is no answer."""
  late = object()
  # TensorFlow 2 lets no other thread run while it waits; TensorFlow 1 does not
  # heed the limit while another task of the cluster is missing.
  config = tf.ConfigProto(operation_timeout_in_ms=1000 * _ANSWER_SECS)
  with console.naming(f'--master={target}'):
    try:
      answer = time_limits.within(_ANSWER_SECS + 1, lambda: ask(target, config),
                                  late)
    except tf.errors.DeadlineExceededError:
      answer = late
  if answer is late:
    problem = reachability.unreachable(target[len(_SCHEME):])
    if problem != reachability.OTHER_PROGRAM:
      problem = f'no answer within {_ANSWER_SECS} s'
    raise UserError(f'--master={target}: {problem}')
  return answer
