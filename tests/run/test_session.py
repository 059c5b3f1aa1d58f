"""The session of a run: its steps, its ends, and what is saved then."""

import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.data import datasets
from cifar10.errors import DivergedError
from cifar10.errors import UserError
from cifar10.run import session as session_lib
from cifar10.run import trainer
from cifar10.run.role import Role
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import run_state
from cifar10.util import summaries
from tests import short_runs


@pytest.fixture(scope='module', name='data')
def _data():
  return datasets.prepare(Settings(dataset='sample'))


class Model:
  """A run whose step adds 1 to a weight, and that takes its loss from a list.

  After as many steps as it has losses, it raises `error` in place of a step.
  """

  def __init__(self, tmp_path, data, losses, role=None, error=None, **settings):
    self.settings = cifar10.with_constants(
        short_runs.small_config(tmp_path, **settings))
    state = run_state.begin(data, self.settings.examples_per_machine)
    self.run = trainer.Run(self.settings, data, state)
    self.losses, self.role, self._error = list(losses), role, error
    self.taken = []  # The weight after each step.

  def train(self):
    """Takes steps until the session should stop."""
    os.makedirs(self.settings.train_dir, exist_ok=True)
    with tf.Graph().as_default():
      step = tf.train.get_or_create_global_step()
      weight = tf.get_variable('w', initializer=0.0)
      loss = tf.py_func(self._next_loss, [], tf.float32)
      loss.set_shape([])
      summaries.scalar('w', weight)
      with tf.control_dependencies([tf.assign_add(weight, 1.0)]):
        train_op = tf.assign_add(step, 1).op
      with session_lib.training_session(self.run, train_op, loss,
                                        role=self.role) as session:
        while not session.should_stop():
          if self._error and not self.losses:
            raise self._error
          session.run(train_op)
          self.taken.append(1)

  def _next_loss(self):
    return np.float32(self.losses.pop(0))

  def saved(self):
    """The weight in each checkpoint, by its step."""
    found = checkpoints.by_step(self.settings.train_dir)
    for step, path in found.items():
      assert checkpoints.step(path) == step
    return {step: checkpoints.read(path)['w'] for step, path in found.items()}


@pytest.mark.parametrize('loss', ['nan', 'inf', '-inf'])
def test_when_training_diverges_the_newest_checkpoint_stays(
    tmp_path, data, loss):
  model = Model(tmp_path, data, [1, 1, 1, float(loss), 1], save_steps=2,
                max_steps=5)
  with pytest.raises(DivergedError, match='loss is %s at step 3 ' % loss):
    model.train()
  assert model.saved() == {0: 0.0, 2: 2.0}
  assert len(model.taken) == 3


def test_one_that_does_not_save_writes_nothing(tmp_path, data, capsys):
  model = Model(tmp_path, data, [1, 1, 1], max_steps=3)
  model.role = Role(model.settings)
  model.role.saves = False
  model.train()
  assert len(model.taken) == 3
  assert os.listdir(model.settings.train_dir) == []
  assert ' is saved in ' not in capsys.readouterr().out


IN_INPUT = 'queue is closed\n\t [[{{node distorted_inputs/shuffle_queue}}]]'


@pytest.mark.parametrize('error', [
    tf.errors.NotFoundError(None, None, 'batch.bin; No such file'),
    tf.errors.InvalidArgumentError(None, None, IN_INPUT),
    # A session takes it for a good end.
    tf.errors.OutOfRangeError(None, None, IN_INPUT)
], ids=lambda error: type(error).__name__)  # yapf: disable
def test_when_the_input_fails_the_last_whole_step_is_saved(
    tmp_path, data, error):
  model = Model(tmp_path, data, [1, 1, 1], error=error, max_steps=9)
  with pytest.raises(UserError) as info:
    model.train()
  path = model.settings.train_dir + '/model.ckpt-3'
  reason = error.message.splitlines()[0]
  assert str(info.value) == '%s. Step 3 is saved in %s' % (reason, path)
  assert model.saved() == {0: 0.0, 3: 3.0}


@pytest.mark.parametrize('error', [KeyError('x'), tf.errors.AbortedError(
    None, None, 'x')], ids=lambda error: type(error).__name__)  # yapf: disable
def test_an_error_of_the_program_itself_is_raised_as_it_is(
    tmp_path, data, error):
  model = Model(tmp_path, data, [1, 1], error=error, max_steps=9)
  with pytest.raises(type(error)) as info:
    model.train()
  assert info.value is error


def test_the_step_after_an_operation_is_that_which_it_has_taken():
  with tf.Graph().as_default(), tf.Session() as session:
    # Not a reference to what the operation changes meanwhile.
    with tf.variable_scope('', use_resource=True):
      step = tf.train.get_or_create_global_step()
    train_op = tf.assign_add(step, 1).op
    after = session_lib.step_after(train_op)
    session.run(step.initializer)
    steps = [session.run([after, train_op])[0] for _ in range(50)]
    assert steps == list(range(1, 51))
