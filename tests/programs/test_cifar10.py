"""The model: the tutorial's facts, counted and measured in the graph."""

import collections
import os
import re

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_multi_gpu_train
from cifar10 import networks
from cifar10.nets import layers
from cifar10.nets import variable_scope
from cifar10.run import session as session_lib
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import graph_keys
from tests import graphs
from tests import short_runs

# Shapes from the tutorial's section "Model Prediction".
VARIABLES = {
    'conv1/weights': [5, 5, 3, 64],
    'conv1/biases': [64],
    'conv2/weights': [5, 5, 64, 64],
    'conv2/biases': [64],
    'local3/weights': [2304, 384],
    'local3/biases': [384],
    'local4/weights': [384, 192],
    'local4/biases': [192],
    'softmax_linear/weights': [192, 10],
    'softmax_linear/biases': [10]
}


def train(total_loss, global_step, **settings):
  """The train_op, of the tutorial's data set and batches."""
  state = run_state.RunState(('a', 'b'), 50000, ((0, 128),))
  config = Settings(**settings)
  return cifar10.train(total_loss, global_step, config, state.pace(config))


def random_images(count):
  return tf.random_normal([count, 24, 24, 3], seed=2)


def test_trainable_variables_are_the_tutorials():
  cifar10.inference(random_images(2))
  shapes = {v.op.name: v.shape.as_list() for v in tf.trainable_variables()}
  assert shapes == VARIABLES
  assert sum(np.prod(shape) for shape in shapes.values()) == 1068298


def test_operations_are_named_and_ordered_as_in_the_tutorial(graph):
  logits = cifar10.inference(random_images(2))
  assert logits.op.name == 'softmax_linear/softmax_linear'
  for name, source in (('pool1', 'conv1/conv1'), ('norm1', 'pool1'),
                       ('conv2/Conv2D',
                        'norm1'), ('norm2', 'conv2/conv2'), ('pool2', 'norm2')):
    operation = graph.get_operation_by_name(name)
    while operation.name.startswith(name):  # Several may be in its scope.
      operation = operation.inputs[0].op
    assert operation.name == source
  pool = graph.get_operation_by_name('pool2')
  assert pool.get_attr('ksize') == [1, 3, 3, 1]
  assert pool.get_attr('strides') == [1, 2, 2, 1]
  assert pool.outputs[0].shape.as_list() == [2, 6, 6, 64]


def test_the_normalization_has_the_tutorials_numbers(graph):
  with layers.build_options(is_portable=True):
    cifar10.inference(random_images(2))
  for name in ('norm1', 'norm2'):
    norm = graph.get_operation_by_name(name)
    assert norm.type == 'LRN'
    assert norm.get_attr('depth_radius') == 4
    assert norm.get_attr('bias') == 1
    assert norm.get_attr('alpha') == pytest.approx(0.001 / 9)
    assert norm.get_attr('beta') == 0.75


def test_initial_values_are_the_tutorials():
  cifar10.inference(random_images(2))
  values = graphs.run(graphs.trained())
  biases = {'conv1': 0, 'conv2': 0.1, 'local3': 0.1, 'local4': 0.1}
  biases['softmax_linear'] = 0
  stddevs = {'conv1': 0.05, 'conv2': 0.05, 'local3': 0.04, 'local4': 0.04}
  stddevs['softmax_linear'] = 1 / 192
  for layer, bias in biases.items():
    assert (values[layer + '/biases'] == np.float32(bias)).all()
    weights = values[layer + '/weights']
    # A normal distribution cut off at two deviations has 0.8796 of its own.
    assert weights.std() == pytest.approx(0.8796 * stddevs[layer], rel=0.05)
    assert np.abs(weights).max() <= 2 * stddevs[layer]


@pytest.mark.parametrize('dtype', [np.int32, np.int64, np.uint8, np.float32])
def test_loss_is_mean_cross_entropy_and_decay(dtype):
  labels = np.array([3, 0, 9, 9], dtype)
  logits = cifar10.inference(random_images(4))
  total_loss = cifar10.loss(logits, tf.constant(labels))
  decay = tf.add_n(tf.get_collection('losses')[:2])
  scores, found, decay = graphs.run([logits, total_loss, decay])
  scores = scores.astype(np.float64)
  log_sums = np.log(np.exp(scores).sum(axis=1))
  of_labels = scores[np.arange(4), labels.astype(int)]
  expected = (log_sums - of_labels).mean() + decay
  assert found == pytest.approx(expected, rel=1e-5)


