"""Weights of another framework, against a forward pass in its own layout."""

import argparse
import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.errors import UserError
from cifar10.run import initial_values
from cifar10.run import trainer
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.tools import import_weights
from tests import processes
from tests import short_runs

SCRIPT = os.path.join(short_runs.ROOT, 'cifar10', 'tools', 'import_weights.py')

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


def conv(x, weight, bias):
  """x is [channels, height, width], as in PyTorch; padding 2."""
  height, width = x.shape[1:]
  padded = np.pad(x, [[0, 0], [2, 2], [2, 2]])
  found = np.zeros([weight.shape[0], height, width]) + bias[:, None, None]
  for row in range(5):
    for column in range(5):
      window = padded[:, row:row + height, column:column + width]
      found += np.einsum('oi,ihw->ohw', weight[:, :, row, column], window)
  return np.maximum(found, 0)


def pool(x):
  padded = np.pad(x, [[0, 0], [0, 1], [0, 1]], constant_values=-np.inf)
  size = x.shape[1]
  windows = [
      padded[:, row:row + size:2, column:column + size:2]
      for row in range(3)
      for column in range(3)
  ]
  return np.max(windows, axis=0)


def norm(x):
  squares = np.pad(x**2, [[4, 4], [0, 0], [0, 0]])
  sums = sum(squares[i:i + len(x)] for i in range(9))
  return x / (1 + 0.001 / 9 * sums)**0.75


def forward(image, weights):
  """The logits of one image, [channels, height, width]."""
  w = {name: value.astype(np.float64) for name, value in weights.items()}
  x = norm(pool(conv(image, w['conv1.weight'], w['conv1.bias'])))
  x = pool(norm(conv(x, w['conv2.weight'], w['conv2.bias'])))
  x = x.ravel()
  for name in ('local3', 'local4'):
    x = np.maximum(w[name + '.weight'] @ x + w[name + '.bias'], 0)
  return w['softmax_linear.weight'] @ x + w['softmax_linear.bias']


def test_it_computes_what_the_other_framework_computes(tmp_path):
  weights = state_dict()
  path, out = str(tmp_path / 'weights.npz'), str(tmp_path / 'out')
  np.savez(path, **weights)
  status, printed, err = processes.run([SCRIPT, path, '--out=' + out])
  assert (status, err) == (0, '')
  checkpoint = checkpoints.latest(out)
  assert '--init_from=' + checkpoint in printed
  images = np.random.RandomState(1).normal(size=(2, 24, 24, 3))
  with tf.Graph().as_default(), tf.Session() as session:
    logits = cifar10.inference(tf.constant(images, tf.float32))
    tf.train.Saver().restore(session, checkpoint)
    found = session.run(logits)
  expected = [forward(image.transpose(2, 0, 1), weights) for image in images]
  np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_our_own_names_keep_their_axes():
  values = import_weights.variables(state_dict(), {})
  assert values['conv1/weights'].shape == (5, 5, 3, 64)
  again = import_weights.variables(values, {})
  for name, value in values.items():
    np.testing.assert_array_equal(again[name], value)


def test_layers_are_renamed():
  weights = {
      name.replace('conv1', 'features.0'): value
      for name, value in state_dict().items()
  }
  found = import_weights.variables(weights, {'conv1': 'features.0'})
  expected = import_weights.variables(state_dict(), {})
  np.testing.assert_array_equal(found['conv1/biases'], expected['conv1/biases'])


def test_one_layer_is_imported_and_taken_over(tmp_path):
  weights = {
      name: value
      for name, value in state_dict().items()
      if 'local3' not in name
  }
  path, out = str(tmp_path / 'weights.npz'), str(tmp_path / 'out')
  np.savez(path, other=np.zeros(3), **weights)
  status, printed, err = processes.run(
      [SCRIPT, path, f'--out={out}//', '--layers=conv[12]'])
  assert (status, err) == (0, '')
  assert printed.startswith(f'{out}/model.ckpt-0 is written.')
  assert " --init_scope='conv[12]'\n" in printed
  found = checkpoints.read(checkpoints.latest(out))
  assert set(found) == {
      'global_step', *('%s/%s' % (layer, kind)
                       for layer in ('conv1', 'conv2')
                       for kind in ('weights', 'biases'))
  }
  settings = Settings(init_from=out, init_scope='conv1',
                      train_dir=str(tmp_path / 'train'))
  with tf.Graph().as_default() as graph, tf.Session() as session:
    cifar10.inference(tf.zeros([1, 24, 24, 3]))
    session.run(tf.global_variables_initializer())
    initial_values.of_run(trainer.Run(settings, None, None))(session)
    biases = [
        session.run(graph.get_tensor_by_name(layer + '/biases:0'))
        for layer in ('conv1', 'conv2')
    ]
  np.testing.assert_array_equal(biases[0], weights['conv1.bias'])
  np.testing.assert_array_equal(biases[1], np.float32(0.1))  # Its own.


