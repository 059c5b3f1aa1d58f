"""The training directory: one trainer at a time, and what a start changes."""

import dataclasses
import json
import os
from pathlib import Path
import signal
import socket

import pytest

from cifar10 import cifar10_train
from cifar10.errors import UserError
from cifar10.run import train_dir
from cifar10.run import trainer
from cifar10.store import run_state
from tests import short_runs
from tests import synthetic_records


@pytest.mark.slow
def test_a_second_trainer_is_refused(tmp_path):
  first = short_runs.start('cifar10_train', f'--train_dir={tmp_path / "train"}',
                           '--batch_size=8', '--log_frequency=1')
  short_runs.wait_for_step(first)
  directory = tmp_path / 'train'
  files = sorted(os.listdir(str(directory)))
  problem = ('%s: another trainer uses this directory: process %d on %s.' %
             (directory, first.pid, socket.gethostname()))
  with pytest.raises(UserError, match=problem):
    cifar10_train.train(short_runs.small_config(tmp_path, overwrite=True))
  assert sorted(os.listdir(str(directory))) == files
  first.send_signal(signal.SIGTERM)
  assert first.communicate(60)[1] == '' and first.returncode == 0
  assert not (directory / '.lock').exists()


def test_what_killed_trainers_have_left_is_cleared(tmp_path):
  config = short_runs.trained(tmp_path)
  directory = tmp_path / 'train'
  mine = [
      'model.ckpt-7.data-00000-of-00001.tempstate123', 'model.ckpt.tmp7.index',
      'model.ckpt-7.meta.tmp0f', 'checkpoint.tmp0f', 'config.json.tmp12',
      'run_state.json.tmp12'
  ]
  others = ['notes.json.tmp1', 'x.tempstate1', 'checkpoints.tmp', 'tmp']
  before = set(os.listdir(str(directory)))
  for name in mine + others:
    (directory / name).write_text('')
  cifar10_train.train(config)
  assert set(os.listdir(str(directory))) == {*before, *others}


@pytest.mark.slow
def test_each_change_of_the_settings_is_told_and_kept(tmp_path, capsys):
  config = short_runs.trained(tmp_path, max_steps=5, seed=7, batch_size=8,
                              progress=True)
  path = tmp_path / 'train' / 'run_state.json'
  values = dict(json.loads(path.read_text()), examples_per_epoch=999)
  path.write_text(json.dumps(values))
  path = tmp_path / 'train' / 'config.json'
  values = dict(json.loads(path.read_text()), augment='a\nStep 9\x1b[2J')
  path.write_text(json.dumps(values))
  cifar10_train.train(config)
  lines = capsys.readouterr().out.splitlines()
  assert [line for line in lines if line.startswith('Changed ')] == [
      'Changed from here on: --batch_size, 16 -> 8.',
      'Changed from here on: --augment, a\\nStep 9\\x1b[2J -> '
      f'{config.augment}.', 'Changed from here on: --max_steps, 4 -> 5.',
      'Changed from here on: --seed, None -> 7.'
  ]
  # And what has changed by itself.
  assert (
      'WARNING: found 1000 training images; earlier starts of this run had 999.'
  ) in lines
  first, second = run_state.load(config.train_dir).starts
  assert (first.step, first.changed) == (0, ())
  assert second.step == 4 and second.time > first.time
  assert second.changed == (('batch_size', 16,
                             8), ('augment', values['augment'], config.augment),
                            ('max_steps', 4, 5), ('seed', None, 7))


TOO_SMALL = 'images of 24 x 24 pixels; expected 25 or more, see --image_size'


@pytest.mark.parametrize('settings, problem', [
    ({'image_size': 33}, '--image_size=33: larger than the images, which have'),
    ({'network': 'airbench', 'normalization': 'batch'}, TOO_SMALL),
    ({'augment': 'shift', 'max_shift': 0.01}, '=0.01: less than half a pixel'),
    ({'freeze': 'cnv'}, '--freeze=cnv: no trained variable begins like that'),
    ({'freeze': '.'}, '--freeze=.: nothing is left to train'),
    ({'freeze': 'conv2', 'cache_frozen': 1}, '=1: conv1/weights is not frozen'),
    ({'init_from': 'SOURCE', 'init_scope': 'cnv'}, '--init_scope=cnv'),
    ({'metrics': '/nowhere/metrics'}, '/nowhere/metrics'),
    ({'schedule': 'piecewise', 'boundaries': '8', 'rates': '0.1'},
     '--boundaries=8'),
])  # yapf: disable
def test_what_is_wrong_is_found_before_a_run_is_deleted(tmp_path, settings,
                                                        problem):
  config = short_runs.trained(tmp_path)
  if 'init_from' in settings:
    source = short_runs.trained(tmp_path / 'source')
    settings = dict(settings, init_from=source.train_dir)
  before = set(os.listdir(config.train_dir))
  with pytest.raises((UserError, OSError), match=problem):
    cifar10_train.train(dataclasses.replace(config, overwrite=True, **settings))
  assert set(os.listdir(config.train_dir)) == before


@pytest.mark.parametrize('name, make, problem', [
    ('events.out.tfevents.1', Path.mkdir, 'is a folder; expected'),
    ('best', Path.touch, 'is not a folder'),
])  # yapf: disable
def test_a_name_that_is_taken_is_found_before_that(tmp_path, name, make,
                                                   problem):
  config = short_runs.trained(tmp_path)
  make(tmp_path / 'train' / name)
  before = set(os.listdir(config.train_dir))
  with pytest.raises(UserError, match=f'/{name}: {problem}'):
    cifar10_train.train(dataclasses.replace(config, overwrite=True))
  assert set(os.listdir(config.train_dir)) == before


