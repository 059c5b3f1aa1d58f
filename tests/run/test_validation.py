"""Validation on held-out images: what is held out, and what follows."""

import contextlib
import dataclasses
import functools
import io
import json
import os
from pathlib import Path
import shutil
from unittest import mock

import numpy as np
import pytest

from cifar10 import cifar10_eval
from cifar10 import cifar10_multi_gpu_train
from cifar10 import cifar10_train
from cifar10.data import datasets
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.infer import follower
from cifar10.infer import predictions
from cifar10.optim import schedules
from cifar10.run import train_dir
from cifar10.run import validation
from cifar10.settings import Settings
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from cifar10.store import run_state
from cifar10.store import saving
from cifar10.tools.report import events
from tests import short_runs
from tests import synthetic_records


def held_out_data(tmp_path, held_out, labelled=0):
  """Five files of 20 records, all different, of which some are held out."""
  synthetic_records.make_folder(tmp_path)
  return datasets.prepare(
      Settings(data_dir=str(tmp_path), validation_examples=held_out,
               labelled_examples=labelled))


@pytest.mark.parametrize('held_out, labelled', [(0, 0), (7, 0), (33, 0),
                                                (0, 30), (20, 20), (33, 67)])
def test_the_last_records_are_held_out_and_the_first_ones_have_labels(
    tmp_path, held_out, labelled):
  data = held_out_data(tmp_path, held_out, labelled)
  all_records = records.load(data.train_files, data.layout)
  count = labelled or 100 - held_out
  assert data.examples_per_epoch == count
  np.testing.assert_array_equal(data.records_to_train_on(), all_records[:count])
  np.testing.assert_array_equal(
      data.held_out_records() if held_out else all_records[:0],
      all_records[100 - held_out:])


@pytest.mark.parametrize('held_out, labelled, problem', [
    (33, 68, '--labelled_examples=68: there are 67 images to train on; expect'),
    (100, 0, '=100: there are 100 training images'),
])
def test_more_than_there_are_is_refused(tmp_path, held_out, labelled, problem):
  with pytest.raises(UserError, match=problem):
    held_out_data(tmp_path, held_out, labelled)


@pytest.mark.parametrize('precisions, falls',
                         [((), 0), ((0.5, 0.4), 0), ((0.5, 0.4, 0.5), 1),
                          ((0.5, 0.4, 0.5, 0.5), 1),
                          ((0.5, 0.4, 0.5, 0.5, 0.5), 2),
                          ((0.5, 0.4, 0.6, 0.5, 0.7, 0.8), 0)])
def test_the_rate_falls_when_patience_ends(precisions, falls):
  validations = tuple(enumerate(precisions))
  assert schedules.count_falls(validations, patience=2) == falls


class Precisions:
  """A validator that finds the numbers that it is given, one after another."""

  total = 100
  logits = None
  averages = ()

  def __init__(self, numbers, before):
    self._numbers, self._before = list(numbers), before

  def correct(self, values):
    self._before(len(self._numbers))
    return self._numbers.pop(0)

  def close(self):
    assert not self._numbers


def settings_of_run(tmp_path, **settings):
  config = short_runs.small_config(tmp_path, validation_examples=50,
                                   validation_steps=2, max_steps=20,
                                   batch_size=4, hidden_layers='8')
  return dataclasses.replace(config, **settings)


def train(config, numbers, before=lambda left: None):
  """Trains; the validations find `numbers` of 100 images right.

  `before` is called before each of them with the number that are left.
  """
  with mock.patch.object(
      predictions, 'Validator',
      lambda records, data, config: Precisions(numbers, before)):
    cifar10_train.train(config)


# By performance: the rate falls with each validation that is not better.
RATES = {
    'schedule': 'performance',
    'patience': 1,
    'learning_rate_decay_factor': 0.5
}


@pytest.fixture(scope='module')
def validated(tmp_path_factory):
  """The folder of a run of 7 steps: 0.5 in the middle is the best one."""
  folder = tmp_path_factory.mktemp('validated')
  config = settings_of_run(folder, max_steps=7, save_steps=2,
                           metrics=str(folder / 'metrics'), **RATES)
  train(config, [40, 50, 30])
  return folder


