"""The state of a run: resumed, saved, loaded."""

import json

import pytest

from cifar10.errors import UserError
from cifar10.store import run_state
from cifar10.store.run_state import RunState


def state(*stretches):
  return RunState(('a', 'b'), 50000, stretches)


@pytest.mark.parametrize(
    'so_far, step, examples_per_step, seen_in_steps',
    [
        # Twice the batch is half the steps; back again, without a step.
        ([(0, 128)], 1000, 256, 500),
        ([(0, 128), (1000, 256)], 1000, 128, 1000),
        ([(0, 128), (1000, 256)], 1600, 128, 2200),
        ([(0, 64), (200, 128)], 1000, 128, 900),
        # From a step before the last stretch.
        ([(0, 128), (100000, 256)], 40000, 256, 20000),
        ([(0, 128), (100000, 256)], 40000, 128, 40000),
        ([(0, 128), (100000, 256)], 0, 256, 0),
        # Rounded down.
        ([(0, 128)], 99999, 1000, 12799),
        ([(0, 128)], 123457, 127, 124429),
    ])
def test_a_resumed_run_counts_its_examples(tmp_path, so_far, step,
                                           examples_per_step, seen_in_steps):
  state(*so_far).save(str(tmp_path))
  saved = run_state.load(str(tmp_path))
  assert saved == state(*so_far)
  found = saved.resumed(step, state((0, examples_per_step)))
  assert found.examples_per_step == examples_per_step
  assert step + found.step_offset == seen_in_steps
  assert found.resumed(step, state((0, examples_per_step))) == found


VERSION_1 = {'classes': ['a', 'b'], 'examples_per_epoch': 50000}
BATCHES = {'batch_size': 64, 'num_gpus': 2, 'machines_per_step': 3}


@pytest.mark.parametrize('values, expected', [
    ({'batch_size': 4}, None),
    (dict(VERSION_1, **BATCHES, stretches=[]), state((0, 384))),
    (dict(VERSION_1, stretches=[[0, 64], [9, 384]]), state((0, 64), (9, 384))),
])  # yapf: disable
def test_a_run_of_version_1_has_its_state_in_config_json(
    tmp_path, values, expected):
  assert run_state.load(str(tmp_path)) is None
  (tmp_path / 'config.json').write_text(json.dumps(values))
  assert run_state.load(str(tmp_path)) == expected
  # Version 1 may resume a run of this version.
  state((0, 128)).save(str(tmp_path))
  assert run_state.load(str(tmp_path)) == (expected or state((0, 128)))


@pytest.mark.parametrize('name, value', [
    ('stretches', 3),
    ('stretches', [[1]]),
    ('stretches', [[]]),
    ('stretches', [[0, 0]]),
    ('stretches', [[5, 64]]),
    ('stretches', [[0, 10**400]]),
    ('starts', [{'step': 0, 'time': 1e20, 'changed': []}]),
    ('image_shape', 32),
    ('examples_per_epoch', 'x'),
    ('examples_per_epoch', 0),
    ('validations', [[-1, 0.5]]),
    ('stopped_at', 'x'),
    ('classes', 3),
])  # yapf: disable
def test_a_damaged_file_is_named(tmp_path, name, value):
  state((0, 128)).save(str(tmp_path))
  path = tmp_path / 'run_state.json'
  values = json.loads(path.read_text())
  path.write_text(json.dumps(dict(values, **{name: value})))
  with pytest.raises(UserError, match='run_state.json: '):
    run_state.load(str(tmp_path))


def test_each_start_has_its_own_seed():

  def seed(seed, step, *more):
    starts = (run_state.Start(0, 1.0), run_state.Start(step, 2.0))
    return RunState(('a',), 9, ((0, 1),), starts).seed_of_start(seed, *more)

  assert seed(7, 0) == 7  # As a new run has always had.
  assert seed(None, 5) is None
  found = [seed(s, step) for s in (0, 7, 8, 1 << 31) for step in (1, 2, 300)]
  found += [seed(7, 0, 3), seed(7, 3, 1), seed(7, 3, 2), seed(7, 31)]
  assert len(set(found)) == len(found)
  assert all(0 <= one < 1 << 31 for one in found)
  assert seed(7, 5) == seed(7, 5)
