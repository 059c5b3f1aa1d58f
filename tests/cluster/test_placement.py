"""What is placed where in a cluster, and the bytes that travel."""

import collections

import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import networks
from cifar10 import pipelines
from cifar10.cluster import cluster_spec
from cifar10.cluster import optimizer
from cifar10.cluster import placement
from cifar10.cluster import shared_state
from cifar10.data import datasets
from cifar10.optim import model_parallelism
from cifar10.settings import Settings

PARAMETERS = 1068298
LOCAL3 = 2304 * 384


def places(config, ps=2):
  """The device of each operation of the model, on worker 1."""
  hosts = tuple('p%d:1' % i for i in range(ps))
  task = cluster_spec.Task('worker', 1, hosts, ('b:1', 'c:1'))
  with tf.device(placement.device_function(task, config)):
    logits = cifar10.inference(tf.zeros([2, 24, 24, 3]))
    cifar10.loss(logits, tf.constant([1, 2]))
  graph = tf.get_default_graph()
  return {o.name: o.device for o in graph.get_operations()}


def test_variables_are_spread_round_robin_and_the_rest_is_here():
  devices = places(Settings())
  for i, v in enumerate(tf.trainable_variables()):
    assert v.device == '/job:ps/task:%d/device:CPU:0' % (i % 2), v.name
  for name in ('conv1/Conv2D', 'local3/MatMul', 'total_loss'):
    assert devices[name].startswith('/job:worker/task:1'), name


def test_a_worker_keeps_the_records_that_it_has_loaded():
  config = Settings(dataset='sample', input='preloaded')
  task = cluster_spec.Task('worker', 1, ('p:1',), ('b:1', 'c:1'))
  with tf.device(placement.device_function(task, config)):
    pipelines.distorted_inputs(config, datasets.prepare(config))
  (records,) = tf.local_variables()
  for op in tf.get_default_graph().get_operations():
    assert op.device.lower().startswith('/job:worker/task:1'), op.name
  assert records.op.name == 'distorted_inputs/preloaded'


def test_variables_are_spread_by_size():
  places(Settings(ps_strategy='by_size'))
  sizes = {}
  for v in tf.trainable_variables():
    size = v.shape.num_elements()
    sizes[v.device] = sizes.get(v.device, 0) + size
  # local3/weights, most of it all, has a server for itself.
  assert sorted(sizes.values())[-1] < LOCAL3 + 5000
  assert sum(sizes.values()) == PARAMETERS


def test_large_variables_are_split_over_all_servers():
  hosts = ('a:1', 'b:1', 'c:1')
  task = cluster_spec.Task('worker', 0, hosts, ('d:1',))
  config = Settings(partition_ps=True)
  with tf.device(placement.device_function(task, config)):
    partitioner = tf.min_max_variable_partitioner(len(task.ps))
    with tf.variable_scope('', partitioner=partitioner):
      cifar10.inference(tf.zeros([2, 24, 24, 3]))
  parts = [v for v in tf.trainable_variables() if 'local3/weights' in v.op.name]
  assert [part.shape.as_list() for part in parts] == [[768, 384]] * 3
  assert len({part.device for part in parts}) == 3
  # All others are smaller than 256 KiB.
  counts = collections.Counter(part._get_save_slice_info().full_name
                               for part in tf.trainable_variables())
  assert counts.pop('local3/weights') == 3
  assert counts.pop('local4/weights') == counts.pop('conv2/weights') == 2
  assert set(counts.values()) == {1} and len(counts) == 7


def devices_of_parts(**settings):
  """The tf.DeviceSpec of each operation of a model in parts, on worker 0."""
  task = cluster_spec.Task('worker', 0, ('a:1',), ('b:1', 'c:1'))
  config = model_parallelism.with_devices(
      Settings(**settings),
      task.worker_devices if task.lenders(Settings(**settings)) else ())
  place = placement.device_function(task, config)
  with tf.device(place), tf.device('/gpu:0'), model_parallelism.placed(config):
    logits = networks.inference(tf.zeros([2, 24, 24, 3]), config,
                                is_training=True)
    loss = cifar10.loss(logits, [1, 2])
    tf.add_n([
        tf.nn.l2_loss(g) for g in tf.gradients(loss, tf.trainable_variables())
    ], 'step')
  graph = tf.get_default_graph()
  return {
      op.name: tf.DeviceSpec.from_string(op.device)
      for op in graph.get_operations()
  }