@pytest.fixture(scope='module')
def stopped(tmp_path_factory):
  """The folder of a run that stopped early, and its output."""
  folder, out = tmp_path_factory.mktemp('stopped'), io.StringIO()
  config = settings_of_run(folder, early_stopping=2, save_steps=1)
  with contextlib.redirect_stdout(out):
    train(config, [10, 30, 20, 30])
  return folder, out.getvalue()


def copied(folder, tmp_path, **settings):
  """The Settings of a copy of the run in a folder, to go on with."""
  shutil.copytree(str(folder / 'train'), str(tmp_path / 'train'))
  return settings_of_run(tmp_path, **settings)


def learning_rates(folder):
  """The rates in the metrics of a run, of all its steps."""
  lines = (folder / 'metrics').read_text().splitlines()
  return [json.loads(line)['learning_rate'] for line in lines]


@pytest.mark.slow
def test_training_stops_with_the_best_checkpoint(tmp_path, stopped, capsys):
  folder, out = stopped
  config = copied(folder, tmp_path, early_stopping=2, save_steps=1)
  directory = config.train_dir
  newest = checkpoints.latest(directory)
  assert checkpoints.step(newest) == 4
  best = checkpoints.latest(os.path.join(directory, 'best'))
  assert checkpoints.step(best) == 4
  restored, kept = short_runs.values(newest), short_runs.values(best)
  for name, value in kept.items():
    np.testing.assert_array_equal(restored[name], value)
  later = short_runs.values(checkpoints.at_step(directory, 7))
  # Not of a lower layer: its few units may be dead.
  biases = 'softmax_linear/biases'
  assert (later[biases] != kept[biases]).any()
  assert 'precision @ 1 = 0.300 (30 / 100, step 4), the best so far' in out
  assert '0.200 (20 / 100, step 6), best: 0.300 at step 4' in out
  assert 'Restored the best checkpoint, of step 4.' in out
  # It has ended, for the trainer and for who follows it.
  cifar10_train.train(config)
  line = 'training was stopped early at step 4: nothing to do'
  assert line in capsys.readouterr().out
  for place in (directory, os.path.join(directory, 'best')):
    assert config_lib.is_last(place, 4)
    assert not config_lib.is_last(place, 8)
  # With other settings it goes on from there.
  train(settings_of_run(tmp_path, max_steps=6), [40])
  assert checkpoints.step(checkpoints.latest(directory)) == 6
  train(dataclasses.replace(config, early_stopping=3, max_steps=8), [50])
  assert run_state.load(directory).stopped_at is None


@pytest.mark.slow
def test_who_follows_ends_if_the_best_was_evaluated_before(
    tmp_path, stopped, monkeypatch, capsys):
  config = copied(stopped[0], tmp_path, run_once=False, eval_interval_secs=0)
  monkeypatch.setattr(follower, '_LOOK_SECS', 1)
  cifar10_eval.evaluate(config)
  assert capsys.readouterr().out.count('precision @ 1 = 0.') == 1


@pytest.mark.slow
def test_the_best_one_is_kept_when_steps_are_lost(tmp_path, validated):
  config = copied(validated, tmp_path, early_stopping=2, **RATES)
  directory = config.train_dir
  # Killed before step 4 was saved.
  forget_steps(directory, 4, 6, 7)
  train(config, [20, 45, 20])
  assert checkpoints.step(checkpoints.latest(directory)) == 4
  state = run_state.load(directory)
  assert state.stopped_at == 4
  assert state.validations == ((2, 0.4), (4, 0.2), (6, 0.45), (8, 0.2))
  # Not 0.2, which step 4 had when it was trained again.
  best = os.path.join(directory, 'best')
  assert validation.best_so_far(best) == (4, 0.5)


def forget_steps(directory, *steps):
  """Makes a run one that was killed before it saved some steps."""
  for step in steps:
    checkpoint_files.remove(checkpoints.at_step(directory, step))
  os.remove(os.path.join(directory, 'checkpoint'))


@contextlib.contextmanager
def noted_states(folder, copies):
  """Copies a folder before each call that renames or removes a file there.

  That is what a process which is killed there leaves behind.
  """
  with contextlib.ExitStack() as stack:
    for name in ('replace', 'remove'):

      def call(*paths, function=getattr(os, name)):
        if paths[-1].startswith(folder + os.sep):
          shutil.copytree(folder, str(copies / str(len(os.listdir(copies)))))
        function(*paths)

      stack.enter_context(mock.patch.object(os, name, call))
    yield