def test_smoothed_labels_spread_a_share_over_all_classes():
  labels = np.array([3, 0, 9, 9], np.int32)
  scores = np.random.RandomState(1).randn(4, 10).astype(np.float32)
  logits = tf.constant(scores)
  total_loss = cifar10.loss(logits, tf.constant(labels), label_smoothing=0.2)
  (gradient,) = tf.gradients(total_loss, logits)
  found, gradient = graphs.run([total_loss, gradient])
  odds = np.exp(scores.astype(np.float64))
  probabilities = odds / odds.sum(axis=1, keepdims=True)
  targets = 0.8 * np.eye(10)[labels] + 0.2 / 10
  expected = -(targets * np.log(probabilities)).sum(axis=1).mean()
  assert found == pytest.approx(expected, rel=1e-5)
  np.testing.assert_allclose(gradient, (probabilities - targets) / 4, rtol=1e-4,
                             atol=1e-7)


@pytest.mark.parametrize('images', [
    lambda: np.zeros([2, 24, 24, 3], np.float32),
    lambda: [tf.zeros([24, 24, 3])] * 2
], ids=['array', 'list'])
def test_images_may_be_anything_that_becomes_a_tensor(images):
  assert cifar10.inference(images()).shape == [2, 10]


@pytest.mark.parametrize('shape', [[2, 24, 24], [2, None, 24, 3]])
def test_images_of_another_shape_are_refused(shape):
  images = tf.placeholder(tf.float32, shape, name='photos')
  with pytest.raises(ValueError, match='photos.*expected .batch, height'):
    cifar10.inference(images)


def test_train_takes_a_step_of_gradient_descent_and_averages():
  images = tf.constant(np.random.RandomState(0).randn(4, 24, 24, 3), tf.float32)
  global_step = tf.train.get_or_create_global_step()
  total_loss = cifar10.loss(cifar10.inference(images), tf.constant([1, 2, 3,
                                                                    4]))
  train_op = train(total_loss, global_step, learning_rate=0.05)
  variables = tf.trainable_variables()
  gradients = tf.gradients(total_loss, variables)
  averages = {
      v.op.name: v
      for v in tf.global_variables()
      if v.op.name.endswith('/ExponentialMovingAverage')
  }
  assert len(averages) == len(variables) == 10
  with graphs.session() as session:
    before, slopes = session.run([variables, gradients])
    session.run(train_op)
    after, step = session.run([variables, global_step])
    assert step == 1
    for variable, old, new, slope in zip(variables, before, after, slopes):
      np.testing.assert_allclose(new, old - 0.05 * slope, atol=1e-6)
      average = averages[variable.op.name + '/ExponentialMovingAverage']
      # min(0.9999, (1 + step) / (10 + step)) at step 1, after the update.
      decay = 2 / 11
      np.testing.assert_allclose(session.run(average),
                                 decay * old + (1 - decay) * new, atol=1e-6)


def test_a_variable_without_a_gradient_stays_and_is_averaged():
  other = tf.get_variable('other', initializer=3.0)
  total_loss = cifar10.loss(cifar10.inference(random_images(4)), [1, 2, 3, 4])
  train_op = cifar10.train(total_loss, tf.train.get_or_create_global_step())
  with graphs.session() as session:
    session.run(train_op)
    assert session.run(other) == 3
  assert 'other/ExponentialMovingAverage' in [
      v.op.name for v in tf.global_variables()
  ]


