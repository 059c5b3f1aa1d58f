"""Checkpoints that are saved during a run."""

import os

import tensorflow.compat.v1 as tf

from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import saving
from tests import graphs


def test_a_later_step_than_the_newest_checkpoint_is_saved_at_the_end(tmp_path):
  # As when the chief of a cluster is killed before it saves, and joins again:
  # the parameter servers still hold the step.
  global_step = tf.train.get_or_create_global_step()
  load = tf.placeholder(tf.int64, [])
  at = tf.assign(global_step, load)
  saver = tf.train.Saver()
  with tf.Session() as session:
    session.run(at, {load: 3})
    saver.save(session, str(tmp_path / 'model.ckpt'), global_step=3)
    hook = saving.CheckpointHook(global_step, saver,
                                 Settings(train_dir=str(tmp_path)))
    # Also when a session is lost and made anew: what was not saved is not.
    for step in (5, 7, 9):
      session.run(at, {load: step})
      hook.after_create_session(session, None)
      hook.end(session)
      assert checkpoints.step(checkpoints.latest(str(tmp_path))) == step


class LateSaver(tf.train.Saver):
  """A saver that takes so long that another worker takes a step meanwhile."""

  def save(self, session, *args, **kwargs):
    session.run(tf.get_collection('bump'))
    return super().save(session, *args, **kwargs)


def test_a_checkpoint_is_called_by_the_step_that_it_holds(tmp_path):
  global_step = tf.train.get_or_create_global_step()
  tf.add_to_collection('bump', tf.assign_add(global_step, 1))
  with graphs.session() as session:
    hook = saving.CheckpointHook(global_step, LateSaver(),
                                 Settings(train_dir=str(tmp_path)))
    hook.after_create_session(session, None)
    hook.end(session)  # Nothing more is to be saved.
  (step,) = checkpoints.by_step(str(tmp_path))
  assert step == 1 == checkpoints.step(checkpoints.latest(str(tmp_path)))
  assert not [name for name in os.listdir(str(tmp_path)) if '.tmp' in name]
