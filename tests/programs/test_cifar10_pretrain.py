"""Pretraining, and runs that begin with what it has learnt."""

import dataclasses
import functools
import os
import shutil
import signal
import types

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_pretrain
from cifar10 import cifar10_train
from cifar10 import pipelines
from cifar10.errors import UserError
from cifar10.nets import pretraining
from cifar10.run import trainer
from cifar10.store import checkpoints
from tests import processes
from tests import short_runs

BY_LAYER = ('autoencoder', 'rbm')
LAYERS = ['conv1', 'conv2', 'local3']  # Of config_for.
AVERAGE = '/ExponentialMovingAverage'


def config_for(folder, task, **settings):
  config = short_runs.small_config(folder, task=task, batch_size=4, max_steps=2,
                                   optimizer='adam', hidden_layers='32')
  return dataclasses.replace(config, **settings)


def newest(folder, *parts):
  """The variables of the newest checkpoint of a part of a run."""
  directory = os.path.join(str(folder / 'train'), *parts)
  return short_runs.values(checkpoints.latest(directory))


@pytest.fixture(scope='module')
def pretrained(request, tmp_path_factory):
  """The folder of a run of a task, the parameter, and shapes of its pairs."""
  task, shapes = request.param, []
  folder, loss_of = tmp_path_factory.mktemp(task), pretraining.contrastive_loss

  def loss(outputs, labels):
    shapes.extend([outputs.shape.as_list(), labels.shape.as_list()])
    return loss_of(outputs, labels)

  with pytest.MonkeyPatch.context() as patched:
    patched.setattr(pretraining, 'contrastive_loss', loss)
    # Two of 11 images have the same label: a pair to pull together.
    cifar10_pretrain.train(config_for(folder, task, batch_size=11))
  return types.SimpleNamespace(task=task, folder=folder, shapes=shapes)


def of_tasks(*tasks):
  """Parametrizes a test by the task of `pretrained`; tests of one share it."""
  return pytest.mark.parametrize('pretrained', tasks, indirect=True)


@pytest.mark.slow
@of_tasks(*BY_LAYER)
def test_layers_are_trained_one_after_another(pretrained):
  task, folder, before = pretrained.task, pretrained.folder, None
  for number, layer in enumerate(LAYERS):
    after = newest(folder, task, layer)
    first = short_runs.values(
        str(folder / 'train' / task / layer / 'model.ckpt-0'))
    for other, name in enumerate(LAYERS):
      weights = name + '/weights'
      if before:
        np.testing.assert_array_equal(first[weights], before[weights + AVERAGE])
      changed = (after[weights] != first[weights]).any()
      assert changed == (other == number)
    assert (layer + '/visible_biases') in after
    before = after
  assert sorted(os.listdir(str(folder / 'train' / task))) == LAYERS


@pytest.mark.slow
@of_tasks('autoencoder')
def test_layers_stay_what_those_above_were_trained_on(tmp_path, pretrained,
                                                      monkeypatch):
  task = 'autoencoder'
  shutil.copytree(str(pretrained.folder / 'train'), str(tmp_path / 'train'))
  config = config_for(tmp_path, task, max_steps=6)
  with pytest.raises(UserError, match='conv2 was trained on top of what is in'):
    cifar10_pretrain.train(config)
  # Interrupted in the first layer, nothing is left of the others.
  conv1 = str(tmp_path / 'train' / task / 'conv1')

  def interrupted(run, data, take_steps):
    assert run.train_dir == conv1
    return False

  monkeypatch.setattr(cifar10_pretrain, '_train_in_folder', interrupted)
  cifar10_pretrain.train(dataclasses.replace(config, overwrite=True))
  for layer in LAYERS:
    folder = str(tmp_path / 'train' / task / layer)
    assert checkpoints.latest(folder) is None


@pytest.mark.slow
@pytest.mark.parametrize('task, activation, dropout',
                         [('rbm', 'sigmoid', 0.0),
                          ('autoencoder', 'prelu', 0.3)])
def test_a_layer_learns_in_bfloat16_too(tmp_path, task, activation, dropout):
  config, data = trainer.prepare_data(
      config_for(tmp_path, task, precision='bfloat16', freeze='(?!conv2/)',
                 activation=activation, input_dropout=dropout))
  assert cifar10_pretrain._train_in_folder(
      config, data,
      functools.partial(cifar10_pretrain._take_steps, layer='conv2'))
  first = short_runs.values(str(tmp_path / 'train' / 'model.ckpt-0'))
  found = newest(tmp_path)
  changed = {name for name in first if (first[name] != found[name]).any()}
  plain = {name for name in changed if name.count('/') == 1}
  expected = {'conv2/weights', 'conv2/biases', 'conv2/visible_biases'}
  if task == 'autoencoder':
    expected.add('conv2/prelu_slopes')
  assert {name for name in plain if name.startswith('conv')} == expected


