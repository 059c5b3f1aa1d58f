"""A chief joins what parameter servers hold; the time limit of a step."""

import types

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import membership
from cifar10.cluster import servers
from cifar10.cluster import shared_state
from cifar10.cluster import worker_role
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import clusters


class Chief:
  """A chief and its parameter server, in this process."""

  def __init__(self, tmp_path):
    config = Settings(train_dir=str(tmp_path), overwrite=True)
    self._ps, self.server = [
        servers.Server(task, config) for task in clusters.new_tasks(1)
    ]

  def start(self, init):
    """Creates the session of a start; returns the value of its variable."""
    with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
      variable = tf.get_variable('x', initializer=1.0)
      progress = shared_state.progress(self.server.task, 5)
      role = worker_role.WorkerRole(self.server, None, progress)
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
    membership._check_run(chief.server)

  check()
  with pytest.raises(KeyboardInterrupt):
    chief.start(die)
  check()  # It has not begun.
  assert chief.start(load) == 2.0
  with pytest.raises(UserError, match='^--overwrite: the parameter servers'):
    check()
  assert chief.start(die) == 2.0  # The next one joins, and initializes nothing.


def role_of(ps, index, **settings):
  """The WorkerRole of one of three workers, and the Progress; last step 9."""
  address, target = ps
  task = cluster_spec.Task('worker', index, (address,), ('a:1', 'b:1', 'c:1'))
  # What a WorkerRole needs of a Server that runs already.
  server = types.SimpleNamespace(task=task, settings=Settings(**settings),
                                 target=target, config_proto=tf.ConfigProto)
  progress = shared_state.progress(task, 9)
  return worker_role.WorkerRole(server, None, progress), progress


class Signals(tf.train.SessionRunHook):
  """Ends a role as the guard does, once signals have come.

  Or as a parameter server does, if it has got them: by `is_to_end`.
  """

  have_come = False

  def __init__(self, role, is_to_end=None):
    self._role, self._is_to_end = role, is_to_end

  def after_run(self, run_context, run_values):
    if not self.have_come:
      return
    if self._is_to_end is None:
      self._role.end_early(run_context)
    else:
      self._is_to_end.load(1, run_context.session)


ON_ITS_OWN = {'sync': False}
IN_STEP = {'sync': True}
BACKED_UP = {'sync': True, 'backup_workers': 1}


# On their own, the chief ends all the others with itself; another ends alone.
@pytest.mark.parametrize('index, settings, taken, last_step, is_last',
                         [(0, ON_ITS_OWN, 3, 3, True),
                          (1, ON_ITS_OWN, 3, 9, False),
                          (0, IN_STEP, 4, 4, True), (1, IN_STEP, 4, 4, True),
                          (0, BACKED_UP, 5, 5, True),
                          (1, BACKED_UP, 3, 9, False)])
def test_after_a_signal_the_right_workers_end_at_the_right_step(
    ps, index, settings, taken, last_step, is_last):
  check_end(ps, index, settings, 1, 2, (taken, last_step, is_last))


# One step later: a worker sees it with its next step.
@pytest.mark.parametrize('index, settings, taken', [(0, ON_ITS_OWN, 4),
                                                    (1, ON_ITS_OWN, 9),
                                                    (1, IN_STEP, 5),
                                                    (0, BACKED_UP, 6),
                                                    (1, BACKED_UP, 9)])
def test_workers_that_end_all_do_so_when_a_parameter_server_asks(
    ps, index, settings, taken):
  check_end(ps, index, settings, 1, 2, (taken, taken, True), is_asked=True)


@pytest.mark.parametrize('settings', [ON_ITS_OWN, IN_STEP, BACKED_UP])
def test_a_worker_ends_at_the_last_step_also_after_a_late_signal(ps, settings):
  # Other workers take steps too.
  check_end(ps, 0, settings, 3, 6, (9, 9, True))


def check_end(ps, index, settings, stride, signal_after, expected,
              is_asked=False):
  """Lets a worker's steps count `stride` each, and signals come after some.

  `expected` are the step taken last, the last step of all, and if it is theirs.
  """
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    step = tf.train.get_or_create_global_step()
    role, progress = role_of(ps, index, **settings)
    train_op = tf.assign_add(step, stride, use_locking=True)
    signals = Signals(role, progress.is_to_end if is_asked else None)
    hooks = [signals, role.last_step_hook(train_op, 9)]
    scaffold = tf.train.Scaffold(local_init_op=progress.initializer)
    creator = tf.train.ChiefSessionCreator(scaffold, ps[1])
    with tf.train.MonitoredSession(creator, hooks) as session:
      found = 0
      while not session.should_stop():
        assert not role.has_taken_last_step
        signals.have_come = found >= signal_after
        found = session.run(train_op)
    with tf.Session(ps[1]) as session:
      last_step, at = session.run([progress.last_step, step])
  assert found == at
  assert (found, last_step, role.has_taken_last_step) == expected


def test_a_worker_begins_only_once_the_chief_has_initialized_all(ps):
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    weight = tf.get_variable('w', initializer=1.0)
    load = weight.assign(5.0)
    role, progress = role_of(ps, 1, connect_timeout_secs=0)
    begin = progress.initializer
    creator = role.creator(tf.train.Saver(), None)
    with tf.Session(ps[1]) as session:
      session.run(weight.initializer)
      with pytest.raises(UserError,
                         match=r'^the chief \(a:1\) has initialized n'):
        creator.create_session()
      session.run([begin, load])
    with creator.create_session() as session:
      assert session.run(weight) == 5.0


def test_a_chief_does_not_go_on_where_a_server_has_lost_the_variables(
    ps, tmp_path):
  loaded = []
  with tf.Graph().as_default(), tf.device('/job:ps/task:0'):
    weight = tf.get_variable('w', initializer=1.0)
    role, _ = role_of(ps, 0, train_dir=str(tmp_path))
    load = weight.assign(5.0)
    creator = role.creator(tf.train.Saver(), loaded.append)
    with creator.create_session() as session:
      session.run(load)
    with creator.create_session() as session:  # The session was lost.
      assert session.run(weight) == 5.0
    assert len(loaded) == 1
    tf.Session.reset(ps[1])
    with pytest.raises(UserError, match=f'^parameter server {ps[0]} was rest'):
      creator.create_session()