@pytest.mark.slow
@pytest.mark.parametrize('lost, steps', [((4, 6, 7), (4, 4)),
                                         ((2, 4, 6, 7), (4, 2)), ((), (4, 8))])
def test_whenever_it_is_killed_the_best_one_has_its_precision(
    tmp_path, validated, lost, steps):
  config = copied(validated, tmp_path, max_steps=9 if not lost else steps[1],
                  **RATES)
  if lost:
    forget_steps(config.train_dir, *lost)
  best = os.path.join(config.train_dir, 'best')
  before = checkpoints.digest(checkpoints.latest(best))
  copies = tmp_path / 'copies'
  copies.mkdir()
  with noted_states(best, copies):
    train(config, [60])
  outcomes = []
  for number in range(len(os.listdir(copies))):
    folder = str(copies / str(number))
    for _ in range(2):  # Then with what the next trainer puts in its place.
      path = checkpoints.latest(folder)
      is_new = checkpoints.digest(path) != before
      checkpoints.read(path)
      assert validation.best_so_far(folder) == ((steps[1], 0.6) if is_new else
                                                (steps[0], 0.5))
      checkpoint_files.remove_unfinished(folder)
    assert checkpoints.latest(folder) == checkpoints.at_step(
        folder, steps[is_new])
    outcomes.append(is_new)
  assert outcomes == sorted(outcomes) and {*outcomes} == {False, True}
  assert list(checkpoints.by_step(best)) == [steps[1]]
  assert validation.best_so_far(best) == (steps[1], 0.6)


def contents(folder):
  return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.parametrize('overwrite', [False, True])
@pytest.mark.parametrize(
    'how', ['new', 'unknown', 'other names', 'from the best one', 'now'])
def test_another_run_in_its_folder_is_left_alone(tmp_path, validated, how,
                                                 overwrite):
  config = copied(validated, tmp_path, overwrite=overwrite, **RATES)
  best = os.path.join(config.train_dir, 'best')
  state = run_state.load(best)
  starts = () if how == 'new' else state.starts
  if how != 'now':
    starts += (run_state.Start(4, 5.0),)
  dataclasses.replace(state, starts=starts).save(best)
  if how in ('unknown', 'other names'):  # Copied there, or of another program.
    os.remove(os.path.join(best, 'run_state.json'))
  if how == 'other names':
    for path in Path(best).glob('model.ckpt-*'):
      path.rename(path.with_name(path.name[len('model.'):]))
  # Of a trainer that is at work there, it may not be known yet.
  problem = 'best: holds a run of its own; the best checkpoint of .*/train is '
  with contextlib.ExitStack() as stack:
    if how == 'now':
      stack.enter_context(train_dir.locked(best))
      problem = 'best: ' + train_dir.IN_USE
    before = contents(best)
    with pytest.raises(UserError, match=problem):
      train(config, [])
    assert contents(best) == before
  if how != 'now':  # Without validations, they have nothing to do with it.
    train_dir.remove_run(config.train_dir)
    assert contents(best) == before
    assert os.listdir(config.train_dir) == ['best']


@pytest.mark.slow
def test_no_trainer_begins_in_the_folder_of_the_best_one(tmp_path):
  config = settings_of_run(tmp_path, max_steps=2)
  best = os.path.join(config.train_dir, 'best')

  def train_beside(left):
    with pytest.raises(UserError, match=train_dir.IN_USE):
      cifar10_train.train(dataclasses.replace(config, train_dir=best))

  train(config, [30], train_beside)
  assert '.lock' not in os.listdir(best)


@pytest.mark.slow
def test_a_resumed_run_has_each_step_in_its_curves_once(tmp_path, validated):
  config = copied(validated, tmp_path, max_steps=6, save_steps=2,
                  summary_steps=1, **RATES)
  forget_steps(config.train_dir, 4, 6, 7)  # Killed; then again, at step 6.
  train(config, [20, 45])
  forget_steps(config.train_dir, 6)
  train(config, [35])
  files, _ = events.read_folder(config.train_dir)
  rates, precisions = ({
      point.step: point.value for point in events.curve(files, tag)
  } for tag in ('learning_rate', 'Precision @ 1, held-out images'))
  assert [*rates] == [0, 2, 3, 4, 5]
  assert precisions == pytest.approx({2: 0.4, 4: 0.2, 6: 0.35})


