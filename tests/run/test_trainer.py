"""What a trainer knows of a run before its first step."""

import dataclasses

import pytest

from cifar10 import cifar10
from cifar10.errors import UserError
from cifar10.run import trainer
from cifar10.settings import Settings
from cifar10.store import run_state
from tests import short_runs
from tests import synthetic_records


@pytest.mark.parametrize('batch_size, num_gpus, epochs, max_steps, last_step',
                         [(16, 1, 0, 70, 70), (16, 1, 2, 10**6, 125),
                          (16, 2, 2, 10**6, 63), (300, 1, 1, 10**6, 4),
                          (100, 1, 1.1, 10**6, 11), (16, 1, 0.5, 10**6, 32),
                          (16, 1, 2, 70, 70), (16, 1, 1e-6, 70, 1)])
def test_a_run_ends_after_its_steps_or_its_epochs(batch_size, num_gpus, epochs,
                                                  max_steps, last_step):
  settings = Settings(batch_size=batch_size, num_gpus=num_gpus, epochs=epochs,
                      max_steps=max_steps)
  state = run_state.RunState((), 1000, ((0, settings.examples_per_machine),))
  assert trainer.Run(settings, None, state).last_step == last_step


def test_epochs_count_what_was_seen_in_batches_of_another_size():
  # 1,000 images: 4 steps of 250, then 5 of 200.
  state = run_state.RunState((), 1000, ((0, 250), (4, 200)))
  assert state.last_step(Settings(batch_size=200, epochs=2)) == 9


def test_settings_are_prepared_with_constants_classes_and_shape(
    tmp_path, monkeypatch):
  monkeypatch.setattr(cifar10, 'INITIAL_LEARNING_RATE', 0.25)
  data_dir = synthetic_records.make_three_classes(tmp_path, 40, 1)
  given = Settings(data_dir=data_dir, batch_size=7)
  settings, data = trainer.prepare_data(given)
  assert settings == dataclasses.replace(cifar10.with_constants(given),
                                         classes=data.classes,
                                         image_shape=(40, 40, 1))
  assert settings.learning_rate == 0.25 and len(settings.classes) == 3


def test_a_missing_source_is_named_before_anything_is_fetched(
    tmp_path, monkeypatch):
  settings = short_runs.small_config(tmp_path, init_from='/gone')
  monkeypatch.setattr(trainer, 'prepare_data', None)
  with pytest.raises(UserError, match='^--init_from=/gone: there is no such'):
    trainer.train(settings, None)
