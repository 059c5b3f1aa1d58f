"""The state of a run: resumed, saved, loaded."""

import json

import pytest

from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.store.run_state import RunState
from tests import synthetic_records


def state(*stretches):
  return RunState(('a', 'b'), 50000, stretches)


def resumed(so_far, step, examples_per_step):
  """The state of a run that is resumed at a step."""
  stretches = run_state.resumed_at(step, so_far.stretches, examples_per_step)
  return state(*stretches)


def test_a_run_resumed_with_the_same_batch_keeps_its_offset():
  saved = state((0, 64), (200, 128))
  assert saved.step_offset == -100
  assert resumed(saved, 1000, 128) == saved
  assert state((0, 128)).step_offset == 0


def test_a_run_resumed_with_another_batch_counts_its_examples():
  double = resumed(state((0, 128)), 1000, 256)
  assert double.examples_per_step == 256
  # 1,000 steps of 128 are 500 of 256.
  assert 1000 + double.step_offset == 500
  again = resumed(double, 1600, 128)
  # And 600 of 256 on top: as many examples as 2,200 steps of 128.
  assert 1600 + again.step_offset == 2200


def test_twice_the_batch_is_half_the_steps(tmp_path):
  double = resumed(state((0, 128)), 100000, 256)
  assert double.step_offset == -50000
  # Through the file, and back again without a step in between.
  double.save(str(tmp_path))
  saved = run_state.load(str(tmp_path))
  assert saved == double
  assert resumed(saved, 100000, 256) == double
  assert resumed(saved, 100000, 128).step_offset == 0


def test_a_run_that_goes_back_counts_what_is_left_of_it():
  # 128 up to step 100,000 and 256 from there: resumed from step 40,000.
  saved = state((0, 128), (100000, 256))
  assert 40000 + resumed(saved, 40000, 256).step_offset == 20000
  assert resumed(saved, 40000, 128).step_offset == 0
  assert resumed(saved, 0, 128).step_offset == 0
  assert resumed(saved, 0, 256).step_offset == 0


@pytest.mark.parametrize('step', [0, 1, 99999, 123457])
@pytest.mark.parametrize('examples_per_step', [1, 100, 127, 1000])
def test_uneven_batches_lose_less_than_a_step(step, examples_per_step):
  found = resumed(state((0, 128)), step, examples_per_step)
  counted = (step + found.step_offset) * examples_per_step
  assert 0 <= step * 128 - counted < examples_per_step


def test_there_may_be_none(tmp_path):
  assert run_state.load(str(tmp_path)) is None
  (tmp_path / 'config.json').write_text('{"batch_size": 4}')
  assert run_state.load(str(tmp_path)) is None


def test_a_run_of_version_1_has_its_state_in_config_json(tmp_path):
  values = {'classes': ['a', 'b'], 'examples_per_epoch': 50000}
  values.update(batch_size=64, num_gpus=2, machines_per_step=3, stretches=[])
  (tmp_path / 'config.json').write_text(json.dumps(values))
  assert run_state.load(str(tmp_path)) == state((0, 384))
  values['stretches'] = [[0, 64], [9, 384]]
  (tmp_path / 'config.json').write_text(json.dumps(values))
  assert run_state.load(str(tmp_path)) == state((0, 64), (9, 384))


def test_version_1_may_resume_a_run_of_this_version(tmp_path):
  state((0, 128)).save(str(tmp_path))
  values = {'classes': ['a', 'b'], 'examples_per_epoch': 50000}
  values['stretches'] = [[0, 128], [9, 384]]
  (tmp_path / 'config.json').write_text(json.dumps(values))
  assert run_state.load(str(tmp_path)) == state((0, 128), (9, 384))


def test_the_size_of_the_images_is_kept(tmp_path):
  data = datasets.describe(Settings(dataset='sample'))
  run_state.begin(data, 16).save(str(tmp_path))
  found = run_state.load(str(tmp_path))
  assert found.image_shape == (32, 32, 3)
  known = {'classes': datasets.CLASSES, 'image_shape': (32, 32, 3)}
  assert run_state.trained_on(found, Settings(dataset='sample')) == known


def test_earlier_versions_did_not_keep_the_size_of_the_images(tmp_path):
  own = synthetic_records.make_own_dataset(tmp_path)
  for settings, shape in ((Settings(dataset='svhn'), (32, 32, 3)), (own, ())):
    found = run_state.trained_on(state((0, 128)), settings)
    assert found == {'classes': ('a', 'b'), 'image_shape': shape}
  nothing = {'classes': (), 'image_shape': ()}
  assert run_state.trained_on(None, Settings()) == nothing


@pytest.mark.parametrize('changes', [{
    'stretches': 3
}, {
    'image_shape': 32
}, {
    'stretches': [[1]]
}, {
    'stretches': [[]]
}, {
    'stretches': [[0, 0]]
}, {
    'stretches': [[5, 64]]
}, {
    'starts': [{
        'step': 0,
        'time': 1e20,
        'changed': []
    }]
}, {
    'stretches': [[0, 10**400]]
}, {
    'examples_per_epoch': 'x'
}, {
    'examples_per_epoch': 0
}, {
    'validations': [[-1, 0.5]]
}, {
    'stopped_at': 'x'
}, {
    'classes': 3
}])
def test_a_damaged_file_is_named(tmp_path, changes):
  state((0, 128)).save(str(tmp_path))
  path = tmp_path / 'run_state.json'
  path.write_text(json.dumps(dict(json.loads(path.read_text()), **changes)))
  with pytest.raises(UserError, match='run_state.json: ') as info:
    run_state.load(str(tmp_path))
  assert '\n' not in str(info.value)


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