@pytest.mark.slow
def test_a_resumed_run_remembers_its_validations(tmp_path, validated, capsys):
  assert learning_rates(validated) == pytest.approx([0.1] * 6 + [0.05])
  # What was not saved is validated again, and demotes nothing.
  config = copied(validated, tmp_path, early_stopping=3, save_steps=1,
                  metrics=str(tmp_path / 'metrics'), **RATES)
  save_checkpoint = saving.save_checkpoint

  def killed(saver, session, directory, note=None):
    if directory.endswith('best'):
      raise KeyboardInterrupt
    return save_checkpoint(saver, session, directory, note)

  with mock.patch.object(saving, 'save_checkpoint', killed):
    with pytest.raises(KeyboardInterrupt):
      train(config, [60])
  capsys.readouterr()
  train(config, [20, 30])
  out = capsys.readouterr().out
  assert '0.200 (20 / 100, step 8), best: 0.500 at step 4' in out
  assert '0.300 (30 / 100, step 10), best: 0.500 at step 4' in out
  best = os.path.join(config.train_dir, 'best')
  assert list(checkpoints.by_step(best)) == [4]
  # Those from before count: the third that is not better ends the run.
  state = run_state.load(config.train_dir)
  assert state.validations == ((2, 0.4), (4, 0.5), (6, 0.3), (8, 0.2), (10,
                                                                        0.3))
  assert state.stopped_at == 4
  assert learning_rates(tmp_path)[-3:] == pytest.approx([0.05] + [0.025] * 2)


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_stops_early_loses_nothing(
    tmp_path, monkeypatch, capsys):
  config = settings_of_run(tmp_path, early_stopping=2, save_steps=1)
  directory = config.train_dir
  save_checkpoint = saving.save_checkpoint

  def killed(is_saved, saver, session, folder, note=None):
    stops = run_state.load(folder) and run_state.load(folder).stopped_at
    if is_saved or not stops:
      step = save_checkpoint(saver, session, folder, note)
    if stops:
      raise KeyboardInterrupt
    return step

  # Before it has saved what it goes back to, then after that.
  for is_saved, newest in ((False, 5), (True, 2)):
    monkeypatch.setattr(saving, 'save_checkpoint',
                        functools.partial(killed, is_saved))
    with pytest.raises(KeyboardInterrupt):
      train(config, [10] if is_saved else [30, 20, 10])
    assert checkpoints.step(checkpoints.latest(directory)) == newest
    out = capsys.readouterr().out
    resumed = 'Resuming from %s-5.' % checkpoints.prefix(directory)
    assert is_saved == (resumed in out)
  monkeypatch.undo()
  cifar10_train.train(config)
  line = 'was stopped early at step 2: nothing to do'
  assert line in capsys.readouterr().out
  assert checkpoints.step(checkpoints.latest(directory)) == 2
  assert run_state.load(directory).stopped_at == 2


@pytest.mark.slow
def test_the_precision_is_that_of_the_averaged_variables(
    tmp_path, capsys, monkeypatch):
  config = settings_of_run(tmp_path, max_steps=4, validation_steps=4,
                           normalization='batch')
  data = datasets.prepare(config)
  cifar10_multi_gpu_train.train(config)
  (line,) = [
      line for line in capsys.readouterr().out.splitlines() if 'step 4)' in line
  ]
  best = checkpoints.latest(os.path.join(config.train_dir, 'best'))
  newest = checkpoints.latest(config.train_dir)
  assert checkpoints.step(best) == checkpoints.step(newest) == 4
  # As with large images: 7 of the 50 at a time.
  monkeypatch.setattr(records, '_MAX_BYTES', 7 * 3073)
  validator = predictions.Validator(data.held_out_records(), data, config)
  values = short_runs.values(newest)
  correct = validator.correct(
      {name: values[name] for name in validator.averages})
  validator.close()
  assert '(%d / 50, step 4)' % correct in line


@pytest.mark.slow
def test_a_run_that_is_too_short_to_be_validated_says_so(tmp_path, capsys):
  train(settings_of_run(tmp_path, max_steps=1), [])
  line = ('WARNING: --validation_steps=2: the run ends at step 1, before the '
          'first validation.')
  assert line in capsys.readouterr().out
