"""The session's settings."""

import pytest

from cifar10 import runs
from cifar10.config import Config


def test_memory_of_gpus_grows_on_demand_and_placement_is_soft():
  proto = runs.session_config(Config())
  assert proto.allow_soft_placement
  assert proto.gpu_options.allow_growth
  assert proto.gpu_options.per_process_gpu_memory_fraction == 0
  assert not proto.log_device_placement
  assert 'GPU' not in proto.device_count


def test_settings_reach_the_session():
  config = Config(gpu_memory_fraction=0.3, log_device_placement=True)
  proto = runs.session_config(config, use_gpu=False)
  fraction = proto.gpu_options.per_process_gpu_memory_fraction
  assert fraction == pytest.approx(0.3)
  assert proto.log_device_placement
  assert proto.device_count['GPU'] == 0
