"""Layers in columns: the tutorial's numbers, and those of a network apart."""

import dataclasses

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_eval
from cifar10 import cifar10_multi_gpu_train
from cifar10 import cifar10_train
from cifar10 import networks
from cifar10.errors import UserError
from cifar10.optim import model_parallelism
from cifar10.settings import Settings
from cifar10.store import checkpoints
from tests import graphs
from tests import reference
from tests import short_runs

LABELS = [3, 0]


def images(size=8):
  return np.random.RandomState(0).randn(2, size, size, 3).astype(np.float32)


def results(values=None, **settings):
  """Builds a network in training, and its gradients.

  Returns the values of its variables by name, which are `values` or drawn at
  random, with biases that tell channels apart, and a list: the loss, the logits
  and the gradients.
  """
  config = model_parallelism.with_devices(Settings(**settings))
  with tf.Graph().as_default():
    tf.set_random_seed(1)
    logits = networks.inference(tf.constant(images()), config, is_training=True)
    loss = cifar10.loss(logits, LABELS)
    variables = tf.trainable_variables()
    wanted = [loss, logits] + tf.gradients(loss, variables)
    with graphs.session() as session:
      names = [v.op.name for v in variables]
      found = values or random_biases(dict(zip(names, session.run(variables))))
      assert list(found) == names
      for variable in variables:
        variable.load(found[variable.op.name], session)
      return found, session.run(wanted)


def random_biases(values):
  """With biases that tell channels apart."""
  random = np.random.RandomState(1)
  return {
      name: random.uniform(-0.2, 0.2, value.shape).astype(np.float32)
            if name.endswith('biases') else
            value for name, value in values.items()
  }


@pytest.mark.slow
@pytest.mark.parametrize('settings, num_gpus', [
    ({}, 2), ({'conv': 'winograd'}, 2), ({'hidden_layers': '16,8,4'}, 4),
    ({'columns': 2}, 2)
])  # yapf: disable
def test_parts_on_devices_compute_what_one_device_computes(settings, num_gpus):
  values, expected = results(**settings)
  _, found = results(values, model_parallelism='filters', num_gpus=num_gpus,
                     **settings)
  for x, y in zip(found, expected):
    np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5 * abs(y).max())


def pool2_in_numpy(values, columns):
  """What convolutions in columns compute, float64, [2, 256]."""

  def convolution(x, name, side):
    kernel = values[name + '/weights'][..., side]
    dy = np.zeros(x.shape[:3] + kernel.shape[3:])
    y, _, _ = reference.conv2d(x, kernel, dy)
    return np.maximum(y + values[name + '/biases'][side], 0)

  pool2, width = [], 64 // columns
  for i in range(columns):
    side = slice(i * width, (i + 1) * width)
    x = reference.max_pool(convolution(images(), 'conv1', side))
    x = reference.local_response_norm(x, 4, 0.001 / 9)
    x = convolution(x, 'conv2', side)
    x = reference.local_response_norm(x, 4, 0.001 / 9)
    pool2.append(reference.max_pool(x))
  return np.concatenate(pool2, 3).reshape([2, -1])


def loss_in_numpy(values, x):
  """The loss of a network whose pool2 is x, [2, 256], a float64."""
  for name in ('local3', 'local4'):
    x = np.maximum(
        x.dot(values[name + '/weights']) + values[name + '/biases'], 0)
  logits = x.dot(
      values['softmax_linear/weights']) + values['softmax_linear/biases']
  entropy = np.log(np.exp(logits).sum(1)) - logits[range(2), LABELS]
  decay = sum(
      (values[name + '/weights']**2).sum() for name in ('local3', 'local4'))
  return entropy.mean() + 0.004 * decay / 2


@pytest.mark.parametrize('columns', [
    2, pytest.param(4, marks=pytest.mark.slow)])  # yapf: disable
def test_columns_apart_agree_with_numpy(columns):
  values, (loss, _, *gradients) = results(columns=columns)
  shapes = {name: value.shape for name, value in values.items()}
  assert shapes['conv1/weights'] == (5, 5, 3, 64)
  assert shapes['conv2/weights'] == (5, 5, 64 // columns, 64)
  assert shapes['local3/weights'] == (2 * 2 * 64, 384)
  values = {n: value.astype(np.float64) for n, value in values.items()}
  pool2 = pool2_in_numpy(values, columns)
  assert loss == pytest.approx(loss_in_numpy(values, pool2), rel=1e-5)

  def moved_loss(name, moved):
    changed = dict(values, **{name: moved})
    x = pool2_in_numpy(changed, columns) if 'conv' in name else pool2
    return loss_in_numpy(changed, x)

  random = np.random.RandomState(2)
  for (name, value), gradient in zip(values.items(), gradients):
    # Along the gradient, and elsewhere, so that no other one fits.
    for direction in (gradient, random.randn(*value.shape) * abs(gradient)):
      step = 1e-6 * direction / np.linalg.norm(direction)
      above, below = (
          moved_loss(name, moved) for moved in (value + step, value - step))
      expected = 2 * (gradient * step).sum()
      assert above - below == pytest.approx(expected, rel=1e-2, abs=1e-11), name


def test_normalization_stays_in_its_column(graph):
  networks.inference(tf.constant(images()), Settings(columns=2))
  first, second = (
      graph.get_tensor_by_name('norm1/column_%d/norm1:0' % i) for i in range(2))
  conv1 = graph.get_tensor_by_name('conv1/column_1/conv1:0')
  assert tf.gradients(first, conv1) == [None]
  assert tf.gradients(second, conv1) != [None]


@pytest.mark.parametrize(
    'settings, error',
    [(Settings(columns=3), '--columns: 3 columns; expected 2, 4'),
     (Settings(columns=32), '--columns: 32 columns; expected 2, 4'),
     (Settings(columns=4, hidden_layers='384,194'),
      '--columns: local4 has 194 units; expected a multiple of 4'),
     (Settings(model_parallelism='filters', devices=('/cpu:0',) * 3),
      '--model_parallelism=filters: 3 columns; expected 2, 4')])
def test_other_numbers_of_columns_are_refused(settings, error):
  with pytest.raises(UserError, match='^' + error):
    networks.inference(tf.constant(images()), settings, is_training=True)


@pytest.mark.slow
def test_a_run_in_parts_is_that_of_one_device(tmp_path, capsys):
  single = short_runs.small_config(tmp_path, max_steps=3, batch_size=4,
                                   hidden_layers='8,8', validation_examples=20)
  config = dataclasses.replace(single, max_steps=2, num_gpus=2,
                               model_parallelism='filters', validation_steps=1)
  cifar10_multi_gpu_train.train(config)
  out = capsys.readouterr().out
  assert short_runs.steps(out) == [0, 1]
  assert 'parts are on /cpu:0, /cpu:1, with batches of 4: 4 images' in out
  found = checkpoints.shapes(checkpoints.latest(config.train_dir))
  # One device resumes and evaluates it, and it goes on in parts.
  cifar10_train.train(single)
  # Each saves its own variables, and the averages.
  assert checkpoints.shapes(checkpoints.latest(config.train_dir)) == found
  cifar10_eval.evaluate(single)
  cifar10_multi_gpu_train.train(dataclasses.replace(config, max_steps=4))
  out = capsys.readouterr().out
  assert short_runs.steps(out) == [2, 3]
  assert '--model_parallelism, filters -> none.' in out
  assert len(short_runs.PRECISION_LINE.findall(out)) == 1
