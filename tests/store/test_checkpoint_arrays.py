"""Checkpoints as arrays."""

import numpy as np
import pytest

from cifar10.errors import UserError
from cifar10.store import checkpoint_arrays
from cifar10.store import checkpoints


def test_what_is_written_is_read(tmp_path):
  values = {
    'conv1/weights': np.arange(6, dtype=np.float32).reshape(2, 3),
    'a/b': np.array(2.5, np.float64),
    'global_step': np.array(70, np.int64),
  }
  checkpoint_arrays.write(str(tmp_path), values)
  path = checkpoints.latest(str(tmp_path))
  assert path == str(tmp_path / 'model.ckpt-70')
  found = checkpoint_arrays.read(path)
  assert found.keys() == values.keys()
  for name, value in values.items():
    np.testing.assert_array_equal(found[name], value)
    assert found[name].dtype == value.dtype


def test_a_missing_one_is_named(tmp_path):
  with pytest.raises(UserError, match='model.ckpt-7: cannot be read'):
    checkpoint_arrays.read(str(tmp_path / 'model.ckpt-7'))
