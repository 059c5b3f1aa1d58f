"""Checkpoints that are saved during a run."""

import contextlib
import os

import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import SaveError
from cifar10.run import train_dir
from cifar10.settings import Settings
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from cifar10.store import saving


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
      hook = saving.CheckpointHook(global_step, saver,
                                   Settings(train_dir=str(tmp_path)))
      for step in (5, 7):
        session.run(at, {load: step})
        hook.after_create_session(session, None)
        hook.end(session)
        assert checkpoints.step(checkpoints.latest(str(tmp_path))) == step
      # The session is lost and made anew: what was not saved still is not.
      session.run(at, {load: 9})
      hook.after_create_session(session, None)
      assert hook.save_now().startswith('Step 9 is saved in ')


class LateSaver(tf.train.Saver):
  """A saver that takes so long that another worker takes a step meanwhile."""

  def save(self, session, *args, **kwargs):
    session.run(tf.get_collection('bump'))
    return super().save(session, *args, **kwargs)


def test_a_checkpoint_is_called_by_the_step_that_it_holds(tmp_path):
  with tf.Graph().as_default():
    global_step = tf.train.get_or_create_global_step()
    tf.add_to_collection('bump', tf.assign_add(global_step, 1))
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      hook = saving.CheckpointHook(global_step, LateSaver(),
                                   Settings(train_dir=str(tmp_path)))
      hook.after_create_session(session, None)
      hook.end(session)  # Nothing more is to be saved.
  (step,) = checkpoints.by_step(str(tmp_path))
  assert step == 1 == checkpoints.step(checkpoints.latest(str(tmp_path)))
  assert not [name for name in os.listdir(str(tmp_path)) if '.tmp' in name]


def test_a_folder_like_a_pattern_is_not_that_of_others(tmp_path):
  folders = [tmp_path / 'exp[1]', tmp_path / 'exp1']
  for folder in folders:
    folder.mkdir()
    for step in (1, 2):
      (folder / ('model.ckpt-%d.index' % step)).write_bytes(b'')
  checkpoint_files.remove(str(folders[0] / 'model.ckpt-1'))
  assert [sorted(checkpoints.by_step(str(f))) for f in folders] == [[2], [1, 2]]
  checkpoint_files.remove_all(str(folders[0]))
  assert [sorted(checkpoints.by_step(str(f))) for f in folders] == [[], [1, 2]]


@contextlib.contextmanager
def saved_once(folder):
  """A run that has saved its step 0 and is at step 1; yields `save_now`."""
  with train_dir.held(str(folder)), tf.Graph().as_default():
    step = tf.train.get_or_create_global_step()
    with tf.Session() as session:
      session.run(step.initializer)
      hook = saving.CheckpointHook(step, tf.train.Saver(),
                                   Settings(train_dir=str(folder)))
      hook.after_create_session(session, None)
      session.run(tf.assign_add(step, 1))
      yield hook.save_now


@pytest.mark.parametrize('has_ended', [False, True])
def test_nothing_is_saved_into_the_run_that_has_taken_its_place(
    tmp_path, has_ended):
  folder = tmp_path / 'train'
  with saved_once(folder) as save:
    folder.rename(tmp_path / 'moved')
    with contextlib.ExitStack() as other:
      other.enter_context(train_dir.held(str(folder)))
      if has_ended:
        other.close()
      before = os.listdir(str(folder))
      with pytest.raises(SaveError, match='/train: is no longer the folder in'):
        save()
      assert os.listdir(str(folder)) == before
  assert list(checkpoints.by_step(str(tmp_path / 'moved'))) == [0]


def test_nothing_is_saved_beside_a_trainer_with_a_lock_of_its_own(tmp_path):
  with saved_once(tmp_path / 'train') as save:
    (tmp_path / 'train' / '.lock').unlink()
    with train_dir.held(str(tmp_path / 'train')):
      with pytest.raises(SaveError, match='or another trainer uses it now'):
        save()


def test_a_run_whose_lock_was_deleted_or_that_was_linked_is_saved(tmp_path):
  folder = tmp_path / 'train'
  with saved_once(folder) as save:
    folder.rename(tmp_path / 'disk')
    folder.symlink_to(tmp_path / 'disk')
    (folder / '.lock').unlink()
    assert save() == 'Step 1 is saved in %s/model.ckpt-1' % folder
