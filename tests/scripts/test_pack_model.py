"""Packing of models: rounding, calibration, and what becomes of a run."""

import dataclasses

import numpy as np
import pytest

from cifar10 import cifar10_train
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from cifar10.store import run_state
from tests import short_runs

pack_model = short_runs.module_of('benchmarks', 'pack_model')


@pytest.mark.parametrize('bits', [0, 5, 22, 23])
def test_numbers_are_rounded_to_the_nearest_with_so_many_bits(bits):
  values = np.random.RandomState(0).normal(size=1000).astype(np.float32)
  values[0] = 0
  found = pack_model.rounded(values, bits)
  step = 2.0**(np.floor(np.log2(np.maximum(np.abs(values), 1e-9))) - bits)
  np.testing.assert_array_equal(found % step, np.zeros(1000))
  assert (np.abs(found - values) <= step / 2).all()
  whole = np.arange(5)
  assert pack_model.rounded(whole, bits) is whole


def test_the_calibration_error_is_the_papers():
  # 15 bins: two answers in the last one, one of them right; one in another.
  sure = np.array([0.95, 0.99, 0.5])
  right = np.array([True, False, True])
  expected = (abs(1 - 1.94) + abs(1 - 0.5)) / 3
  assert pack_model.calibration_error(sure, right) == pytest.approx(expected)
  calibrated = np.full(100, 0.8), np.arange(100) < 80
  assert pack_model.calibration_error(*calibrated) == pytest.approx(0)


@pytest.mark.slow
def test_a_packed_run_is_one_of_no_machine(tmp_path):
  config = short_runs.small_config(tmp_path, activation='elu', max_steps=2)
  cifar10_train.train(config)
  source = config.train_dir
  kept = {
      name: value
      for name, value in checkpoints.read(checkpoints.latest(source)).items()
      if name.endswith(checkpoints.AVERAGE) or name == 'global_step'
  }
  folder = str(tmp_path / 'models' / 'short')
  pack_model.pack(config_lib.load(source), run_state.load(source), kept, folder)
  found = checkpoints.read(checkpoints.find(folder))
  assert set(found) == set(kept)
  for name, value in kept.items():
    np.testing.assert_array_equal(found[name], value)
  packed = config_lib.load(folder)
  assert packed.activation == 'elu'
  assert packed.of_groups('running') == Settings().of_groups('running')
  assert str(tmp_path) not in str(packed)
  assert run_state.load(folder).classes == run_state.load(source).classes
  answers = [
      short_runs.evaluated(dataclasses.replace(config,
                                               checkpoint_dir=directory))[1]
      for directory in (folder, source)
  ]
  np.testing.assert_array_equal(*answers)
