"""The files of checkpoints: which one counts when a trainer was killed."""

import contextlib
import os

import numpy as np
import pytest

from cifar10.errors import UserError
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints

SUFFIXES = ['.data-00000-of-00001', '.index']


@pytest.fixture(scope='module', name='whole')
def _whole(tmp_path_factory):
  """The contents of the files of a checkpoint, by their suffixes."""
  folder = tmp_path_factory.mktemp('whole')
  checkpoints.write(str(folder), {
      'w': np.arange(4, dtype=np.float32),
      'global_step': np.int64(1)
  })
  path = folder / 'model.ckpt-1'
  return {s: path.with_name(path.name + s).read_bytes() for s in SUFFIXES}


@pytest.fixture(name='make')
def _make(tmp_path, whole):
  """Makes checkpoints in `tmp_path`, all at the same time."""

  def make(*steps, damaged=()):
    for step in steps:
      for suffix, content in whole.items():
        path = tmp_path / ('model.ckpt-%d%s' % (step, suffix))
        is_damaged = step in damaged and suffix != '.index'
        path.write_bytes(content[:-1] if is_damaged else content)
        os.utime(str(path), (5, 5))

  return make


def set_named(folder, step):
  """Names the newest checkpoint, as the trainer does."""
  checkpoint_files.set_newest(str(folder / ('model.ckpt-%d' % step)))


def named(folder):
  """The step of the checkpoint that is named; None if none is."""
  path = checkpoints.latest(str(folder))
  return path and int(path.rpartition('-')[2])


def state_of(newest, *listed):
  """The content of a file `checkpoint`; `listed` as the tutorial's saver."""
  lines = ['model_checkpoint_path: "model.ckpt-%d"' % newest]
  lines += ['all_model_checkpoint_paths: "model.ckpt-%d"' % s for s in listed]
  return '\n'.join(lines) + '\n'


@pytest.mark.parametrize('kind, steps, state, expected', [
    ('the newest one', (10, 20), state_of(20, 20), 20),
    ('by a version that listed none, or a person', (20, 30), state_of(20), 20),
    ('a number that a person changed', (10, 20, 30), state_of(20, 30), 20),
    ('the same, from a saver', (20, 30), state_of(20, 10, 20, 30), 20),
    ('each number changed', (0, 10, 20), state_of(10, 0, 10, 10), 10),
    ('by update_checkpoint_state', (0, 10, 20), state_of(10, 10), 10),
    ('a list that is not of this folder', (20, 30, 40), state_of(20, 20), 20),
    ('an earlier one without a name', (10, 20), state_of(20, 20), 20),
    ('gone back behind the others', (10, 20, 30), state_of(10, 20, 30, 10), 10),
    ('then killed', (10, 20, 30, 40), state_of(10, 20, 30, 10), 40),
    ('killed in between', (10, 12, 20), state_of(10, 20, 10), 12),
    ('a saver, killed', (10, 20, 30), state_of(20, 10, 20), 30),
    ('a saver that keeps few', (10, 20, 30, 40), state_of(30, 20, 30), 40)
])
def test_what_is_not_listed_was_saved_later(tmp_path, make, capsys, kind, steps,
                                            state, expected):
  make(*steps)
  (tmp_path / 'checkpoint').write_text(state)
  is_kept = named(tmp_path) == expected
  for message in '' if is_kept else (
      f'{tmp_path}/checkpoint does not name the newest whole checkpoint; '
      f'continuing from {tmp_path}/model.ckpt-{expected}.\n'), '':
    checkpoint_files.name_newest(str(tmp_path))
    assert named(tmp_path) == expected, kind
    assert capsys.readouterr().out == message


def test_a_trainer_that_is_killed_after_a_person_has_chosen(tmp_path, make):
  make(10, 30)
  (tmp_path / 'checkpoint').write_text(state_of(10))
  checkpoint_files.name_newest(str(tmp_path))
  make(20)
  checkpoint_files.name_newest(str(tmp_path))
  assert (tmp_path / 'checkpoint').read_text() == state_of(20, 10, 30, 20)


