"""Towers: their names and devices, their gradients, their checkpoints."""

import dataclasses

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
from tests import graphs
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


@pytest.fixture(scope='module', name='four_towers')
def _four_towers(tmp_path_factory):
  with tf.Graph().as_default() as graph:
    build(short_runs.small_config(tmp_path_factory.mktemp('four'), num_gpus=4))
  return graph


def test_towers_are_named_as_in_the_tutorial_and_on_their_devices(four_towers):
  for i in range(4):
    for name in ('conv1/Conv2D', 'local4/MatMul', 'cross_entropy', 'total_loss',
                 'Stage', 'Unstage'):
      operation = four_towers.get_operation_by_name('tower_%d/%s' % (i, name))
      device = tf.DeviceSpec.from_string(operation.device)
      assert (device.device_type, device.device_index) == ('GPU', i)
    # The next batch waits there.
    kernel = four_towers.get_operation_by_name('tower_%d/conv1/Conv2D' % i)
    assert kernel.inputs[0].op is operation


def test_all_towers_take_the_form_of_convolutions(tmp_path, monkeypatch):
  algorithms = short_runs.noted_algorithms(monkeypatch)
  build(short_runs.small_config(tmp_path, num_gpus=2, conv='winograd'))
  assert algorithms == ['winograd'] * 4


def test_the_graph_is_in_boxes(four_towers):
  names = {o.name.split('/')[0] for o in four_towers.get_operations()}
  variables = four_towers.get_collection('trainable_variables')
  layers = {v.op.name.split('/')[0] for v in variables}
  assert {n for n in names - layers if not n.startswith('tower_')} == {
      'global_step', 'distorted_inputs', 'parts', 'cross_entropy', 'total_loss',
      'train', 'group_deps', 'group_deps_1'
  }


def test_variables_are_shared_and_one_input_is_on_the_cpu(four_towers):
  operations = four_towers.get_operations()
  shuffle_queues = [o for o in operations if 'RandomShuffleQueue' in o.type]
  assert len(shuffle_queues) == 1
  ready = [o for o in operations if o.type.startswith('QueueDequeue')]
  takes = [o for o in ready if 'ready_batches' in o.inputs[0].op.name]
  assert len(takes) == 1
  assert len(four_towers.get_collection('trainable_variables')) == 10
  of_input = [o for o in operations if o.name.startswith('distorted_inputs/')]
  for each in [*four_towers.get_collection('variables'), *of_input]:
    device = tf.DeviceSpec.from_string(each.device)
    assert device.device_type == 'CPU', each.name


def test_more_than_ten_towers_keep_their_losses_apart():
  # The name tower_1 is the beginning of tower_10.
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
    assert len(loss.op.inputs) == 3
    for term in loss.op.inputs:
      assert term.op.name.startswith(scope)


@pytest.mark.parametrize('count', [1, 2, 4])
def test_gradients_are_those_of_the_whole_batch(count):
  values = np.random.RandomState(0).randn(8, 24, 24, 3).astype(np.float32)
  labels = np.arange(8, dtype=np.int32)
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
  found, expected = graphs.run([[g for g, _ in averaged], expected])
  for a, b in zip(found, expected):
    np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_each_tower_has_its_own_part_of_the_batch(graph, tmp_path):
  train_op, loss, prefetch = build(short_runs.small_config(
      tmp_path, num_gpus=2))
  parts = [
      graph.get_operation_by_name('tower_%d/conv1/Conv2D' % i).inputs[0]
      for i in range(2)
  ]
  losses = [
      graph.get_tensor_by_name('tower_%d/total_loss:0' % i) for i in range(2)
  ]
  batches = []
  proto = session_settings.config_proto(Settings(), use_gpu=False)
  creator = tf.train.ChiefSessionCreator(config=proto)
  with tf.train.MonitoredSession(creator, [prefetch]) as session:
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


@pytest.mark.slow
def test_towers_share_what_techniques_need(tmp_path, capsys):
  two = short_runs.small_config(tmp_path, num_gpus=2, batch_size=8, max_steps=2,
                                hidden_layers='8', conv='direct',
                                normalization='batch', activation='prelu',
                                optimizer='adam', regularizer='l2', dropout=0.5,
                                max_norm=2.0, validation_examples=8,
                                validation_steps=2)
  cifar10_multi_gpu_train.train(two)
  assert 'validation precision' in capsys.readouterr().out
  config = dataclasses.replace(two, num_gpus=1, max_steps=3)
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


def test_towers_without_a_gpu_of_their_own_share_the_first(graph, tmp_path):
  # Devices of the processor in place of the GPUs: two, for three towers.
  build(short_runs.small_config(tmp_path, num_gpus=3, batch_size=2))
  initialize = tf.global_variables_initializer()
  losses, feeds = [], {}
  for i in range(3):
    losses.append(graph.get_tensor_by_name(f'tower_{i}/total_loss:0'))
    images, labels = graph.get_operation_by_name(f'tower_{i}/Unstage').outputs
    feeds.update({images: [[[[0] * 3] * 24] * 24] * 2, labels: [0, 1]})
  for op in graph.get_operations():
    op._set_device(op.device.replace('GPU', 'CPU'))
  proto = session_settings.config_proto(Settings())
  assert proto.allow_soft_placement
  proto.device_count['CPU'] = 2
  proto.graph_options.rewrite_options.disable_meta_optimizer = True
  options = tf.RunOptions(output_partition_graphs=True)
  metadata = tf.RunMetadata()
  with tf.Session(config=proto) as sess:
    sess.run(initialize)
    sess.run(losses, feeds, options, metadata)
  found = {(node.name[:7], node.device[-5:])
           for part in metadata.partition_graphs
           for node in part.node
           if node.name.endswith(('/conv1/Conv2D', '/local4/MatMul'))}
  assert found == {('tower_0', 'CPU:0'), ('tower_1', 'CPU:1'),
                   ('tower_2', 'CPU:0')}
