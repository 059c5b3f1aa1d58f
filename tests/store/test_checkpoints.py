"""Which checkpoint is meant: a step, a path, or the newest one. Its arrays."""

import os
import resource

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints


def make(folder, steps):
  """Files with the names of checkpoints; the last one is the newest."""
  for step in steps:
    for suffix in ('.index', '.meta', '.data-00000-of-00001'):
      (folder / ('model.ckpt-%d%s' % (step, suffix))).write_bytes(b'')
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


@pytest.mark.parametrize('wanted', ['15', 'elsewhere/model.ckpt-20'])
def test_what_is_missing_is_told_with_the_steps_that_are_there(
    tmp_path, wanted):
  make(tmp_path, [0, 20, 10])
  with pytest.raises(UserError) as info:
    checkpoints.find(str(tmp_path), wanted)
  message = str(info.value)
  assert message.startswith('--checkpoint=%s: there is no ' % wanted)
  assert message.endswith('checkpoints in %s: 0, 10, 20' % tmp_path)


def test_a_folder_is_no_checkpoint(tmp_path):
  make(tmp_path, [10])
  with pytest.raises(UserError, match='is a folder; expected .*_dir$'):
    checkpoints.find('/nowhere', str(tmp_path))


def test_of_many_steps_a_few_are_told(tmp_path):
  make(tmp_path, range(0, 9000, 1000))
  with pytest.raises(UserError) as info:
    checkpoints.find(str(tmp_path), '1')
  steps = '0, 1000, 2000, 3000, ..., 5000, 6000, 7000, 8000'
  assert str(info.value).endswith(': ' + steps)


def test_where_there_is_none(tmp_path):
  expected = '^%s: holds no checkpoint; pass the --train_dir' % tmp_path
  with pytest.raises(UserError, match=expected):
    checkpoints.find(str(tmp_path))
  with pytest.raises(UserError,
                     match='the steps of the checkpoints in .*: none$'):
    checkpoints.find(str(tmp_path), '1')


def test_where_the_newest_is_not_named(tmp_path):
  make(tmp_path, [10, 20])
  os.remove(str(tmp_path / 'checkpoint'))
  expected = '/checkpoint: names no existing checkpoint; .*: 10, 20$'
  with pytest.raises(UserError, match=expected):
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
  assert checkpoints.written(newest) == os.path.getmtime(newest)
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


def test_a_limit_of_the_size_of_files_is_one_line(tmp_path):
  values = {
      'a': np.zeros(1 << 16, np.float32),
      'global_step': np.array(0, np.int64)
  }
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))
  try:
    with pytest.raises(UserError) as info:
      checkpoints.write(str(tmp_path), values)
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
  message = str(info.value)
  assert message.startswith('%s: cannot be written: ' % tmp_path)
  assert 'File too large' in message and '\n' not in message


@pytest.mark.parametrize('name', ['.', '../x', 'PATH'])
def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch, name):
  folder = tmp_path / 'x'
  folder.mkdir()
  name = name.replace('PATH', str(folder))
  assert checkpoints.check_out(str(folder)) == str(folder)
  monkeypatch.chdir(folder)
  problem = '^--out=%s: is the current folder; expected another one' % name
  with pytest.raises(UserError, match=problem):
    checkpoints.check_out(name)


def test_a_missing_one_is_named(tmp_path):
  with pytest.raises(UserError, match='model.ckpt-7: cannot be read'):
    checkpoints.read(str(tmp_path / 'model.ckpt-7'))


def test_a_run_that_was_moved_has_no_newest_one_by_its_old_path(tmp_path):
  make(tmp_path, [0, 20])
  (tmp_path / 'checkpoint'
  ).write_text('model_checkpoint_path: "/gone/run/model.ckpt-20"\n')
  assert checkpoints.latest(str(tmp_path)) is None
  with pytest.raises(UserError, match='0, 20'):
    checkpoints.find(str(tmp_path))