def check_parts(devices, parts, field):
  """Checks `field` of the devices of operations by the start of their name."""
  for name, index in parts.items():
    found = {
        getattr(d, field) for n, d in devices.items() if n.startswith(name)
    }
    assert found == {index}, name
  for v in tf.global_variables():
    device = devices[v.op.name]
    assert (device.job, device.device_type) == ('ps', 'CPU'), v.name


LAYERS = {
    'conv1/Conv2D': 0,
    'gradients/conv2/': 0,
    'gradients/norm1': 0,
    'local3/MatMul': 1,
    'gradients/local4/MatMul_grad/MatMul_1': 1,
    'gradients/local5/MatMul_grad/MatMul_1': 1,
    'softmax_linear/MatMul': 1
}

COLUMNS = {
    '%s%s/column_%d/' % (before, layer, i): i for before in ('', 'gradients/')
    for layer in 'conv1 pool1 conv2 norm2 pool2 local3 local4 local5'.split()
    for i in range(2)
}
COLUMNS.update({'softmax_linear/MatMul': 0, 'gradients/AddN': 0})


@pytest.mark.parametrize('kind, parts', [('layers', LAYERS),
                                         ('filters', COLUMNS)])
@pytest.mark.parametrize('form, num_gpus, field',
                         [('direct', 2, 'device_index'),
                          ('winograd', 2, 'device_index'),
                          ('direct', 1, 'task')])
def test_a_model_is_divided_between_two_devices_or_workers(
    kind, parts, form, num_gpus, field):
  devices = devices_of_parts(model_parallelism=kind, num_gpus=num_gpus,
                             conv=form, hidden_layers='8,6,4')
  check_parts(devices, parts, field)
  tasks = {d.task for d in devices.values() if d.job == 'worker'}
  assert tasks == set(range(3 - num_gpus))


@pytest.mark.parametrize('columns', [1, 2])
def test_the_bytes_that_parts_exchange_are_counted(columns):
  devices_of_parts(model_parallelism='filters', columns=columns)
  step = tf.get_default_graph().get_operation_by_name('step')
  received, _, exchanged = placement.bytes_of_step(step)
  parameters = sum(v.shape.num_elements() for v in tf.trainable_variables())
  assert received == 4 * parameters
  # Of each image: what worker 1 takes and gives, forward and backward. The
  # images and the halves of its weights come from worker 0, gradients go back.
  values = [2 * 6 * 6 * 32, 2 * 192, 96]  # pool2, local3; local4 for worker 0.
  if columns == 1:  # norm1; and the edges of pool1 and conv2.
    values += [2 * 12 * 12 * 32, 2 * 12 * 12 * 4, 2 * 12 * 12 * 4]
  per_image = 2 * sum(values) + 24 * 24 * 3
  weights = parameters - 192 * 10 - 10
  assert exchanged == 4 * (2 * per_image + 2 * weights // 2)


@pytest.mark.parametrize('sync', [True, False])
@pytest.mark.parametrize('dtype, size', [('float32', 4), ('bfloat16', 2),
                                         ('float16', 2)])
def test_a_step_reads_all_variables_and_sends_all_gradients(dtype, size, sync):
  task = cluster_spec.Task('worker', 0, ('a:1', 'b:1'), ('c:1',))
  config = Settings(partition_ps=True, grad_dtype=dtype, sync=sync)
  with tf.device(placement.device_function(task, config)):
    global_step = tf.train.get_or_create_global_step()
    logits = cifar10.inference(tf.zeros([2, 24, 24, 3]))
    total_loss = cifar10.loss(logits, [1, 2])
    worker = optimizer.WorkerOptimizer(task, config,
                                       shared_state.progress(task, last_step=9),
                                       1)
    train_op = cifar10.train(total_loss, global_step, config, worker=worker)
  received, sent, exchanged = placement.bytes_of_step(train_op)
  assert exchanged == 0
  # And a few numbers: the step, the learning rate, the staleness.
  assert 0 <= received - 4 * PARAMETERS < 100
  assert 0 <= sent - size * PARAMETERS < 500
