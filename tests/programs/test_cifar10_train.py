"""The trainer, as a process and as a function, on the bundled sample."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_multi_gpu_train
from cifar10 import cifar10_train
from cifar10 import networks
from cifar10.errors import DivergedError
from cifar10.errors import UserError
from cifar10.run import hooks
from cifar10.run import train_dir
from cifar10.run import trainer
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from cifar10.store import run_state
from cifar10.store import saving
from tests import processes
from tests import short_runs

SMALL = dict(short_runs.SMALL, batch_size=4)
FLAGS = [*short_runs.SMALL_FLAGS, '--batch_size=4']


def variable(train_dir, name, step=''):
  return tf.train.load_variable(checkpoints.find(train_dir, step), name)


@pytest.fixture(scope='module', name='every_other')
def _every_other(tmp_path_factory):
  """The Config of a run with the checkpoints of steps 0, 2, 4 and 5."""
  config = short_runs.small_config(tmp_path_factory.mktemp('every_other'),
                                   learning_rate=0.03, max_steps=5,
                                   save_steps=2, summary_steps=3, **SMALL)
  cifar10_train.train(config)
  return config


def copied(config, tmp_path):
  """The Config of a copy of a run."""
  copy = dataclasses.replace(config, train_dir=str(tmp_path / 'train'))
  shutil.copytree(config.train_dir, copy.train_dir)
  return copy


@pytest.mark.slow
def test_a_run_prints_saves_resumes_and_finishes(tmp_path):
  train_dir = str(tmp_path / 'train')
  flags = ['--train_dir=' + train_dir, '--batch_size=4']
  # Into a pipe, there are the tutorial's lines and no live one.
  out = short_runs.output('cifar10_train', '--max_steps=11', '--progress',
                          *flags)
  assert '\r' not in out and ' left' not in out
  lines = out.splitlines()
  assert lines[0] == (
      'Filling queue with 400 CIFAR images before starting to train.')
  assert short_runs.steps(out) == [0, 10]
  for _, loss, rate, seconds in short_runs.STEP_LINE.findall(out):
    assert 3.5 < float(loss) < 5.5
    # Both are rounded: to 0.1 and to 0.001.
    rounding = 0.0005 + 0.05 * 4 / float(rate)**2
    assert 4 / float(rate) == pytest.approx(float(seconds), abs=rounding)
  words = [line.split()[0] for line in lines[1:4]]
  assert words == ['Data:', 'Model:', 'Settings:']
  assert lines[6] == 'Step 11 is saved in %s/model.ckpt-11.' % train_dir
  assert lines[7].startswith('To evaluate: python ')
  assert lines[8].startswith(
      'TensorBoard: tensorboard --logdir_spec=train:%s,eval:%s_eval   (' %
      (train_dir, train_dir))
  assert len(lines) == 9
  average = variable(train_dir, 'total_loss/avg')

  out = short_runs.output('cifar10_train', '--max_steps=21', *flags)
  assert out.startswith('Resuming from %s/model.ckpt-11.\n' % train_dir)
  assert '\nChanged from here on: --max_steps, 11 -> 21.\n' in out
  assert short_runs.steps(out) == [20]
  # The first run's checkpoint is as it was.
  assert variable(train_dir, 'total_loss/avg', step='11') == average
  files = sorted(os.listdir(train_dir))

  out = short_runs.output('cifar10_train', '--max_steps=21', *flags)
  assert out.startswith('%s is at step 21 already' % train_dir)
  assert short_runs.steps(out) == []
  assert sorted(os.listdir(train_dir)) == files


def test_a_signal_saves_the_step_and_ends_cleanly(tmp_path):
  train_dir = str(tmp_path / 'train')
  process = short_runs.start('cifar10_train', '--train_dir=' + train_dir,
                             '--log_frequency=1', *FLAGS)
  line = short_runs.wait_for_step(process, 3)
  process.send_signal(signal.SIGHUP)
  out, err = process.communicate(timeout=300)
  assert (process.returncode, err) == (0, '')
  last = short_runs.steps(line + out)[-1]
  assert 'Stopped by SIGHUP.\n' in out
  assert 'Step %d is saved' % (last + 1) in out
  assert variable(train_dir, 'global_step') == last + 1


@pytest.mark.slow
def test_a_kill_loses_no_more_than_what_is_not_saved(tmp_path, capsys):
  config = short_runs.small_config(tmp_path, **SMALL)
  process = short_runs.start('cifar10_train', '--save_steps=1',
                             '--train_dir=' + config.train_dir,
                             '--log_frequency=1', *FLAGS)
  short_runs.wait_for_step(process, 3)
  process.kill()
  process.communicate()
  saved = variable(config.train_dir, 'global_step')
  assert saved >= 3
  lock = tmp_path / 'train' / '.lock'
  assert lock.exists()
  cifar10_train.train(dataclasses.replace(config, max_steps=int(saved) + 2))
  assert short_runs.steps(capsys.readouterr().out) == [saved, saved + 1]
  assert not lock.exists()


@pytest.mark.slow
def test_training_lowers_the_loss_and_learns(tmp_path, capsys):
  config = short_runs.small_config(tmp_path, batch_size=32, max_steps=101,
                                   seed=1)
  cifar10_train.train(config)
  losses = [
      float(loss)
      for _, loss, _, _ in short_runs.STEP_LINE.findall(capsys.readouterr().out)
  ]
  assert losses[0] == pytest.approx(4.68, abs=0.05)
  # The decay of the weights alone takes it to 4.53 by then.
  assert np.mean(losses[-20:]) < 4.36
  # There are summaries of every 100 steps, which name the exact step.
  found = short_runs.scalars(config.train_dir)
  for tag in ('learning_rate', 'losses/total_loss', 'conv1/sparsity'):
    assert sorted(found[tag]) == [0, 100], tag
  assert found['learning_rate'][100] == pytest.approx(0.1)


@pytest.mark.slow
def test_seeded_runs_are_equal_and_others_not(tmp_path):

  def trained(name, seed, **changes):
    metrics = tmp_path / (name + '.jsonl')
    config = short_runs.small_config(tmp_path / name, seed=seed,
                                     metrics=str(metrics), batch_size=4,
                                     **changes)
    cifar10_train.train(config)
    loss = json.loads(metrics.read_text().splitlines()[0])['loss']
    return short_runs.values(checkpoints.latest(config.train_dir)), loss

  (first, loss), (second, again) = trained('a', 7), trained('b', 7)
  assert loss == again
  for name, value in first.items():
    np.testing.assert_array_equal(second[name], value, err_msg=name)
  other, _ = trained('c', 8, max_steps=1)
  assert (first['conv1/weights'] != other['conv1/weights']).any()
  # Labels are smoothed in training.
  _, smoothed = trained('d', 7, max_steps=1, label_smoothing=0.9)
  assert smoothed != loss


def batches_seen(config, train=cifar10_train.train):
  """The losses of all steps so far: variables stay, so each is a batch."""
  metrics = os.path.join(config.train_dir + '.jsonl')
  train(
      dataclasses.replace(config, learning_rate=0.0, regularizer='none',
                          metrics=metrics))
  with open(metrics) as lines:
    found = [json.loads(line) for line in lines]
  losses = {line['step']: line['loss'] for line in found}
  assert len(losses) == len(found)  # A start that resumes repeats no step.
  return losses


@pytest.mark.slow
@pytest.mark.parametrize('train, num_gpus',
                         [(cifar10_train.train, 1),
                          (cifar10_multi_gpu_train.train, 2)])
def test_a_resumed_seeded_run_sees_other_images(tmp_path, train, num_gpus):
  config = short_runs.small_config(tmp_path, max_steps=3, seed=1,
                                   num_gpus=num_gpus, **SMALL)
  first = batches_seen(config, train)
  copy = copied(config, tmp_path / 'copy')
  longer = dataclasses.replace(config, max_steps=6)
  all_steps = batches_seen(longer, train)
  assert sorted(all_steps) == list(range(6))
  assert len(set(all_steps.values())) == 6
  assert {step: all_steps[step] for step in range(3)} == first
  if num_gpus == 1:  # And it is repeatable.
    again = batches_seen(dataclasses.replace(copy, max_steps=6), train)
    assert again == {step: all_steps[step] for step in (3, 4, 5)}


@pytest.mark.slow
def test_resumed_averages_and_rate_go_on(tmp_path):
  config = short_runs.trained(tmp_path, max_steps=5, learning_rate=1e-30)
  name = 'local4/weights/ExponentialMovingAverage'
  average = variable(config.train_dir, name)
  cifar10_train.train(config)
  # With hardly a step taken, the average moves towards the variable by the
  # decay of step 5: it was restored, and counted on.
  value = variable(config.train_dir, 'local4/weights')
  np.testing.assert_allclose(variable(config.train_dir, name),
                             average * 6 / 15 + value * 9 / 15, atol=1e-7)


def test_overwrite_starts_afresh_and_spares_other_files(tmp_path):
  config = short_runs.trained(tmp_path, overwrite=True, max_steps=2)
  (tmp_path / 'train' / 'notes.txt').write_text('mine')
  mine = tmp_path / 'train' / 'model.ckpt-old' / 'model.ckpt-1.index'
  mine.parent.mkdir()
  mine.write_text('mine')
  other = tmp_path / 'train' / 'model.ckpt-old.index'
  other.write_text('mine')
  cifar10_train.train(config)
  assert variable(config.train_dir, 'global_step') == 2
  names = os.listdir(config.train_dir)
  assert 'notes.txt' in names
  assert 'model.ckpt-4.index' not in names
  assert len([n for n in names if n.startswith('events.')]) == 1
  assert mine.read_text() == other.read_text() == 'mine'


@pytest.mark.slow
def test_checkpoints_by_steps_are_all_kept_unless_told(every_other, tmp_path):
  assert list(checkpoints.by_step(every_other.train_dir)) == [0, 2, 4, 5]
  config = copied(every_other, tmp_path)
  for step in (0, 2, 4, 5):  # As in a copy: any order.
    path = checkpoints.at_step(config.train_dir, step) + '.index'
    os.utime(path, (1000 - step, 1000 - step))
  # The newest are kept, those of the first start too.
  cifar10_train.train(
      dataclasses.replace(config, max_steps=7, save_steps=1, max_to_keep=3))
  assert list(checkpoints.by_step(config.train_dir)) == [5, 6, 7]


def test_a_resumed_run_saves_at_multiples_of_save_steps(every_other, tmp_path):
  config = copied(every_other, tmp_path)  # It ended at step 5.
  cifar10_train.train(dataclasses.replace(config, max_steps=9))
  assert list(checkpoints.by_step(config.train_dir)) == [0, 2, 4, 5, 6, 8, 9]


@pytest.mark.slow
def test_a_run_that_goes_back_keeps_what_it_saves(every_other, tmp_path,
                                                  capsys):
  config = copied(every_other, tmp_path)
  name = tmp_path / 'train' / 'checkpoint'
  name.write_text('model_checkpoint_path: "model.ckpt-2"')  # By a person.
  os.utime(str(name), (1000, 1000))  # And then copied.
  before = os.path.getmtime(checkpoints.at_step(config.train_dir, 4) + '.index')
  cifar10_train.train(dataclasses.replace(config, max_steps=4, max_to_keep=2))
  out = capsys.readouterr().out
  assert 'Resuming from %s.' % checkpoints.at_step(config.train_dir, 2) in out
  assert short_runs.steps(out) == [2, 3]
  assert list(checkpoints.by_step(config.train_dir)) == [2, 4]
  assert checkpoints.write_time(checkpoints.latest(config.train_dir)) > before


@pytest.mark.slow
def test_checkpoints_by_time(tmp_path, monkeypatch):

  clock = types.SimpleNamespace(now=0)
  clock.monotonic = lambda: clock.now
  after_run = hooks.LoggerHook.after_run

  def after_a_minute(self, run_context, run_values):
    clock.now += 60
    after_run(self, run_context, run_values)

  monkeypatch.setattr(hooks, 'time', clock)
  monkeypatch.setattr(saving, 'time', clock)
  monkeypatch.setattr(hooks.LoggerHook, 'after_run', after_a_minute)
  config = short_runs.small_config(tmp_path, max_steps=12, save_secs=300,
                                   **SMALL)
  cifar10_train.train(config)
  assert list(checkpoints.by_step(config.train_dir)) == [0, 5, 10, 12]


def test_a_run_leaves_no_thread(tmp_path, capfd, monkeypatch):
  before = set(threading.enumerate())
  algorithms = short_runs.noted_algorithms(monkeypatch)
  config = short_runs.small_config(tmp_path, **SMALL)
  cifar10_train.train(config)
  assert capfd.readouterr().err == ''
  # The form of convolutions is the one that is saved.
  assert algorithms == ['direct'] * 2
  assert config_lib.load(config.train_dir).conv == 'direct'
  assert not processes.threads_left(before)


def test_a_run_does_not_begin_anew_beside_later_checkpoints(
    every_other, tmp_path, capsys):
  config = copied(every_other, tmp_path)
  directory = config.train_dir
  state = run_state.load(directory)
  dataclasses.replace(state, stopped_at=1).save(directory)
  for step in (0, 2):
    checkpoint_files.remove(checkpoints.at_step(directory, step))
  os.remove(os.path.join(directory, 'checkpoint'))
  longer = dataclasses.replace(config, max_steps=6)
  assert train_dir.prepare(*trainer.prepare_data(longer), 4) is not None
  resumed = 'Resuming from %s' % checkpoints.at_step(directory, 5)
  assert resumed in capsys.readouterr().out


@pytest.mark.slow
def test_a_damaged_checkpoint_is_named(tmp_path):
  config = short_runs.trained(tmp_path, max_steps=5)
  data = tmp_path / 'train' / 'model.ckpt-4.data-00000-of-00001'
  content = bytearray(data.read_bytes())
  content[len(content) // 2] ^= 0xFF
  data.write_bytes(bytes(content))
  with pytest.raises(UserError, match='model.ckpt-4: cannot be read'):
    cifar10_train.train(config)


def test_a_checkpoint_of_another_model_is_named(tmp_path, monkeypatch):
  config = short_runs.trained(tmp_path, max_steps=5)
  inference = networks.inference

  def with_another_class(images, settings, **named):
    settings = dataclasses.replace(settings, classes=settings.classes + ('x',))
    return inference(images, settings, **named)

  monkeypatch.setattr(networks, 'inference', with_another_class)
  with pytest.raises(UserError, match=r'softmax_linear/.*\[10\].*\[11\]'):
    cifar10_train.train(config)


def test_a_step_that_spoils_variables_is_not_saved(tmp_path, monkeypatch):
  # The loss of step 0 is finite, what its gradients make of the variables is
  # not; the loss would tell at step 1 only.
  config = short_runs.small_config(tmp_path, save_steps=1,
                                   learning_rate=float('inf'), **SMALL)
  with pytest.raises(DivergedError, match='not finite at step 1'):
    cifar10_train.train(config)
  assert variable(config.train_dir, 'global_step') == 0


def resident_megabytes(pid):
  with open('/proc/%d/status' % pid) as status:
    return int(re.search(r'VmRSS:\s*(\d+) kB', status.read()).group(1)) / 1e3


@pytest.mark.slow
def test_memory_does_not_grow(tmp_path):
  # With one heap for all threads, and larger blocks outside of it, what is
  # freed goes back to the system: what grows is in use. The C library reads
  # this when a process starts, so the process is not a forked one.
  limits = {
      'MALLOC_ARENA_MAX': '1',
      'MALLOC_MMAP_THRESHOLD_': str(1 << 16),
      'MALLOC_TRIM_THRESHOLD_': str(1 << 16)
  }
  process = subprocess.Popen(
      [sys.executable, short_runs.script('cifar10_train')] + [
          '--dataset=sample', '--batch_size=8', '--image_size=12',
          '--hidden_layers='
      ] + ['--max_steps=1601', '--log_frequency=200', '--learning_rate=0.001'] +
      ['--train_dir=%s' % tmp_path], env=dict(os.environ, **limits),
      stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
  memory = {}
  for line in process.stdout:
    for step in short_runs.steps(line):
      memory[step] = resident_megabytes(process.pid)
  _, err = process.communicate(timeout=300)
  assert (process.returncode, err) == (0, '')
  assert sorted(memory) == list(range(0, 1601, 200))
  # The least of three: the next step, with its gradients, may be under way when
  # memory is read. A leak of conv1's weights in each step would be 15 MB, one
  # of the images 11 MB. Threads that get their first work late take 1 to 4 MB.
  early, late = (min(memory[step]
                     for step in steps)
                 for steps in ((400, 600, 800), (1200, 1400, 1600)))
  assert late - early < 9


def test_metrics_are_the_lines_of_the_console_for_a_larger_batch_too(
    tmp_path, capsys):
  path = tmp_path / 'metrics.jsonl'
  path.write_text('{"step": 2}\n')  # As an earlier start has left it.
  config = short_runs.trained(tmp_path, batch_size=32, max_steps=7,
                              log_frequency=2, metrics=str(path))
  cifar10_train.train(config)
  lines = short_runs.STEP_LINE.findall(capsys.readouterr().out)
  first, *found = [json.loads(line) for line in path.read_text().splitlines()]
  assert first == {'step': 2}
  assert [values['step'] for values in found] == [4, 6]
  assert ['%.2f' % values['loss'] for values in found
         ] == [loss for _, loss, _, _ in lines]
  # 4 steps of 16 images are 2 steps of 32.
  saved = run_state.load(config.train_dir)
  assert (saved.examples_per_step, saved.step_offset) == (32, -2)
  assert saved.examples_per_epoch == 1000
  assert config_lib.load(config.train_dir).batch_size == 32
  for values in found:
    assert values['epoch'] == pytest.approx((values['step'] - 1) * 32 / 1000)
    assert values['learning_rate'] == pytest.approx(0.1)
    assert values['examples_per_sec'] > 0


def test_the_last_step_has_a_summary(every_other):
  found = short_runs.scalars(every_other.train_dir)
  assert sorted(found['learning_rate']) == [0, 3, 4]


def test_a_run_outlives_its_console(tmp_path):
  reader, pipe = os.pipe()
  os.close(reader)
  with open('/dev/full', 'w') as full:
    status, _, _ = processes.run([
        short_runs.script('cifar10_train'), '--dataset=sample', '--max_steps=4',
        '--log_frequency=1',
        '--train_dir=%s' % tmp_path, *FLAGS
    ], stdout=pipe, stderr=full)
  os.close(pipe)
  assert status == 0
  assert (tmp_path / 'model.ckpt-4.index').exists()
