"""Both builders of the layers, to be read and to be varied; --hidden_layers."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import networks
from cifar10.errors import UserError
from cifar10.nets import convnet
from cifar10.nets import variable_scope
from cifar10.settings import Settings
from tests import graphs
from tests import reference


def built(varied, precision, values=None):
  """A step of training, and its operations by name and type.

  Returns them, the variables before the step, which are `values` or drawn at
  random, and after it.
  """
  settings = cifar10.with_constants(Settings(precision=precision, batch_size=4))
  random = np.random.RandomState(1)
  with tf.Graph().as_default() as graph:
    images = tf.constant(random.normal(size=[4, 24, 24, 3]), tf.float32)
    with variable_scope.training_scope(settings):
      logits = networks.inference(images, settings, is_training=True,
                                  varied=varied)
    step = tf.train.get_or_create_global_step()
    train_op = cifar10.train(cifar10.loss(logits, [3, 0, 9, 3]), step, settings)
    variables = tf.global_variables()
    with tf.Session() as session:
      given = values and {
          v.initializer.inputs[1]: values[v.op.name] for v in variables
      }
      session.run(tf.global_variables_initializer(), given)
      before = session.run({v.op.name: v for v in variables})
      found, _ = session.run([logits, train_op])
      after = session.run({v.op.name: v for v in variables})
  # Rows are reshaped to rows where the number of layers varies.
  operations = {(op.name, op.type)
                for op in graph.get_operations()
                if '/Reshape' not in op.name}
  return operations, found, before, after


@pytest.mark.parametrize('precision', [
    'float32', *(pytest.param(name, marks=pytest.mark.slow)
                 for name in ('bfloat16', 'float16'))])  # yapf: disable
def test_at_the_defaults_they_are_equal_to_the_bit(precision):
  operations, logits, before, after = built(False, precision)
  others, varied, varied_before, varied_after = built(True, precision, before)
  assert operations == others
  np.testing.assert_array_equal(logits, varied)
  assert list(after) == list(varied_after)
  for name, value in after.items():
    np.testing.assert_array_equal(before[name], varied_before[name], name)
    np.testing.assert_array_equal(value, varied_after[name], name)
    assert name.endswith(('/avg', 'averages')) or (value != before[name]).any()


@pytest.mark.parametrize('changes', [
    {'activation': 'elu'}, {'normalization': 'none'}, {'hidden_layers': '384'},
    {'columns': 2}, {'top_layers': 'local'}, {'dropout': 0.5},
    {'network': 'airbench'}
], ids=str)  # yapf: disable
def test_the_literal_one_is_taken_unless_a_setting_departs(
    monkeypatch, changes):
  taken = []

  def inference(images):  # As the tutorial's.
    taken.append(images)
    return tf.get_variable('logits', [2, 10]) + tf.reduce_sum(images)

  monkeypatch.setattr(cifar10, 'inference', inference)

  def build(settings, **optional):
    with tf.Graph().as_default():
      networks.inference(tf.zeros([2, 32, 32, 3]), settings, **optional)

  build(Settings(), is_training=True)
  build(Settings(conv='direct'), portable=True)
  assert len(taken) == 2
  # The same one in evaluation, where dropout changes nothing.
  for is_training in (False, True):
    build(Settings(**changes), is_training=is_training)
  assert len(taken) == 2


SIZES = {'': [], '384': [384], '20,300,80': [20, 300, 80]}


def logits_of(sizes, **settings):
  """The logits of three images, [3, 10]."""
  settings = Settings(hidden_layers=sizes, **settings)
  with variable_scope.training_scope(settings):
    return networks.inference(tf.random_normal([3, 24, 24, 3], seed=2),
                              settings)


@pytest.mark.parametrize('sizes', SIZES)
def test_the_layers_have_their_sizes_and_begin_like_local4(sizes):
  logits_of(sizes)
  widths = [6 * 6 * 64] + SIZES[sizes] + [10]
  names = ['local%d' % n for n in range(3, len(widths) + 1)]
  names += ['softmax_linear']
  losses = {loss.op.name: loss for loss in tf.get_collection('losses')}
  values, decay = graphs.run([graphs.trained(), losses])
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
  # The tutorial's last layer begins too small to tell the others apart.
  logits = logits_of(sizes, initializer='he')
  names = [*convnet.hidden_layers(sizes), 'softmax_linear']
  variables = graphs.trained()
  pairs = [[variables[name + kind]
            for kind in ('/weights', '/biases')]
           for name in names]
  dy = np.random.RandomState(0).normal(size=[3, 10]).astype(np.float32)
  grads = tf.gradients(logits, [v for pair in pairs for v in pair], dy)
  pool2 = graph.get_tensor_by_name('pool2:0')
  x, found, found_grads, pairs = graphs.run([pool2, logits, grads, pairs])
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
  problem = f'^--hidden_layers={sizes}: .*expected the size of each'
  with pytest.raises(UserError, match=problem):
    logits_of(sizes)
