"""The Settings: their groups, their defaults, saved and loaded."""

import dataclasses
import json
import os

import pytest

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10 import settings as settings_lib
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import config as config_lib
from cifar10.store import run_state
from cifar10.store.run_state import RunState

# The names in a config.json of version 1.0, with values that are not defaults.
VERSION_1 = {
    'backup_workers': 1,
    'batch_size': 64,
    'chief_starts': 3,
    'classes': ['a', 'b'],
    'clip_norm': 0.5,
    'dataset': 'sample',
    'eval_dir': '/elsewhere',
    'examples_per_epoch': 1000,
    'learning_rate': 0.05,
    'machines_per_step': 1,
    'num_gpus': 2,
    'precision': 'bfloat16',
    'seed': None,
    'stretches': [[0, 64], [10, 128]],
    'top_layers': 'local',
    'train_dir': '/runs/1'
}


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


def test_the_tutorials_constants_are_in_its_own_files():
  assert cifar10_input.IMAGE_SIZE == cifar10.IMAGE_SIZE == 24
  assert cifar10_input.crop_size(records.Layout()) == 24
  assert cifar10_input.NUM_CLASSES == cifar10.NUM_CLASSES == 10
  assert cifar10.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN == 50000
  assert cifar10.NUM_EXAMPLES_PER_EPOCH_FOR_EVAL == 10000
  assert cifar10.MOVING_AVERAGE_DECAY == 0.9999
  assert cifar10.NUM_EPOCHS_PER_DECAY == 350.0
  assert cifar10.LEARNING_RATE_DECAY_FACTOR == 0.1
  assert cifar10.INITIAL_LEARNING_RATE == 0.1
  assert cifar10.TOWER_NAME == 'tower'


def test_it_cannot_be_changed():
  with pytest.raises(dataclasses.FrozenInstanceError):
    Settings().input = None
  with pytest.raises(dataclasses.FrozenInstanceError):
    Settings().batch_size = 1


def test_settings_are_found_by_their_flat_names():
  config = Settings(batch_size=7, seed=3)
  assert (config.batch_size, config.seed) == (7, 3)
  assert dataclasses.replace(config, seed=4) == Settings(batch_size=7, seed=4)
  assert config.of_groups('input', 'metrics') == {
      'batch_size': 7,
      'metrics': ''
  }
  with pytest.raises(TypeError):
    Settings(bach_size=7)


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
  config = Settings(run_once=True, export_dir='/x', **values)
  config_lib.save(config, str(tmp_path))
  assert os.listdir(str(tmp_path)) == ['config.json']
  # The settings of other programs are no part of it.
  assert config_lib.load(str(tmp_path)) == Settings(**values)
  config_lib.save(Settings(), str(tmp_path))  # Over it.
  assert config_lib.load(str(tmp_path)) == cifar10.with_constants(Settings())


def test_it_is_flat_on_disk(tmp_path):
  config_lib.save(Settings(num_gpus=3), str(tmp_path))
  values = json.loads((tmp_path / 'config.json').read_text())
  assert values['num_gpus'] == 3
  assert not any(isinstance(value, (dict, list)) for value in values.values())
  assert not {'classes', 'eval_dir', 'top_k', 'export_dir', 'metrics'
             } & set(values)


def test_the_file_of_version_1_is_loaded(tmp_path):
  (tmp_path / 'config.json').write_text(json.dumps(VERSION_1))
  names = set(VERSION_1) & set(settings_lib.FIELDS) - {'classes'}
  expected = Settings(**{name: VERSION_1[name] for name in names})
  assert config_lib.load(str(tmp_path)) == expected
  assert expected.top_layers == 'local'
  state = run_state.load(str(tmp_path))
  assert state == RunState(('a', 'b'), 1000, ((0, 64), (10, 128)))


def test_a_step_is_computed_alike_in_all_workers():
  agreed = set(settings_lib.with_policy('agreed'))
  assert agreed <= set(settings_lib.with_policy('saved'))
  # What each worker computes with.
  assert agreed >= {
      'augment', 'batch_size', 'clip_norm', 'dropout', 'grad_dtype',
      'hold_zeros', 'image_size', 'learning_rate', 'max_shift', 'momentum',
      'moving_average_decay', 'optimizer', 'schedule', 'sync'
  }
  # The chief's alone, or each machine's own.
  assert not agreed & {
      'data_dir', 'init_from', 'initializer', 'max_steps', 'precision',
      'save_secs', 'task_index', 'train_dir', 'validation_steps'
  }


def test_what_is_given_goes_along():
  config = dataclasses.replace(Settings(), given=frozenset(['seed']))
  assert dataclasses.replace(config, batch_size=3).given == {'seed'}


def test_the_data_is_found_from_elsewhere(tmp_path):
  config_lib.save(Settings(data_dir='here'), str(tmp_path))
  saved = config_lib.load(str(tmp_path))
  assert saved.data_dir == os.path.abspath('here')


def test_there_may_be_none(tmp_path):
  assert config_lib.load(str(tmp_path)) is None


def test_fields_of_other_versions_are_passed_over(tmp_path):
  values = {'batch_size': 9, 'from_the_future': 1}
  (tmp_path / 'config.json').write_text(json.dumps(values))
  assert config_lib.load(str(tmp_path)) == Settings(batch_size=9)


@pytest.mark.parametrize('text', ['{"batch_size": ', '', '[1]'])
def test_a_damaged_file_is_named(tmp_path, text):
  (tmp_path / 'config.json').write_text(text)
  with pytest.raises(UserError, match='config.json: ') as info:
    config_lib.load(str(tmp_path))
  assert '\n' not in str(info.value)


@pytest.mark.parametrize('values', [{
    'batch_size': 'x'
}, {
    'batch_size': None
}, {
    'batch_size': 128.5
}, {
    'seed': 'x'
}, {
    'dataset': 'mnist'
}, {
    'top_layers': 'none'
}, {
    'batch_size': 0
}, {
    'batch_size': True
}, {
    'learning_rate': float('nan')
}, {
    'learning_rate': float('inf')
}, {
    'overwrite': 1
}, {
    'train_dir': 7
}])
def test_a_value_of_another_type_is_named(tmp_path, values):
  (tmp_path / 'config.json').write_text(json.dumps(values))
  (name,) = values
  with pytest.raises(UserError, match='config.json: %s is ' % name) as info:
    config_lib.load(str(tmp_path))
  assert '\n' not in str(info.value)


def test_numbers_that_older_versions_took_are_within_the_limits(tmp_path):
  values = {'save_secs': 10**10, 'num_gpus': 100, 'l2_scale': 1e300}
  values['batch_size'] = 10**9
  (tmp_path / 'config.json').write_text(json.dumps(values))
  config = config_lib.load(str(tmp_path))
  assert config.save_secs == (1 << 31) - 1
  assert config.num_gpus == 64
  assert config.batch_size == 1 << 16
  assert config.l2_scale == 1e38


def test_a_whole_number_is_a_float_too(tmp_path):
  (tmp_path / 'config.json').write_text('{"learning_rate": 1}')
  assert config_lib.load(str(tmp_path)).learning_rate == 1
