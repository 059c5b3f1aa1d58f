"""The Config: saved, loaded, resumed."""

import dataclasses
import json
import os

import pytest

from cifar10 import config as config_lib
from cifar10.util import files
from cifar10.config import Config
from cifar10.errors import UserError


def test_defaults_are_the_tutorials():
  config = Config()
  assert (config.batch_size, config.learning_rate) == (128, 0.1)
  assert config.num_epochs_per_decay == 350
  assert config.learning_rate_decay_factor == 0.1
  assert config.moving_average_decay == 0.9999
  assert config.train_dir == config.checkpoint_dir == '/tmp/cifar10_train'
  assert config.eval_dir == '/tmp/cifar10_eval'
  assert config.data_dir == '/tmp/cifar10_data'
  assert (config.max_steps, config.log_frequency) == (1000000, 10)
  assert (config.eval_interval_secs, config.eval_data) == (300, 'test')
  assert config.summary_steps == 100


def test_it_cannot_be_changed():
  with pytest.raises(dataclasses.FrozenInstanceError):
    Config().batch_size = 1


def test_what_is_saved_is_loaded(tmp_path):
  config = Config(batch_size=7, seed=3, run_once=True, learning_rate=1e-3)
  config.save(str(tmp_path))
  assert config_lib.load(str(tmp_path)) == config
  assert os.listdir(str(tmp_path)) == ['config.json']


def test_every_field_is_saved(tmp_path):
  values = {}
  for field in dataclasses.fields(Config):
    if isinstance(field.default, bool):
      values[field.name] = not field.default
    elif field.name == 'classes':
      values[field.name] = ('a', '\u00e9')
    elif isinstance(field.default, tuple):
      values[field.name] = ((0, 128), (10, 256))
    elif isinstance(field.default, str):
      values[field.name] = '/' + field.default + ' \u00e9"\\'
    else:
      values[field.name] = (field.default or 0) + 1
  config = Config(**values)
  config.save(str(tmp_path))
  assert config_lib.load(str(tmp_path)) == config
  Config().save(str(tmp_path))  # Over it.
  assert config_lib.load(str(tmp_path)) == Config()


def test_the_data_is_found_from_elsewhere(tmp_path):
  Config(data_dir='here').save(str(tmp_path))
  saved = config_lib.load(str(tmp_path))
  assert saved.data_dir == os.path.abspath('here')


def test_there_may_be_none(tmp_path):
  assert config_lib.load(str(tmp_path)) is None


def test_fields_of_other_versions_are_passed_over(tmp_path):
  values = {'batch_size': 9, 'from_the_future': 1}
  (tmp_path / 'config.json').write_text(json.dumps(values))
  assert config_lib.load(str(tmp_path)) == Config(batch_size=9)


@pytest.mark.parametrize('text', ['{"batch_size": ', '', '[1]'])
def test_a_damaged_file_is_named(tmp_path, text):
  (tmp_path / 'config.json').write_text(text)
  with pytest.raises(UserError, match='config.json: ') as info:
    config_lib.load(str(tmp_path))
  assert '\n' not in str(info.value)


@pytest.mark.parametrize(
  'values',
  [
    {'batch_size': 'x'},
    {'batch_size': None},
    {'batch_size': 128.5},
    {'seed': 'x'},
    {'stretches': 3},
    {'stretches': [[1]]},
  ],
)
def test_a_value_of_another_type_is_named(tmp_path, values):
  (tmp_path / 'config.json').write_text(json.dumps(values))
  (name,) = values
  with pytest.raises(UserError, match='config.json: %s is ' % name) as info:
    config_lib.load(str(tmp_path))
  assert '\n' not in str(info.value)
  whole_number = {'learning_rate': 1}
  (tmp_path / 'config.json').write_text(json.dumps(whole_number))
  assert config_lib.load(str(tmp_path)).learning_rate == 1


def test_a_run_resumed_with_the_same_batch_keeps_its_offset():
  saved = Config(stretches=((0, 64), (200, 128)))
  assert saved.step_offset == -100
  resumed = Config(learning_rate=0.5).resumed_from(saved, 1000)
  assert resumed == Config(learning_rate=0.5, stretches=saved.stretches)
  assert Config().step_offset == 0


def test_a_run_resumed_with_another_batch_counts_its_examples():
  single = Config(batch_size=128)
  double = Config(batch_size=128, num_gpus=2).resumed_from(single, 1000)
  # 1,000 steps of 128 are 500 of 256.
  assert 1000 + double.step_offset == 500
  again = single.resumed_from(double, 1600)
  # And 600 of 256 on top: as many examples as 2,200 steps of 128.
  assert 1600 + again.step_offset == 2200


@pytest.mark.parametrize('changes', [{'batch_size': 256}, {'num_gpus': 2}])
def test_twice_the_batch_is_half_the_steps(tmp_path, changes):
  double = Config(**changes).resumed_from(Config(), 100000)
  assert double.step_offset == -50000
  # Through the file, and back again without a step in between.
  double.save(str(tmp_path))
  saved = config_lib.load(str(tmp_path))
  assert Config(**changes).resumed_from(saved, 100000) == double
  assert Config().resumed_from(saved, 100000).step_offset == 0


def test_a_run_that_goes_back_counts_what_is_left_of_it():
  # 128 up to step 100,000 and 256 from there: begun again from step 40,000.
  saved = Config(num_gpus=2).resumed_from(Config(), 100000)
  again = Config(num_gpus=2).resumed_from(saved, 40000)
  assert 40000 + again.step_offset == 20000
  assert Config().resumed_from(saved, 40000).step_offset == 0
  assert Config().resumed_from(saved, 0).step_offset == 0
  assert Config(num_gpus=2).resumed_from(saved, 0).step_offset == 0


def test_the_same_examples_a_step_from_other_batches_keep_the_offset():
  saved = Config(batch_size=128, stretches=((0, 64), (14, 128)))
  towers = Config(batch_size=64, num_gpus=2)
  assert towers.resumed_from(saved, 1000).step_offset == -7


@pytest.mark.parametrize('step', [0, 1, 99999, 123457])
@pytest.mark.parametrize('batch_size', [1, 100, 127, 1000])
def test_uneven_batches_lose_less_than_a_step(step, batch_size):
  config = Config(batch_size=batch_size).resumed_from(Config(), step)
  counted = (step + config.step_offset) * batch_size
  assert 0 <= step * 128 - counted < batch_size


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
  path = str(tmp_path / 'x')
  files.write_atomically(path, b'old')

  def fail(*args):
    raise OSError('disk full')

  for name in ('fsync', 'replace'):
    with monkeypatch.context() as patch:
      patch.setattr(files.os, name, fail)
      with pytest.raises(OSError, match='disk full'):
        files.write_atomically(path, b'new')
    with open(path, 'rb') as content:
      assert content.read() == b'old'
    assert os.listdir(str(tmp_path)) == ['x']
