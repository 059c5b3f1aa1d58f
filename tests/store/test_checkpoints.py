"""Which checkpoint is meant: a step, a path, or the newest one. Its arrays."""

import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from cifar10.util import paths
from tests import processes


def make(folder, steps):
  """Files with the names of checkpoints; the last one is the newest."""
  for step in steps:
    for suffix in ('.index', '.meta', '.data-00000-of-00001'):
      (folder / ('model.ckpt-%d%s' % (step, suffix))).write_bytes(b'')
  if steps:
    tf.train.update_checkpoint_state(str(folder), 'model.ckpt-%d' % steps[-1])


def test_a_step_a_path_or_the_newest(tmp_path, monkeypatch):
  make(tmp_path, [0, 20, 10])
  directory = str(tmp_path)
  newest, first = [directory + '/model.ckpt-%d' % step for step in (10, 0)]
  assert checkpoints.find(directory) == newest
  assert checkpoints.find(directory, '0') == first
  assert checkpoints.find('/nowhere', first) == first
  # As a shell completes it.
  for suffix in ('.index', '.meta', '.data-00000-of-00001'):
    assert checkpoints.find(directory, first + suffix) == first
  monkeypatch.chdir(directory)
  assert checkpoints.find('', 'model.ckpt-20') == 'model.ckpt-20'


STEPS = r'; the steps of the checkpoints in .*: '


@pytest.mark.parametrize('steps, wanted, problem', [
    ([0, 20, 10], '15', f'--checkpoint=15: there is no .*-15{STEPS}0, 10, 20$'),
    ([0, 20, 10], 'x/model.ckpt-20', f'there is no x/.*{STEPS}0, 10, 20$'),
    (range(0, 9000, 1000), '1',
     '0, 1000, 2000, 3000, ..., 5000, 6000, 7000, 8000$'),
    ([], '1', f'{STEPS}none$'),
    ([], '', '^FOLDER: holds no checkpoint; pass the --train_dir'),
    ([10], 'FOLDER', 'is a folder; expected .*_dir$'),
])  # yapf: disable
def test_what_is_missing_is_told_with_the_steps_that_are_there(
    tmp_path, steps, wanted, problem):
  make(tmp_path, steps)
  wanted, problem = (
      text.replace('FOLDER', str(tmp_path)) for text in (wanted, problem))
  with pytest.raises(UserError, match=problem):
    checkpoints.find(str(tmp_path), wanted)


@pytest.mark.parametrize(
    'state', [None, 'model_checkpoint_path: "/gone/run/model.ckpt-20"\n'])
def test_where_the_newest_is_not_named_or_was_moved(tmp_path, state):
  make(tmp_path, [10, 20])
  os.remove(str(tmp_path / 'checkpoint'))
  if state:
    (tmp_path / 'checkpoint').write_text(state)
  assert checkpoints.latest(str(tmp_path)) is None
  with pytest.raises(UserError,
                     match=f'/checkpoint: names no existing .*{STEPS}10, 20$'):
    checkpoints.find(str(tmp_path))


def test_checkpoints_of_format_v1_count(tmp_path):
  directory, version = str(tmp_path), tf.train.SaverDef.V1
  with tf.Graph().as_default(), tf.Session() as session:
    step = tf.Variable(0, dtype=tf.int64, name='global_step')
    saver = tf.train.Saver([step], write_version=version)
    for number in (9, 20):
      step.load(number, session)
      saver.save(session, checkpoints.prefix(directory), number)
  (tmp_path / 'model.ckpt-30').mkdir()  # No checkpoint, as an export may be.
  newest = checkpoints.at_step(directory, 20)
  assert checkpoints.latest(directory) == newest
  os.remove(str(tmp_path / 'checkpoint'))
  with pytest.raises(UserError, match='names no existing .*: 9, 20$'):
    checkpoints.find(directory)
  assert checkpoints.step(checkpoints.find(directory, '9')) == 9
  assert checkpoints.write_time(newest) == os.path.getmtime(newest)
  checkpoint_files.name_newest(directory)
  assert checkpoints.latest(directory) == newest
  checkpoint_files.remove_all(directory)
  assert os.listdir(directory) == ['model.ckpt-30']


def test_what_is_written_is_read(tmp_path):
  values = {
      'conv1/weights': np.arange(6, dtype=np.float32).reshape(2, 3),
      'a/b': np.array(2.5, np.float64),
      'global_step': np.array(70, np.int64)
  }
  checkpoints.write(str(tmp_path), values)
  path = checkpoints.latest(str(tmp_path))
  assert path == str(tmp_path / 'model.ckpt-70')
  found = checkpoints.read(path)
  assert found.keys() == values.keys()
  for name, value in values.items():
    np.testing.assert_array_equal(found[name], value)
    assert found[name].dtype == value.dtype
  with pytest.raises(UserError, match='model.ckpt-7: cannot be read'):
    checkpoints.read(str(tmp_path / 'model.ckpt-7'))


def test_a_limit_of_the_size_of_files_is_one_line(tmp_path):
  values = {'a': np.zeros(1 << 16, np.float32), 'global_step': np.int64(0)}
  problem = '^%s: cannot be written: .*File too large' % tmp_path
  with processes.full_disk(1 << 12), pytest.raises(UserError, match=problem):
    checkpoints.write(str(tmp_path), values)


def test_no_checkpoint_exists_in_a_folder_that_is_gone(tmp_path):
  checkpoints.write(str(tmp_path / 'x'), {'global_step': np.int64(3)})
  path = checkpoints.at_step(str(tmp_path / 'x'), 3)
  assert checkpoints.exists(path)
  (tmp_path / 'x').rename(tmp_path / 'y')
  assert not checkpoints.exists(path)


@pytest.mark.parametrize('name', ['.', '../x', 'PATH'])
def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch, name):
  folder = tmp_path / 'x'
  folder.mkdir()
  name = name.replace('PATH', str(folder))
  check = paths.check_new_checkpoint_folder
  assert check(str(folder), '--out') == str(folder)
  monkeypatch.chdir(folder)
  problem = '^--out=%s: is the current folder; expected another one' % name
  with pytest.raises(UserError, match=problem):
    check(name, '--out')
