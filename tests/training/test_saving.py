"""Checkpoints that are saved while a run goes on."""

import tensorflow.compat.v1 as tf

from cifar10.config import Config
from cifar10.training import checkpoints
from cifar10.training import saving


def test_a_later_step_than_the_newest_checkpoint_is_saved_at_the_end(tmp_path):
  # As when the chief of a cluster is killed before it saves, and joins again:
  # the parameter servers still hold the step.
  with tf.Graph().as_default():
    global_step = tf.train.get_or_create_global_step()
    load = tf.placeholder(tf.int64, [])
    at = tf.assign(global_step, load)
    saver = tf.train.Saver()
    with tf.Session() as session:
      session.run(at, {load: 3})
      saver.save(session, str(tmp_path / 'model.ckpt'), global_step=3)
      hook = saving.CheckpointHook(
        global_step, saver, Config.of(train_dir=str(tmp_path)).run
      )
      hook.begin()
      for step in (5, 7):
        session.run(at, {load: step})
        hook.after_create_session(session, None)
        hook.end(session)
        assert checkpoints.step(checkpoints.latest(str(tmp_path))) == step
      # The session is lost and made anew: what was not saved still is not.
      session.run(at, {load: 9})
      hook.after_create_session(session, None)
      assert hook.save_now().startswith('Step 9 is saved in ')
