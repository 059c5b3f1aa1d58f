"""Towers: their names and devices, their gradients, their checkpoints."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_multi_gpu_train
from cifar10 import cifar10_train
from cifar10.optim import towers
from cifar10.run import trainer
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import run_state
from cifar10.util import session_settings
from tests import short_runs


def build(config):
  """The trainer's graph; returns (train_op, loss, prefetch)."""
  config = cifar10.with_constants(config)
  with tf.device('/cpu:0'):
    global_step = tf.train.get_or_create_global_step()
    data = short_runs.prepared(config)
    state = run_state.begin(data, config.examples_per_machine)
    return cifar10_multi_gpu_train.build_step(trainer.Run(config, data, state),
                                              global_step)


def session_without_gpus(prefetch):
  config = session_settings.config_proto(Settings(), use_gpu=False)
  return tf.train.MonitoredSession(tf.train.ChiefSessionCreator(config=config),
                                   hooks=[prefetch])


@pytest.fixture(scope='module', name='graph_of_four')
def _graph_of_four(tmp_path_factory):
  with tf.Graph().as_default() as graph:
    build(short_runs.small_config(tmp_path_factory.mktemp('four'), num_gpus=4))
  return graph


@pytest.fixture
def four_towers(graph_of_four):
  with graph_of_four.as_default():
    yield graph_of_four


def test_towers_are_named_as_in_the_tutorial_and_on_their_devices(four_towers):
  for i in range(4):
    for name in ('conv1/Conv2D', 'local4/MatMul', 'cross_entropy',
                 'total_loss'):
      operation = four_towers.get_operation_by_name('tower_%d/%s' % (i, name))
      device = tf.DeviceSpec.from_string(operation.device)
      assert (device.device_type, device.device_index) == ('GPU', i)


def test_all_towers_take_the_form_of_convolutions(tmp_path, monkeypatch):
  algorithms = short_runs.noted_algorithms(monkeypatch)
  with tf.Graph().as_default():
    build(short_runs.small_config(tmp_path, num_gpus=2, conv='winograd'))
  assert algorithms == ['winograd'] * 4


def test_the_graph_is_in_boxes(four_towers):
  names = {o.name.split('/')[0] for o in four_towers.get_operations()}
  layers = {v.op.name.split('/')[0] for v in tf.trainable_variables()}
  assert {n for n in names - layers if not n.startswith('tower_')} == {
      'global_step', 'distorted_inputs', 'parts', 'cross_entropy', 'total_loss',
      'train', 'group_deps', 'group_deps_1'
  }


def test_variables_are_shared_and_on_the_cpu(four_towers):
  assert len(tf.trainable_variables()) == 10
  for v in tf.global_variables():
    device = tf.DeviceSpec.from_string(v.device)
    assert device.device_type == 'CPU', v.name


def test_there_is_one_input_on_the_cpu_however_many_towers(four_towers):
  operations = four_towers.get_operations()
  shuffle_queues = [o for o in operations if 'RandomShuffleQueue' in o.type]
  assert len(shuffle_queues) == 1
  ready = [o for o in operations if o.type.startswith('QueueDequeue')]
  takes = [o for o in ready if 'ready_batches' in o.inputs[0].op.name]
  assert len(takes) == 1
  for operation in operations:
    if operation.name.startswith('distorted_inputs/'):
      device = tf.DeviceSpec.from_string(operation.device)
      assert device.device_type == 'CPU', operation.name


def test_more_than_ten_towers_keep_their_losses_apart():
  # The name tower_1 is the beginning of tower_10.
  images = tf.zeros([2, 24, 24, 3])
  with tf.Graph().as_default():
    for i in (10, 1):
      images = tf.zeros([2, 24, 24, 3])
      with tf.variable_scope('', reuse=i == 1), tf.name_scope('tower_%d' % i):
        scope = 'tower_%d/' % i
        loss = cifar10_multi_gpu_train.tower_loss(scope, images, [0, 1],
                                                  Settings())
      losses = towers.named_losses(scope, loss)
      assert sorted(losses) == [
          'cross_entropy', 'local3/weight_loss', 'local4/weight_loss',
          'total_loss'
      ]
      assert losses['total_loss'] is loss
      total = loss.op
      assert len(total.inputs) == 3
      for term in total.inputs:
        assert term.op.name.startswith('tower_%d/' % i)


