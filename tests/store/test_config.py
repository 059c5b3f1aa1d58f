"""The Settings: their groups, their defaults, saved and loaded."""

import json
import os

import pytest

from cifar10 import cifar10
from cifar10 import settings as settings_lib
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import config as config_lib


def test_defaults_are_the_tutorials():
  settings = vars(cifar10.with_constants(Settings()))
  expected = {
      'batch_size': 128,
      'learning_rate': 0.1,
      'num_epochs_per_decay': 350,
      'learning_rate_decay_factor': 0.1,
      'moving_average_decay': 0.9999,
      'train_dir': '/tmp/cifar10_train',
      'checkpoint_dir': '/tmp/cifar10_train',
      'eval_dir': '/tmp/cifar10_eval',
      'data_dir': '/tmp/cifar10_data',
      'max_steps': 1000000,
      'log_frequency': 10,
      'eval_interval_secs': 300,
      'eval_data': 'test',
      'run_once': False,
      'num_gpus': 1,
      'log_device_placement': False,
      'summary_steps': 100
  }
  assert {name: settings[name] for name in expected} == expected


def test_what_describes_the_run_is_saved_and_loaded(tmp_path):
  values = {}
  for name, default in config_lib.saved(Settings()).items():
    limits = settings_lib.FIELDS[name].metadata
    if isinstance(default, bool):
      values[name] = not default
    elif 'choices' in limits:
      values[name] = limits['choices'][-1]
    elif isinstance(default, str):
      values[name] = '/' + default + ' \u00e9"\\'
    else:
      values[name] = min((default or 0) + 1, limits.get('most', 9e9))
  settings = Settings(run_once=True, export_dir='/x', **values)
  config_lib.save(settings, str(tmp_path))
  assert os.listdir(str(tmp_path)) == ['config.json']
  # The settings of other programs are no part of it.
  assert config_lib.load(str(tmp_path)) == Settings(**values)
  config_lib.save(Settings(), str(tmp_path))  # Over it.
  assert config_lib.load(str(tmp_path)) == cifar10.with_constants(Settings())


def test_it_is_flat_on_disk(tmp_path):
  config_lib.save(Settings(num_gpus=3, data_dir='here'), str(tmp_path))
  values = json.loads((tmp_path / 'config.json').read_text())
  assert values['num_gpus'] == 3
  assert values['data_dir'] == os.path.abspath('here')  # From elsewhere, too.
  assert not any(isinstance(value, (dict, list)) for value in values.values())


@pytest.mark.parametrize('text, expected', [
    (None, None),
    ('{"batch_size": 9, "from_the_future": 1}', Settings(batch_size=9)),
    ('{"learning_rate": 1}', Settings(learning_rate=1.0)),
    # Older versions had no upper limits.
    ('{"num_gpus": 100, "l2_scale": 1e300}',
     Settings(num_gpus=64, l2_scale=1e38)),
])  # yapf: disable
def test_files_of_other_versions_are_loaded(tmp_path, text, expected):
  if text:
    (tmp_path / 'config.json').write_text(text)
  assert config_lib.load(str(tmp_path)) == expected


@pytest.mark.parametrize('text, problem', [
    ('{"batch_size": ', ''),
    ('', ''),
    ('[1]', ''),
    ('{"batch_size": "x"}', 'batch_size is "x"'),
    ('{"batch_size": null}', 'batch_size is null'),
    ('{"batch_size": 128.5}', 'batch_size is 128.5'),
    ('{"batch_size": 0}', 'batch_size is 0'),
    ('{"batch_size": true}', 'batch_size is true'),
    ('{"seed": "x"}', 'seed is "x"'),
    ('{"dataset": "mnist"}', 'dataset is "mnist"'),
    ('{"learning_rate": NaN}', 'learning_rate is NaN'),
    ('{"learning_rate": Infinity}', 'learning_rate is Infinity'),
    ('{"overwrite": 1}', 'overwrite is 1'),
    ('{"train_dir": 7}', 'train_dir is 7'),
])  # yapf: disable
def test_a_damaged_file_or_value_is_named(tmp_path, text, problem):
  (tmp_path / 'config.json').write_text(text)
  with pytest.raises(UserError, match='config.json: ' + problem):
    config_lib.load(str(tmp_path))