def test_a_name_in_another_folder_is_kept(tmp_path, make):
  make(10)
  folder = tmp_path / 'other'
  folder.mkdir()
  state = 'model_checkpoint_path: "%s/model.ckpt-10"\n' % tmp_path
  (folder / 'checkpoint').write_text(state)
  checkpoint_files.name_newest(str(folder))
  assert (folder / 'checkpoint').read_text() == state
  assert not (tmp_path / 'checkpoint').exists()


def test_a_damaged_one_is_passed_over(tmp_path, make):
  make(10, 20)
  set_named(tmp_path, 20)
  make(30, damaged=[30])
  checkpoint_files.name_newest(str(tmp_path))
  assert named(tmp_path) == 20
  os.remove(str(tmp_path / 'checkpoint'))
  checkpoint_files.name_newest(str(tmp_path))
  assert named(tmp_path) == 20


ERROR = 'FOLDER/checkpoint: names no existing checkpoint'


@pytest.mark.parametrize('steps, state, problem', [
    ([10, 20], None, f'{ERROR}, and FOLDER/model.ckpt-20 is damaged; expected '
     'a line model_checkpoint_path: "model.ckpt-20". --overwrite starts from '
     'scratch'),
    ([], state_of(10), f'{ERROR}. --overwrite starts from scratch'),
    ([], '', f'{ERROR}. --overwrite starts from scratch'),
])  # yapf: disable
def test_without_a_whole_one_nothing_is_named(tmp_path, make, steps, state,
                                              problem):
  make(*steps, damaged=steps)
  if state is not None:
    (tmp_path / 'checkpoint').write_text(state)
  with pytest.raises(UserError) as info:
    checkpoint_files.name_newest(str(tmp_path))
  assert str(info.value) == problem.replace('FOLDER', str(tmp_path))
  assert named(tmp_path) is None


def test_steps_that_a_stopped_run_has_gone_back_from_are_not_named(
    tmp_path, make):
  make(10)
  set_named(tmp_path, 10)
  make(30)
  checkpoint_files.name_newest(str(tmp_path), stopped_at=10)
  assert named(tmp_path) == 10
  os.remove(str(tmp_path / 'checkpoint'))
  checkpoint_files.name_newest(str(tmp_path), stopped_at=10)
  assert named(tmp_path) == 10
  # Better than none.
  os.remove(str(tmp_path / 'checkpoint'))
  checkpoint_files.name_newest(str(tmp_path), stopped_at=5)
  assert named(tmp_path) == 30


def test_an_empty_folder_has_nothing_to_name(tmp_path):
  checkpoint_files.name_newest(str(tmp_path))
  assert os.listdir(str(tmp_path)) == []


def unfinished(folder, whole):
  """A checkpoint under a temporary name, as a saver leaves it; its path."""
  for suffix, content in {**whole, '.meta': b'graph'}.items():
    (folder / ('model.ckpt.tmp7' + suffix)).write_bytes(content)
  return str(folder / 'model.ckpt.tmp7')


def test_a_checkpoint_takes_the_place_of_that_of_its_step(
    tmp_path, make, whole):
  make(1, 2, damaged=[2])
  (tmp_path / 'model.ckpt-2.data-00001-of-00002').write_bytes(b'a part')
  checkpoint_files.move_into_place(unfinished(tmp_path, whole), 2)
  assert named(tmp_path) == 2
  values = checkpoints.read(str(tmp_path / 'model.ckpt-2'))
  np.testing.assert_array_equal(values['w'], np.arange(4))
  assert sorted(os.listdir(str(tmp_path))) == [
      'checkpoint', *('model.ckpt-1' + s for s in SUFFIXES),
      *('model.ckpt-2' + s for s in SUFFIXES + ['.meta'])
  ]
  # Relative, so that the folder may be moved.
  assert (tmp_path / 'checkpoint').read_text() == state_of(2, 1, 2)


