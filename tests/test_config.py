"""The Config: saved, loaded, resumed."""

import dataclasses
import json
import os

import pytest

from cifar10 import config as config_lib
from cifar10 import files
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


def test_a_run_resumed_with_the_same_batch_keeps_its_offset():
  saved = Config(step_offset=5)
  resumed = Config(learning_rate=0.5).resumed_from(saved, 1000)
  assert resumed == Config(learning_rate=0.5, step_offset=5)


def test_a_run_resumed_with_another_batch_counts_its_examples():
  single = Config(batch_size=128)
  double = Config(batch_size=128, num_gpus=2).resumed_from(single, 1000)
  # 1,000 steps of 128 are 500 of 256.
  assert 1000 + double.step_offset == 500
  again = single.resumed_from(double, 1600)
  # And 600 of 256 on top: as many examples as 2,200 steps of 128.
  assert 1600 + again.step_offset == 2200


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
