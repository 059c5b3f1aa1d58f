"""The last save: from any thread, and into the folder of the run only."""

import contextlib
import os
import threading

import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import SaveError
from cifar10.guard import last_save
from cifar10.run import train_dir
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import saving


@contextlib.contextmanager
def saved_once(folder):
  """A run that has saved its step 0 and is at step 1; yields the LastSave."""
  with train_dir.locked(str(folder)), tf.Graph().as_default():
    step = tf.train.get_or_create_global_step()
    with tf.Session() as session:
      session.run(step.initializer)
      hook = saving.CheckpointHook(step, tf.train.Saver(),
                                   Settings(train_dir=str(folder)))
      save = last_save.LastSave(hook, str(folder))
      for each in (save, hook):
        each.after_create_session(session, None)
      session.run(tf.assign_add(step, 1))
      yield save


@pytest.mark.parametrize('has_ended', [False, True])
def test_nothing_is_saved_into_the_run_that_has_taken_its_place(
    tmp_path, has_ended):
  folder = tmp_path / 'train'
  with saved_once(folder) as save:
    folder.rename(tmp_path / 'moved')
    with contextlib.ExitStack() as other:
      other.enter_context(train_dir.locked(str(folder)))
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
    with train_dir.locked(str(tmp_path / 'train')):
      with pytest.raises(SaveError, match='or another trainer uses it now'):
        save()


def test_a_run_whose_lock_was_deleted_or_that_was_linked_is_saved(tmp_path):
  folder = tmp_path / 'train'
  with saved_once(folder) as save:
    folder.rename(tmp_path / 'disk')
    folder.symlink_to(tmp_path / 'disk')
    (folder / '.lock').unlink()
    assert save() == 'Step 1 is saved in %s/model.ckpt-1' % folder


def test_a_save_that_fails_or_hangs_is_told():

  def fail():
    raise OSError('disk full')

  def told(save):
    return last_save.with_last_save('x', save, limit_secs=0.1)

  assert told(fail) == 'x. The last steps are not saved: disk full'
  assert told(threading.Event().wait) == (
      'x. The last steps are not saved: saving takes longer than 0 s')
  assert last_save.with_last_save(None, fail) is None
  assert told(None) == 'x'