def test_both_forms_of_convolution_have_the_same_gradients():
  images, labels = random_images(8), tf.constant(np.arange(8) % 10)
  losses = []
  for form in ('direct', 'winograd'):
    with tf.variable_scope('', reuse=bool(losses)):
      with tf.name_scope(form) as scope:
        logits = networks.inference(images, Settings(conv=form))
        losses.append(cifar10.loss(logits, labels, scope))
  variables = tf.trainable_variables()
  gradients = [tf.gradients(loss, variables) for loss in losses]
  losses, gradients = graphs.run([losses, gradients])
  assert losses[1] == pytest.approx(losses[0], rel=1e-6)
  for variable, direct, winograd in zip(variables, *gradients):
    error = np.linalg.norm(winograd - direct)
    # Where two pixels are nearly the same, pooling may choose the other one.
    assert error < 1e-3 * np.linalg.norm(direct), variable.name


@pytest.mark.parametrize('name, value, known',
                         [('top_layers', 'none', ''), ('network', 'vgg', ''),
                          ('conv', 'fast', ''),
                          ('activation', 'swish', ' one of leaky_relu,')])
def test_unknown_forms_are_refused(name, value, known):
  with pytest.raises(ValueError, match=f'{value!r}.*; expected{known}'):
    networks.inference(random_images(2), Settings(**{name: value}))


@pytest.mark.parametrize('precision', ['bfloat16', 'float16'])
def test_precision_changes_the_arithmetic_only(graph, precision):
  images, labels = random_images(8), tf.constant(np.arange(8) % 10)
  losses = []
  for i, name in enumerate(('float32', precision)):
    with layers.compute_in(name), tf.variable_scope('', reuse=i > 0):
      with tf.name_scope('tower_%d' % i) as scope:
        logits = networks.inference(images, Settings(conv='direct'))
        assert logits.dtype == tf.float32
        losses.append(cifar10.loss(logits, labels, scope))
  kernels = [
      operation.inputs[1].dtype
      for operation in graph.get_operations()
      if re.match(r'tower_1/.*(Conv2D|MatMul)$', operation.name) and
      'norm' not in operation.name
  ]
  assert kernels == [tf.as_dtype(precision)] * 5
  variables = tf.trainable_variables()
  assert {v.dtype.base_dtype for v in variables} == {tf.float32}
  gradients = [tf.gradients(loss, variables) for loss in losses]
  assert {g.dtype for g in gradients[1]} == {tf.float32}
  (exact, loss), gradients = graphs.run([losses, gradients])
  # Both round at each layer, bfloat16 to 8 bits. Most of the difference of
  # gradients comes from windows of the pooling whose largest one changes.
  assert loss == pytest.approx(exact, rel=1e-3) and loss != exact
  for variable, ours, theirs in zip(variables, *gradients):
    cosine = (ours * theirs).sum()
    cosine /= np.linalg.norm(ours) * np.linalg.norm(theirs)
    assert cosine > 0.97, variable.name
    assert np.linalg.norm(theirs) == pytest.approx(np.linalg.norm(ours),
                                                   rel=0.05)


def test_the_decay_is_in_the_loss_whatever_the_name_scope():
  with tf.name_scope('model'):
    logits = cifar10.inference(random_images(2))
  with tf.name_scope('loss'):
    total_loss = cifar10.loss(logits, tf.constant([1, 2]))
  assert len(total_loss.op.inputs) == 3


def test_saved_variables_are_the_tutorials_and_on_the_cpu():
  with tf.device('/cpu:0'):
    global_step = tf.train.get_or_create_global_step()
  with tf.device('/gpu:0'):
    logits = cifar10.inference(random_images(4))
  train(cifar10.loss(logits, [1, 2, 3, 4]), global_step)
  names = set(VARIABLES)
  names.update(name + '/ExponentialMovingAverage' for name in VARIABLES)
  names.update(('cross_entropy/avg', 'total_loss/avg', 'local3/weight_loss/avg',
                'local4/weight_loss/avg'))
  types = {v.op.name: v.dtype.base_dtype for v in tf.global_variables()}
  assert types == {'global_step': tf.int64, **dict.fromkeys(names, tf.float32)}
  for v in tf.global_variables():
    assert tf.DeviceSpec.from_string(v.device).device_type == 'CPU', v.name


