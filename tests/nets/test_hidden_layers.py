"""--hidden_layers: the network with other fully connected layers."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.errors import UserError
from cifar10.nets import convnet
from cifar10.settings import Settings
from tests import reference

SIZES = {'': [], '384': [384], '20,300,80': [20, 300, 80]}


def random_images(count):
  return tf.random_normal([count, 24, 24, 3], seed=2)


def built(sizes, **settings):
  """The logits of three images, [3, 10]."""
  return networks.inference(random_images(3),
                            Settings(hidden_layers=sizes, **settings))


def started():
  """A session with initialized variables, and their values by name."""
  session = tf.Session()
  session.run(tf.global_variables_initializer())
  return session, session.run({v.op.name: v for v in tf.trainable_variables()})


@pytest.mark.parametrize('sizes', SIZES)
def test_the_layers_have_their_sizes_and_begin_like_local4(sizes):
  built(sizes)
  widths = [6 * 6 * 64] + SIZES[sizes] + [10]
  names = ['local%d' % n for n in range(3, len(widths) + 1)]
  names += ['softmax_linear']
  session, values = started()
  with session:
    decay = session.run(
        {loss.op.name: loss for loss in tf.get_collection('losses')})
  shapes = {name: value.shape for name, value in values.items()}
  expected = {}
  for name, inputs, units in zip(names, widths, widths[1:]):
    expected[name + '/weights'] = (inputs, units)
    expected[name + '/biases'] = (units,)
    is_last = name == 'softmax_linear'
    weights = values[name + '/weights'].astype(np.float64)
    # A normal distribution that is cut off at two deviations.
    stddev = 0.8796 * (1 / inputs if is_last else 0.04)
    assert weights.std() == pytest.approx(stddev, rel=0.1)
    assert (values[name + '/biases'] == np.float32(not is_last and 0.1)).all()
    if not is_last:
      penalty = 0.004 * (weights**2).sum() / 2
      assert decay.pop(name + '/weight_loss') == pytest.approx(penalty, 1e-4)
  assert not decay
  assert {n: s for n, s in shapes.items() if 'conv' not in n} == expected


@pytest.mark.parametrize('sizes', SIZES)
def test_logits_and_gradients_are_those_of_the_formula(graph, sizes):
  logits = built(sizes)
  names = [*convnet.hidden_layers(sizes), 'softmax_linear']
  variables = {v.op.name: v for v in tf.trainable_variables()}
  pairs = [[variables[name + kind]
            for kind in ('/weights', '/biases')]
           for name in names]
  dy = np.random.RandomState(0).normal(size=[3, 10]).astype(np.float32)
  grads = tf.gradients(logits, [v for pair in pairs for v in pair], dy)
  session, values = started()
  with session:
    # The last layer begins too small to tell the others apart.
    last = values['softmax_linear/weights'] * 100
    variables['softmax_linear/weights'].load(last, session)
    pool2 = graph.get_tensor_by_name('pool2:0')
    x, found, found_grads, pairs = session.run([pool2, logits, grads, pairs])
  expected, expected_grads = reference.fully_connected(x.reshape(3, -1), pairs,
                                                       dy)
  np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
  assert np.abs(expected).max() > 0.1
  for found, expected in zip(found_grads, expected_grads):
    np.testing.assert_allclose(found, expected, rtol=1e-2,
                               atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    'sizes',
    ['0', 'x', '8,', ',8', '8,0', '-8', '8, 8', '8.5', '1e2', '100000'])
def test_other_texts_are_refused(sizes):
  with pytest.raises(UserError, match='expected the size of each') as info:
    built(sizes)
  assert str(info.value).startswith(f'--hidden_layers={sizes}: ')