def fail_at(monkeypatch, count):
  """Lets `count` files be renamed or removed, and raises at the next one."""
  done = []
  for name in ('replace', 'remove'):

    def call(*paths, function=getattr(os, name)):
      if len(done) == count:
        raise KeyboardInterrupt
      done.append(paths)
      function(*paths)

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize('count', range(3))
def test_a_kill_while_it_is_put_leaves_the_one_before_as_the_newest(
    tmp_path, make, whole, monkeypatch, count):
  make(1)
  set_named(tmp_path, 1)
  source = unfinished(tmp_path, whole)
  fail_at(monkeypatch, count)
  with pytest.raises(KeyboardInterrupt):
    checkpoint_files.move_into_place(source, 2)
  monkeypatch.undo()
  assert list(checkpoints.by_step(str(tmp_path))) == [1]
  checkpoint_files.name_newest(str(tmp_path))
  assert named(tmp_path) == 1


def test_a_kill_while_one_is_replaced_leaves_a_whole_one(
    tmp_path, whole, monkeypatch):
  directory, outcomes = str(tmp_path), []
  for count in range(20):
    for name in os.listdir(directory):
      os.remove(os.path.join(directory, name))
    checkpoints.write(directory, {'w': np.zeros(4), 'global_step': np.int64(1)})
    unfinished(tmp_path, whole)
    # Killed, and perhaps again when the next trainer puts it in its place.
    for is_first, kill in (True, count), (False, count % 3), (False, 99):
      fail_at(monkeypatch, kill)
      with contextlib.suppress(KeyboardInterrupt):
        if is_first:
          checkpoint_files.move_into_place(str(tmp_path / 'model.ckpt.tmp7'), 1)
        else:
          checkpoint_files.remove_unfinished(directory)
      monkeypatch.undo()
      found = checkpoints.read(checkpoints.latest(directory))['w']
      outcomes.append(list(found))
    assert named(tmp_path) == 1
    assert not [name for name in os.listdir(directory) if '.tmp' in name]
  is_new = [found == [0, 1, 2, 3] for found in outcomes]
  assert is_new == sorted(is_new) and is_new[-1] and not is_new[0]


@pytest.mark.parametrize('remove', [
    lambda folder: checkpoint_files.remove(folder + '/model.ckpt-2'),
    checkpoint_files.remove_all
])
def test_a_kill_while_it_is_removed_leaves_no_checkpoint_without_data(
    tmp_path, make, monkeypatch, remove):
  make(2)
  fail_at(monkeypatch, 1)
  with pytest.raises(KeyboardInterrupt):
    remove(str(tmp_path))
  monkeypatch.undo()
  assert not checkpoints.by_step(str(tmp_path))


def test_all_checkpoints_go_and_other_files_stay(tmp_path, make):
  make(1, 20)
  set_named(tmp_path, 20)
  for name in ('model.ckpt-01.index', 'my-model.ckpt-3.index', 'model.ckpt',
               'notes'):
    (tmp_path / name).write_bytes(b'x')
  checkpoint_files.remove_all(str(tmp_path))
  assert sorted(os.listdir(str(tmp_path))) == [
      'model.ckpt', 'model.ckpt-01.index', 'my-model.ckpt-3.index', 'notes'
  ]
  checkpoint_files.remove_all(str(tmp_path))  # Nor does it need a name.


def test_a_checkpoint_is_on_disk_before_it_is_named(tmp_path, whole,
                                                    monkeypatch):
  calls, fsync, replace = [], os.fsync, os.replace

  def noted_fsync(number):
    path = os.readlink('/proc/self/fd/%d' % number)
    calls.append(('sync', os.path.basename(path)))
    fsync(number)

  def noted_replace(before, after):
    calls.append(('name', os.path.basename(after)))
    replace(before, after)

  source = unfinished(tmp_path, whole)
  monkeypatch.setattr(os, 'fsync', noted_fsync)
  monkeypatch.setattr(os, 'replace', noted_replace)
  checkpoint_files.move_into_place(source, 20)
  assert named(tmp_path) == 20
  kinds = [kind for kind, _ in calls]
  assert kinds[:6] == ['sync'] * 3 + ['name'] * 3
  assert calls[2][1].endswith('.index') and calls[5][1].endswith('.index')
  assert calls[6] == ('sync', tmp_path.name)
  assert calls[-1] == ('name', 'checkpoint')