@pytest.mark.parametrize('layers, problem', [
    ('conv3', 'names no layer; expected the beginning of some of conv1, conv2'),
    ('conv1$', 'names no layer; '),  # Nor does --init_scope name a variable.
    ('[', 'expected a regular expression, such as conv')
])  # yapf: disable
def test_layers_that_are_not_there_are_named(tmp_path, layers, problem):
  status, _, err = processes.run([
      SCRIPT,
      str(tmp_path / 'none.npz'),
      '--out=%s' % (tmp_path / 'out'), '--layers=' + layers
  ])
  assert status == 1 and err.count('\n') == 1
  assert '--layers=' + layers in err and problem in err


def test_a_layer_that_is_asked_for_must_be_there():
  weights = state_dict()
  del weights['conv1.bias']
  import_weights.variables(weights, {}, ['conv2'])
  with pytest.raises(UserError, match='found no conv1/biases'):
    import_weights.variables(weights, {}, ['conv1'])


@pytest.mark.parametrize('name, value, problem', [
    ('conv2.bias', None, 'found no conv2/biases and no conv2.bias; the arrays'),
    ('extra', np.zeros(1), 'extra: not a variable of the model; --map'),
    ('conv1.weight', np.zeros([64, 3, 5
                              ]), r'conv1.weight: has .*expected 4 ax'),
    ('conv1.weight', np.zeros([64, 3, 3, 3]),
     r'conv1.weight: is \[3, 3, 3, 64\] in the .*expected \[5, 5, 3, 64\]'),
    ('conv1.bias', np.array(['a'] * 64), 'conv1.bias: holds <U1; expected num'),
    ('local3.weight', np.zeros([384, 2300]), r'local3.weight: .*\[384, 2304\]'),
    ('local4.bias', np.zeros(191), r'local4.bias: is \[191\].*expected \[192\]')
])
def test_what_does_not_fit_is_named(name, value, problem):
  weights = dict(state_dict(), **{name: value})
  if value is None:
    del weights[name]
  with pytest.raises(UserError, match=problem):
    import_weights.variables(weights, {})


@pytest.mark.parametrize('number', [np.nan, -np.inf, 1e39])
def test_a_number_that_is_not_finite_is_refused(number):
  weights = {n: v.astype(np.float64) for n, v in state_dict().items()}
  weights['local4.bias'][7] = number
  with pytest.raises(UserError, match='^local4.bias: holds a number that is n'):
    import_weights.variables(weights, {})


@pytest.mark.parametrize('damaged_from', [0, 200, 5000])
def test_a_damaged_file_is_one_line(tmp_path, damaged_from):
  path = tmp_path / 'weights.npz'
  np.savez_compressed(path, **state_dict())
  with open(path, 'r+b') as file:
    file.seek(damaged_from)
    file.write(b'x' * 800)
  out = tmp_path / 'out'
  status, _, err = processes.run([SCRIPT, str(path), '--out=%s' % out])
  assert status == 1 and err.count('\n') == 1
  assert 'weights.npz: is not a file of numpy.savez' in err
  assert not out.exists()


@pytest.mark.parametrize('content, problem', [
    (None, 'is not a regular file; expected one'),
    (b'\x89HDF\r\n\x1a\n' + bytes(200),
     'is not a file of numpy.savez, or is damaged; expected an .npz file of '
     'arrays of numbers')
])  # yapf: disable
def test_another_kind_of_file_is_refused(tmp_path, content, problem):
  path = tmp_path / 'weights.h5'
  if content is None:
    os.mkfifo(str(path))  # Opened, it would wait for a writer.
  else:
    path.write_bytes(content)
  with pytest.raises(UserError) as info:
    import_weights.import_weights(
        argparse.Namespace(weights=str(path), out=str(tmp_path / 'out'), map='',
                           layers=''))
  assert str(info.value) == f'{path}: {problem}'