@pytest.mark.slow
@of_tasks(*pretraining.AUXILIARY)
def test_an_auxiliary_task_trains_all_layers(pretrained):
  task, folder = pretrained.task, pretrained.folder
  # Pairs are those of a batch, or of its distortions.
  count = {'pairs': 11, 'distorted_pairs': 22}.get(task)
  assert pretrained.shapes == ([[count, 64], [count]] if count else [])
  after = newest(folder, task)
  before = short_runs.values(str(folder / 'train' / task / 'model.ckpt-0'))
  for layer in LAYERS:
    name = layer + '/weights'
    assert (after[name] != before[name]).any()


@pytest.mark.parametrize('augment', ['', 'flip'])
def test_a_pair_is_one_image_in_two_distortions(tmp_path, augment):
  settings, data = trainer.prepare_data(
      config_for(tmp_path, 'distorted_pairs', augment=augment, batch_size=16,
                 seed=1))
  batch = pipelines.distorted_pairs(settings, data)
  with tf.train.MonitoredSession() as session:
    images, numbers = session.run(batch)
  assert list(numbers) == list(range(16)) * 2
  equal, mirrored = 0, 0
  for first, second in zip(images[:16], images[16:]):
    if np.array_equal(first, second):
      equal += 1
    else:
      np.testing.assert_allclose(first, second[:, ::-1], rtol=0, atol=1e-5)
      mirrored += 1
  assert equal and bool(mirrored) == bool(augment)


@pytest.mark.slow
@of_tasks('rbm', 'corrupted')
def test_a_run_begins_with_the_result(tmp_path, pretrained):
  task, folder = pretrained.task, pretrained.folder
  parts = (task, 'local3') if task in BY_LAYER else (task,)
  there = newest(folder, *parts)
  cifar10_train.train(
      config_for(tmp_path, task, max_steps=1, optimizer='sgd',
                 train_dir=str(tmp_path / 'labelled'),
                 init_from=os.path.join(str(folder / 'train'), *parts),
                 init_scope='conv|local', labelled_examples=100))
  first = short_runs.values(str(tmp_path / 'labelled' / 'model.ckpt-0'))
  for layer in LAYERS:
    for name in (layer + '/weights', layer + '/biases'):
      np.testing.assert_array_equal(first[name], there[name + AVERAGE])
  assert not [name for name in first if 'visible' in name]
  assert first['softmax_linear/weights'].shape == (32, 10)


@pytest.mark.slow
@of_tasks('rbm', 'corrupted')
def test_what_is_finished_is_not_trained_again(pretrained, capsys):
  task, folder = pretrained.task, pretrained.folder
  by_layer = task in BY_LAYER
  capsys.readouterr()
  cifar10_pretrain.train(config_for(folder, task))
  out = capsys.readouterr().out
  assert out.count('nothing to do') == (len(LAYERS) if by_layer else 1)
  assert ', loss' not in out
  result = os.path.join(str(folder / 'train'), task,
                        'local3' if by_layer else '').rstrip('/')
  assert (f"--init_from={result} --init_scope='conv|local' --dataset=sample "
          '--hidden_layers=32') in out


@pytest.mark.slow
def test_a_signal_ends_it_and_it_goes_on_where_it_was(tmp_path):
  directory = str(tmp_path / 'train')
  command = [
      short_runs.script('cifar10_pretrain'), '--dataset=sample',
      '--batch_size=4', '--log_frequency=1', '--train_dir=' + directory,
      '--hidden_layers='
  ]
  process = processes.start(command, stdout=processes.PIPE)
  short_runs.wait_for_step(process)
  process.send_signal(signal.SIGINT)
  out, _ = process.communicate(60)
  assert 'conv2' not in out and 'To start' not in out
  task = os.path.join(directory, 'autoencoder')
  assert os.listdir(task) == ['conv1']
  step = checkpoints.step(checkpoints.latest(os.path.join(task, 'conv1')))
  out = processes.output(command + ['--max_steps=%d' % (step + 2)],
                         errors=processes.ANY)
  assert 'step %d, loss' % (step + 1) in out
  assert sorted(os.listdir(task)) == ['conv1', 'conv2']


AIRBENCH = 'network', 'airbench', '=airbench: .* needs tutorial'


@pytest.mark.parametrize(
    'task, name, value, problem',
    [('rbm', 'top_layers', 'local', '=local: --task=rbm needs full'),
     *((task, *AIRBENCH) for task in (*BY_LAYER, *pretraining.AUXILIARY)),
     ('distorted_pairs', 'input', 'preloaded', '=preloaded: .* needs queues'),
     ('autoencoder', 'normalization', 'batch', '=batch: .* needs lrn or none'),
     ('autoencoder', 'dropout', 0.5, '--dropout=0.5: .* needs 0'),
     ('rbm', 'activation', 'tanh', '=tanh: .* needs relu or sigmoid'),
     ('rbm', 'input_dropout', 0.5, '--input_dropout=0.5: .* needs 0'),
     ('max_margin', 'batch_size', 1, '--batch_size=1: .* expected at least 2')])
def test_other_settings_are_refused(tmp_path, task, name, value, problem):
  with pytest.raises(UserError, match=problem):
    cifar10_pretrain.train(config_for(tmp_path, task, **{name: value}))
