"""The frame of a trainer: data, directory, lock and graph, without steps."""

import dataclasses

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.errors import UserError
from cifar10.run import trainer
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from tests import short_runs
from tests import synthetic_records


def save_step(run, step):
  """Saves what a run leaves in its directory, at a step."""
  directory = run.settings.train_dir
  checkpoints.write(directory, {'global_step': np.int64(step)})
  config.save(run.settings, directory)
  run.state.save(directory)


def starts(settings, step=None):
  """Pairs (Run, seed) of a start of a trainer, one or none; it saves a step."""
  found = []

  def take_steps(run):
    found.append((run, tf.get_default_graph().seed))
    assert not tf.get_default_graph().get_operations()
    if step is not None:
      save_step(run, step)

  trainer.train(settings, take_steps)
  return found


@pytest.mark.parametrize('batch_size, num_gpus, epochs, max_steps, last_step',
                         [(16, 1, 0, 70, 70), (16, 1, 2, 10**6, 125),
                          (16, 2, 2, 10**6, 63), (300, 1, 1, 10**6, 4),
                          (16, 1, 2, 70, 70)])
def test_a_run_ends_after_its_steps_or_its_epochs(batch_size, num_gpus, epochs,
                                                  max_steps, last_step):
  settings = Settings(batch_size=batch_size, num_gpus=num_gpus, epochs=epochs,
                      max_steps=max_steps)
  state = run_state.RunState((), 1000, ((0, settings.examples_per_machine),))
  assert trainer.Run(settings, None, state).last_step == last_step


def test_settings_are_prepared_with_constants_classes_and_shape(
    tmp_path, monkeypatch):
  monkeypatch.setattr(cifar10, 'INITIAL_LEARNING_RATE', 0.25)
  data_dir = synthetic_records.make_three_classes(tmp_path, 40, 1)
  given = Settings(data_dir=data_dir, batch_size=7)
  settings, data = trainer.prepared(given)
  assert settings == dataclasses.replace(cifar10.with_constants(given),
                                         classes=data.classes,
                                         image_shape=(40, 40, 1))
  assert settings.learning_rate == 0.25 and len(settings.classes) == 3


def test_a_resumed_run_has_other_random_numbers_and_its_history(
    tmp_path, capsys):
  settings = short_runs.small_config(tmp_path, seed=5, max_steps=8)
  ((first, seed),) = starts(settings, step=3)
  assert seed == 5 and first.state.stretches == ((0, 16),)
  out = capsys.readouterr().out
  assert 'Resuming' not in out
  assert out.count('\nTensorBoard: ') == out.count('To evaluate: ') == 1
  ((second, other),) = starts(dataclasses.replace(settings, batch_size=32))
  assert other == second.state.seed_of_start(5) != 5
  assert second.state.stretches == ((0, 16), (3, 32))
  assert [start.step for start in second.state.starts] == [0, 3]
  out = capsys.readouterr().out
  assert 'Resuming from %s/model.ckpt-3.\n' % settings.train_dir in out
  assert 'Changed from here on: --batch_size, 16 -> 32.\n' in out


def test_a_missing_source_is_named_before_anything_is_fetched(
    tmp_path, monkeypatch):
  settings = short_runs.small_config(tmp_path, init_from='/gone')
  monkeypatch.setattr(trainer, 'prepared', None)
  with pytest.raises(UserError, match='^--init_from=/gone: there is no such'):
    trainer.train(settings, None)
