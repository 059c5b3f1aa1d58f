"""The values of a new run: which variables get those of another one."""

import os
import shutil

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.run import initial_values
from cifar10.run import trainer
from cifar10.settings import Settings
from cifar10.store import checkpoints

AVERAGE = checkpoints.AVERAGE


@pytest.fixture(scope='module', name='source')
def _source(tmp_path_factory):
  """A run whose averages differ from its variables, of step 7."""
  folder = str(tmp_path_factory.mktemp('source'))
  values = {'global_step': np.int64(7)}
  for i, name in enumerate(('conv1/w', 'conv10/w', 'first/w')):
    values[name] = np.full([2], i + 1, np.float32)
    values[name + AVERAGE] = np.full([2], i + 1.5, np.float32)
  values['local/w'] = np.full([4], 9, np.float32)  # Has no average.
  values['inf/w'] = np.float32([1, np.inf])
  values['left\n\x1b[2J/weights'] = np.float32(0)
  checkpoints.write(folder, values)
  return folder


def initial(source, tmp_path, names, **settings):
  """The first values, lists, of variables of 2 or 4 elements and averages."""
  settings = Settings(init_from=source, train_dir=str(tmp_path), **settings)
  with tf.Graph().as_default(), tf.Session() as session:
    step = tf.train.get_or_create_global_step()
    for name in names:
      tf.get_variable(name, [4 if 'local' in name else 2])
      tf.get_variable(name + AVERAGE, [4 if 'local' in name else 2],
                      trainable=False)
    tf.get_variable('Momentum', [2], trainable=False,
                    initializer=tf.zeros_initializer())
    session.run(tf.global_variables_initializer())
    before = {v.op.name: session.run(v) for v in tf.global_variables()}
    initial_values.loader(trainer.Run(settings, None, None))(session)
    after = {v.op.name: session.run(v) for v in tf.global_variables()}
    assert session.run(step) == 0
  return {
      name: value.tolist()
      for name, value in after.items()
      if np.any(value != before[name])
  }


def test_a_name_is_mapped_by_whole_parts(source, tmp_path, capsys):
  found = initial(source, tmp_path, ['conv1/w', 'conv10/w'],
                  init_map='conv1:first')
  assert (found['conv1/w'], found['conv10/w']) == ([3.5] * 2, [2.5] * 2)
  assert capsys.readouterr().out == (
      'Initialized conv1, conv10 from %s/model.ckpt-7.\n'
      'Left behind: left\\n\\x1b[2J.\n' % source)
  found = initial(source, tmp_path, ['here/w'], init_map='here/w:conv1/w,')
  assert found['here/w'] == [1.5] * 2
  found = initial(source, tmp_path, ['conv1/w', 'first/w'], init_scope='conv')
  assert set(found) == {'conv1/w', 'conv1/w' + AVERAGE}


def test_what_does_not_fit_keeps_its_own_values_unless_it_is_named(
    source, tmp_path, capsys):
  names = ['conv1/w', 'first/local/w', 'local/w']
  mapping = 'first/local/w:first/w'
  found = initial(source, tmp_path, names, init_map=mapping)
  assert set(found) == {n + a for n in names[::2] for a in ('', AVERAGE)}
  assert capsys.readouterr().out == (
      'Initialized conv1, local from %s/model.ckpt-7.\n'
      'Not taken over: first/local/w ([2] there, [4] here).\n'
      'Left behind: left\\n\\x1b[2J.\n' % source)
  with pytest.raises(UserError, match=r'7: first/local/w: \[2\] there, \[4\]'):
    initial(source, tmp_path, names, init_map=mapping, init_scope='.')


@pytest.mark.parametrize('settings, problem', [
    ({'init_map': 'new:inf'}, '/model.ckpt-7: inf/w is not finite$'),
    ({'init_map': 'new:a,new:b'}, 'new is not in --init_scope=, or is mapped '
     'twice$'),
    ({}, 'none of its variables fits; expected a run with the same --network'),
    ({'init_scope': 'conv'}, '--init_scope=conv: names no variable; expected '
     'the beginning of some of new/w$'),
    ({'init_map': 'new:'}, "found 'new:'; expected names here and names there"),
    ({'init_map': 'new:old', 'init_scope': 'n'}, 'new/w: no old/w there$'),
    ({'init_map': 'ne:first'}, '--init_map=ne:first: the model has no ne; it '
     'has new$')
])  # yapf: disable
def test_what_cannot_be_taken_over_is_named(source, tmp_path, settings,
                                            problem):
  with pytest.raises(UserError, match=problem):
    initial(source, tmp_path, ['new/w'], **settings)


def test_a_damaged_source_is_named(source, tmp_path):
  shutil.copytree(source, str(tmp_path / 'copy'))
  data = tmp_path / 'copy' / 'model.ckpt-7.data-00000-of-00001'
  for content in (data.read_bytes()[:-4], bytes(data.stat().st_size)):
    data.write_bytes(content)
    with pytest.raises(UserError, match='model.ckpt-7: cannot be read: '):
      initial(str(tmp_path / 'copy'), tmp_path, ['conv1/w', 'local/w'])


def test_only_a_new_run_has_initial_values(source, tmp_path):
  resumed = Settings(init_from='/gone', train_dir=source)
  run = trainer.Run(resumed, None, None)
  assert initial_values.loader(run) is None
  initial_values.check_source(resumed)  # Nor does it need them.
  with tf.Graph().as_default(), tf.Session() as session:
    new = Settings(train_dir=str(tmp_path))
    # None from elsewhere: the function has nothing to load.
    initial_values.loader(trainer.Run(new, None, None))(session)


def test_a_source_that_overwrite_would_delete_is_refused(source, tmp_path):
  link = tmp_path / 'link'
  os.symlink(source, str(link))
  for path in (source, source + '/model.ckpt-7', str(link)):
    with pytest.raises(UserError, match='^--init_from=%s is in' % path):
      initial_values.check_source(
          Settings(init_from=path, train_dir=source, overwrite=True))
  # A folder whose name only begins like it.
  initial_values.check_source(
      Settings(init_from=source, train_dir=source[:-1], overwrite=True))
  with pytest.raises(UserError, match='there is no such checkpoint'):
    initial_values.check_source(
        Settings(init_from='/gone', train_dir=str(tmp_path)))
