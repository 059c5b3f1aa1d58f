"""A chief joins what parameter servers hold; the time limit of a step."""

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import membership
from cifar10.cluster import servers
from cifar10.cluster import session as session_lib
from cifar10.cluster import shared_state
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import clusters


class Chief:
  """A chief and its parameter server, in this process."""

  def __init__(self, tmp_path):
    ps, worker = clusters.free_addresses(2)
    self.task = cluster_spec.Task('worker', 0, (ps,), (worker,))
    self.config = Settings(train_dir=str(tmp_path), overwrite=True)
    self._ps = servers.Server(self.task._replace(job='ps'), self.config)
    self.server = servers.Server(self.task, self.config)

  def start(self, init):
    """Creates the session of a start; returns the value of its variable."""
    with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
      variable = tf.get_variable('x', initializer=1.0)
      progress = shared_state.progress(self.task, 5)
      role = session_lib.WorkerRole(self.server, progress, None)
      new_value = tf.assign(variable, 2.0)
      creator = role.creator(tf.train.Saver(),
                             lambda session: init(session, new_value))
      with creator.create_session() as session:
        return session.run(variable)


def load(session, new_value):
  session.run(new_value)


def die(session, new_value):
  raise KeyboardInterrupt


def test_what_a_chief_left_that_died_early_is_initialized_again(tmp_path):
  chief = Chief(tmp_path)

  def check():
    membership._check_overwrite(chief.server)

  check()
  with pytest.raises(KeyboardInterrupt):
    chief.start(die)
  check()  # It has not begun.
  assert chief.start(load) == 2.0
  with pytest.raises(UserError, match='^--overwrite: the parameter servers'):
    check()
  assert chief.start(die) == 2.0  # The next one joins, and initializes nothing.


def test_a_step_has_a_time_limit_and_saving_has_none():
  never = tf.FIFOQueue(1, [tf.int32]).dequeue()
  with tf.train.MonitoredSession(
      hooks=[session_lib.TimeLimitHook(200)]) as session:
    with pytest.raises(tf.errors.DeadlineExceededError):
      session.run(never)