def test_a_run_keeps_its_model_and_its_data_set(tmp_path, capsys):
  config = short_runs.trained(tmp_path, max_steps=5)
  path = tmp_path / 'train' / 'config.json'
  saved = json.loads(path.read_text())
  # An older run has the defaults of newer settings.
  del saved['image_size'], saved['network']
  path.write_text(json.dumps(saved))
  synthetic_records.make_folder(tmp_path / 'data', per_file=20)
  data = {'dataset': 'cifar10', 'data_dir': str(tmp_path / 'data')}
  before = path.read_text()
  # The shapes of all variables would be the same.
  for other, problem in (
      ({'image_size': 22}, '=22: .* trained with 0'),
      (data, '--dataset=cifar10: the run in .*sample')):  # yapf: disable
    with pytest.raises(UserError, match=problem):
      cifar10_train.train(dataclasses.replace(config, **other))
    assert path.read_text() == before
    assert not (tmp_path / 'train' / '.lock').exists()
  settings, data = trainer.prepare_data(config)
  assert train_dir.prepare(settings, data, 16) is not None
  assert train_dir.prepare(settings, data._replace(held_out=9), 16) is not None
  assert 'had 1000. The last 9 images are held out' in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_goes_on_with_images_of_its_size(tmp_path):
  synthetic_records.make_folder(tmp_path, per_file=20)
  config = short_runs.small_config(tmp_path, dataset='cifar10',
                                   data_dir=str(tmp_path), image_size=24,
                                   batch_size=4, hidden_layers='8', max_steps=2)
  cifar10_train.train(dataclasses.replace(config, max_steps=1))
  other = synthetic_records.make_images_of_size(tmp_path / 'own', 40)
  larger = dataclasses.replace(config, data_dir=other.data_dir)
  path = tmp_path / 'train' / 'run_state.json'
  before = path.read_text()
  with pytest.raises(UserError, match='40 x 40 x 3; .* on 32 x 32 x 3'):
    cifar10_train.train(larger)
  assert path.read_text() == before
  cifar10_train.train(config)
  assert run_state.load(str(tmp_path / 'train')).image_shape == (32, 32, 3)
  # Its variables are free to be used.
  cifar10_train.train(
      dataclasses.replace(larger, train_dir=str(tmp_path / 'other'),
                          init_from=config.train_dir, max_steps=1))


def test_nothing_is_deleted_behind_a_link(tmp_path):
  best, elsewhere = tmp_path / 'train' / 'best', tmp_path / 'elsewhere'
  elsewhere.mkdir()
  best.parent.mkdir()
  best.symlink_to(elsewhere)
  for name in ('model.ckpt-1.index', 'config.json'):
    (best / name).write_text('')
  (best / 'model.ckpt-2.tmp1').write_text('')
  before = sorted(os.listdir(str(elsewhere)))
  train_dir.remove_run(str(best.parent))
  assert sorted(os.listdir(str(elsewhere))) == before
  assert best.is_symlink()
  best.unlink()
  best.mkdir()
  for name in ('bin', 'json'):  # Nor does anything of the run stay.
    (best.parent / ('frozen_layers.' + name)).write_text('')
  train_dir.remove_run(str(best.parent))
  assert os.listdir(str(best.parent)) == []


def test_a_kill_while_a_run_is_deleted_leaves_no_run_of_its_own(
    tmp_path, monkeypatch):
  config = short_runs.trained(tmp_path, validation_examples=10, overwrite=True)
  state, remove = run_state.load(config.train_dir), os.remove
  (tmp_path / 'train' / 'best').mkdir()
  state.save(str(tmp_path / 'train' / 'best'))

  def remove_until_killed(path):
    remove(path)
    if os.path.basename(path) == 'run_state.json':
      raise KeyboardInterrupt  # As good as a kill: nothing catches it.

  with monkeypatch.context() as patched:
    patched.setattr(os, 'remove', remove_until_killed)
    with pytest.raises(KeyboardInterrupt):
      train_dir.remove_run(config.train_dir)
  train_dir.prepare(*trainer.prepare_data(config), 16)


@pytest.mark.parametrize('is_given', [True, False])
def test_a_run_that_goes_on_is_not_begun_from_another_one(
    tmp_path, capsys, is_given):
  other = short_runs.trained(tmp_path / 'other').train_dir
  config = short_runs.trained(tmp_path, max_steps=5)
  if is_given:
    config = dataclasses.replace(config, init_from=other, init_scope='conv1')
  else:  # Its first start has.
    path = tmp_path / 'train' / 'config.json'
    values = json.loads(path.read_text())
    path.write_text(json.dumps(dict(values, init_from=other)))
  settings, data = trainer.prepare_data(config)
  state = train_dir.prepare(settings, data, 16)
  lines = capsys.readouterr().out.splitlines()
  line = '--init_from has no effect: the run resumes from its own checkpoint.'
  assert (line in lines) == is_given
  assert not [
      line for line in lines if line.startswith('Changed') and 'init' in line
  ]
  changed = {name for name, *_ in state.starts[-1].changed}
  assert {'max_steps', 'init_from'} <= changed  # All of it is kept.
