"""Weights of another framework, against a forward pass in its own layout."""

import argparse
import re

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.tools import import_weights
from tests import processes
from tests import reference
from tests import short_runs

SHAPES = {
    'conv1': [64, 3, 5, 5],
    'conv2': [64, 64, 5, 5],
    'local3': [384, 2304],
    'local4': [192, 384],
    'softmax_linear': [10, 192]
}


def state_dict():
  """Random weights, as PyTorch names and shapes them."""
  rng = np.random.RandomState(0)
  found = {}
  for name, shape in SHAPES.items():
    deviation = (2 / np.prod(shape[1:]))**0.5
    found[name + '.weight'] = rng.normal(0, deviation, shape)
    found[name + '.bias'] = rng.normal(0, 0.1, shape[0])
  return {name: value.astype(np.float32) for name, value in found.items()}


def forward(image, weights):
  """The logits of one image, [height, width, channels]."""
  w = {name: value.astype(np.float64) for name, value in weights.items()}

  def conv(x, name):
    kernel = w[name + '.weight'].transpose(2, 3, 1, 0)
    y, _, _ = reference.conv2d(x, kernel, np.zeros(x.shape[:3] + (64,)))
    return np.maximum(y + w[name + '.bias'], 0)

  def norm(x):
    return reference.local_response_norm(x, 4, 0.001 / 9)

  x = norm(reference.max_pool(conv(image[np.newaxis], 'conv1')))
  x = reference.max_pool(norm(conv(x, 'conv2')))
  x = x[0].transpose(2, 0, 1).ravel()  # The other framework's order.
  for name in ('local3', 'local4'):
    x = np.maximum(w[name + '.weight'] @ x + w[name + '.bias'], 0)
  return w['softmax_linear.weight'] @ x + w['softmax_linear.bias']


def write(tmp_path, weights):
  path = str(tmp_path / 'weights.npz')
  np.savez(path, **weights)
  return path


def imported(weights, out, names='', layers=''):
  """Imports the arrays in a file, as the program does."""
  import_weights.import_weights(
      argparse.Namespace(weights=str(weights), out=str(out), map=names,
                         layers=layers))


def test_it_computes_what_the_other_framework_computes(tmp_path):
  weights, out = state_dict(), str(tmp_path / 'out')
  renamed = {n.replace('conv1', 'features.0'): v for n, v in weights.items()}
  printed = processes.output([
      short_runs.script('import_weights'), write(tmp_path, renamed),
      '--out=' + out, '--map=conv1:features.0'
  ])  # yapf: disable
  checkpoint = checkpoints.latest(out)
  assert '--init_from=' + checkpoint in printed
  images = np.random.RandomState(1).normal(size=(2, 24, 24, 3))
  with tf.Graph().as_default(), tf.Session() as session:
    logits = cifar10.inference(tf.constant(images, tf.float32))
    tf.train.Saver().restore(session, checkpoint)
    found = session.run(logits)
  expected = [forward(image, weights) for image in images]
  np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
  # Our own names keep their axes.
  values = checkpoints.read(checkpoint)
  del values['global_step']
  again = import_weights.variables(values, {})
  for name, value in values.items():
    np.testing.assert_array_equal(again[name], value)


def test_some_layers_are_imported(tmp_path, capsys):
  weights, out = state_dict(), str(tmp_path / 'out')
  del weights['local3.weight']
  path = write(tmp_path, dict(weights, other=np.zeros(3)))
  imported(path, f'{out}//', layers='conv[12]')
  printed = capsys.readouterr().out
  assert printed.startswith(f'{out}/model.ckpt-0 is written.')
  assert " --init_scope='conv[12]'\n" in printed
  found = checkpoints.read(checkpoints.latest(out))
  assert set(found) == {
      'global_step', 'conv1/weights', 'conv1/biases', 'conv2/weights',
      'conv2/biases'
  }
  np.testing.assert_array_equal(found['conv1/biases'], weights['conv1.bias'])


@pytest.mark.parametrize('names, layers', [
    ('', 'conv3'), ('', '['), ('conv1', ''), ('x:y', ''),
    ('', 'conv1$')  # Nor does --init_scope name a variable.
])  # yapf: disable
def test_flags_that_make_no_sense_are_named(tmp_path, names, layers):
  flag = f'--map={names}' if names else f'--layers={layers}'
  with pytest.raises(UserError, match=re.escape(flag) + ': .*expected '):
    imported('none.npz', tmp_path / 'out', names, layers)


@pytest.mark.parametrize('name, value, problem', [
    ('conv2.bias', None, 'found no conv2/biases and no conv2.bias; the arrays'),
    ('extra', np.zeros(1), 'extra: not a variable of the model; --map'),
    ('conv1.weight', np.zeros([64, 3, 5]),
     r'conv1.weight: is \[64, 3, 5\] in .*expected \[5, 5, None, 64\]'),
    ('conv1.bias', np.array(['a'] * 64), 'conv1.bias: expected numbers .*<U1'),
    ('local3.weight', np.zeros([384, 2300]), r'local3.weight: .*\[384, 2304\]'),
    ('local4.bias', np.zeros(191), r'local4.bias: is .191.*expected .192'),
    ('local4.bias', np.full(192, 1e39), '^local4.bias: expected numbers that'),
])  # yapf: disable
def test_what_does_not_fit_is_named(name, value, problem):
  weights = dict(state_dict(), **{name: value})
  if value is None:
    del weights[name]
  with pytest.raises(UserError, match=problem):
    import_weights.variables(weights, {})


@pytest.mark.parametrize('damaged_from', [0, 200, 5000])
def test_a_damaged_file_is_named(tmp_path, damaged_from):
  path, out = tmp_path / 'weights.npz', tmp_path / 'out'
  np.savez_compressed(path, **state_dict())
  with open(path, 'r+b') as file:
    file.seek(damaged_from)
    file.write(b'x' * 800)
  with pytest.raises(UserError,
                     match=f'^{path}: .* numpy.savez, or is damaged'):
    imported(path, out)
  assert not out.exists()