@pytest.mark.parametrize('count', [1, 2, 4])
def test_gradients_are_those_of_the_whole_batch(count):
  values = np.random.RandomState(0).randn(8, 24, 24, 3).astype(np.float32)
  labels = np.arange(8, dtype=np.int32)
  with tf.Graph().as_default():
    tf.set_random_seed(1)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    whole = cifar10.loss(cifar10.inference(tf.constant(values)), labels)
    expected = [gradient for gradient, _ in optimizer.compute_gradients(whole)]
    gradients = []
    for i, part in enumerate(np.split(np.arange(8), count)):
      with tf.variable_scope('', reuse=True), tf.name_scope('tower_%d' % i):
        loss = cifar10_multi_gpu_train.tower_loss('tower_%d/' % i,
                                                  tf.constant(values[part]),
                                                  labels[part], Settings())
        gradients.append(optimizer.compute_gradients(loss))
    averaged = cifar10_multi_gpu_train.average_gradients(gradients)
    assert [v for _, v in averaged] == tf.trainable_variables()
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found, expected = session.run([[g for g, _ in averaged], expected])
  for a, b in zip(found, expected):
    np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_each_tower_has_its_own_part_of_the_batch(tmp_path):
  with tf.Graph().as_default() as graph:
    train_op, loss, prefetch = build(
        short_runs.small_config(tmp_path, num_gpus=2))
    parts = [
        graph.get_operation_by_name('tower_%d/conv1/Conv2D' % i).inputs[0]
        for i in range(2)
    ]
    losses = [
        graph.get_tensor_by_name('tower_%d/total_loss:0' % i) for i in range(2)
    ]
    batches = []
    with session_without_gpus(prefetch) as session:
      for _ in range(3):
        found, mean, of_towers, _ = session.run([parts, loss, losses, train_op])
        batches.extend(found)
        # The loss shown is the mean of the towers.
        assert of_towers[0] != of_towers[1]
        assert mean == pytest.approx(sum(of_towers) / 2, rel=1e-6)
  assert {batch.shape for batch in batches} == {(16, 24, 24, 3)}
  # Not one image twice: neither in both towers nor in two steps.
  images = np.concatenate(batches).reshape(96, -1)
  assert len(np.unique(images, axis=0)) == 96


def test_the_next_batch_waits_on_the_device_of_its_tower(four_towers):
  for i in range(4):
    for name in ('Stage', 'Unstage'):
      operation = four_towers.get_operation_by_name('tower_%d/%s' % (i, name))
      device = tf.DeviceSpec.from_string(operation.device)
      assert (device.device_type, device.device_index) == ('GPU', i)
    kernel = four_towers.get_operation_by_name('tower_%d/conv1/Conv2D' % i)
    assert kernel.inputs[0].op is operation


@pytest.mark.slow
@pytest.mark.parametrize('activation', ['prelu', 'gelu'])  # XLA compiles GELU.
def test_towers_share_what_techniques_need(tmp_path, capsys, activation):
  settings = {
      'num_gpus': 2,
      'batch_size': 8,
      'max_steps': 2,
      'normalization': 'batch',
      'activation': activation,
      'optimizer': 'adam',
      'regularizer': 'l2',
      'dropout': 0.5,
      'max_norm': 2.0,
      'validation_examples': 8,
      'validation_steps': 2
  }
  cifar10_multi_gpu_train.train(short_runs.small_config(tmp_path, **settings))
  assert 'validation precision' in capsys.readouterr().out
  config = short_runs.small_config(tmp_path,
                                   **dict(settings, num_gpus=1, max_steps=3))
  # The trainer of one device finds all that it needs, and no more.
  of_towers = list_variables(config)
  cifar10_train.train(config)
  assert short_runs.steps(capsys.readouterr().out) == [2]
  assert list_variables(config) == of_towers
  # 2 steps of 2 x 8 examples are 4 steps of 8.
  assert run_state.load(config.train_dir).step_offset == 2


def list_variables(config):
  path = checkpoints.latest(config.train_dir)
  reader = tf.train.NewCheckpointReader(path)
  types = reader.get_variable_to_dtype_map()
  return {n: (s, types[n]) for n, s in tf.train.list_variables(path)}


@pytest.mark.slow
def test_towers_resume_a_run_of_the_single_trainer(tmp_path, capsys):
  config = short_runs.trained(tmp_path, max_steps=6, num_gpus=2)
  of_one = list_variables(config)
  cifar10_multi_gpu_train.train(config)
  assert short_runs.steps(capsys.readouterr().out) == [4, 5]
  assert list_variables(config) == of_one
  # 4 steps of 16 examples are 2 steps of 2 x 16.
  assert run_state.load(config.train_dir).step_offset == -2


@pytest.mark.slow
def test_a_process_says_what_it_runs_on(tmp_path):
  status, out, err = short_runs.run('cifar10_multi_gpu_train', '--num_gpus=3',
                                    '--batch_size=1', '--max_steps=1',
                                    '--train_dir=%s' % tmp_path)
  assert (status, err) == (0, '')
  assert '3 towers, each with batches of 1: 3 images a step' in out
  assert 'WARNING: --num_gpus=3, but TensorFlow finds ' in out
  ((step, _, rate, seconds),) = short_runs.STEP_LINE.findall(out)
  assert step == '0'
  # As in the tutorial, sec/batch is for the batch of one tower.
  assert float(rate) * float(seconds) == pytest.approx(1, rel=0.1)


def test_one_tower_computes_what_the_single_trainer_computes(tmp_path):
  single = short_runs.trained(tmp_path / 'single')
  one = short_runs.small_config(tmp_path / 'towers', max_steps=1)
  cifar10_multi_gpu_train.train(one)
  assert list_variables(one) == list_variables(single)