def test_summaries_are_named_without_towers_and_once():
  for i in range(2):
    with tf.variable_scope('', reuse=i > 0), tf.name_scope('tower_%d' % i):
      cifar10.inference(random_images(2))
  summary = tf.Summary.FromString(graphs.run(tf.summary.merge_all()))
  layer_names = {name.split('/')[0] for name in VARIABLES}
  assert sorted(value.tag for value in summary.value) == sorted(
      name + kind
      for name in layer_names
      for kind in ('/activations', '/sparsity'))


def test_without_a_run_training_ends_at_max_steps():
  global_step = tf.train.get_or_create_global_step()
  settings = Settings(schedule='one_cycle', warmup=0.5, learning_rate=0.5,
                      max_steps=100)
  cifar10.train(cifar10.loss(cifar10.inference(random_images(2)), [1, 2]),
                global_step, settings)
  (rate,) = tf.get_collection(graph_keys.LEARNING_RATE)
  with graphs.session() as session:
    global_step.load(79, session)
    assert session.run(rate) == pytest.approx(0.5 * (1 - 0.795) / 0.5)


def test_training_summaries():
  global_step = tf.train.get_or_create_global_step()
  logits = cifar10.inference(random_images(4))
  train(cifar10.loss(logits, [1, 2, 3, 4]), global_step)
  summary = tf.Summary.FromString(graphs.run(tf.summary.merge_all()))
  tags = ['learning_rate']
  losses = ['cross_entropy', 'total_loss']
  losses += ['local3/weight_loss', 'local4/weight_loss']
  for loss in losses:
    tags += ['losses/' + loss, 'losses/' + loss + '_raw']
  for name in VARIABLES:
    tags += [name + '/values', name + '/gradients']
  for layer in {name.split('/')[0] for name in VARIABLES}:
    tags += [layer + '/activations', layer + '/sparsity']
  assert sorted(value.tag for value in summary.value) == sorted(tags)


@pytest.mark.parametrize('top_layers', ['full', 'local'])
@pytest.mark.parametrize('precision', ['float32', 'bfloat16'])
def test_the_graph_is_in_boxes(graph, precision, top_layers):
  config = Settings(dataset='sample')
  global_step = tf.train.get_or_create_global_step()
  images, labels = cifar10.distorted_inputs(config, short_runs.prepared(config))
  with layers.compute_in(precision):
    logits = networks.inference(images, Settings(top_layers=top_layers))
  train_op = train(cifar10.loss(logits, labels), global_step)
  session_lib.step_after(train_op)
  counts = collections.Counter(
      operation.name.split('/')[0] for operation in graph.get_operations())
  # TensorBoard draws a single operation as a dot.
  dots = {name for name, count in counts.items() if count == 1}
  assert dots == {'pool1', 'pool2'}
  # Cross entropy and total loss hold their moving averages besides.
  assert set(counts) - dots == {
      'global_step', 'distorted_inputs', 'conv1', 'norm1', 'conv2', 'norm2',
      'local3', 'local4', 'softmax_linear', 'loss', 'cross_entropy',
      'total_loss', 'train'
  }


def test_by_default_the_operations_are_those_of_the_tutorial(graph):
  images = tf.placeholder(tf.float32, [4, 24, 24, 3])
  labels = tf.placeholder(tf.int32, [4])
  with variable_scope.training_scope(Settings()):
    logits = networks.inference(images, Settings(conv='direct'),
                                is_training=True)
  cifar10.loss(logits, labels)
  found = {
      '%s %s' % (operation.name, operation.type.replace('AddV2', 'Add'))
      for operation in graph.get_operations()
  }
  path = os.path.join(short_runs.ROOT, 'tests', 'nets',
                      'tutorial_operations.txt')
  with open(path) as lines:
    expected = set(lines.read().splitlines())
  assert found == expected


def test_a_tower_smooths_its_labels_in_training():
  images, losses = random_images(4), []
  for i, smoothing in enumerate((0.0, 0.5)):
    with tf.variable_scope('', reuse=i > 0), tf.name_scope(f't_{i}') as scope:
      losses.append(
          cifar10_multi_gpu_train.tower_loss(
              scope, images, [1, 2, 3, 4], Settings(label_smoothing=smoothing)))
  plain, smooth = graphs.run(losses)
  assert plain != smooth
