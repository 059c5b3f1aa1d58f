"""Placement: which device holds or computes what, and what travels.

The parameter servers hold the variables, the workers compute. In each step a
worker reads the variables and sends gradients.
"""

import re

import tensorflow.compat.v1 as tf

# Operations of the fully connected layers, forward and backward.
_FULLY_CONNECTED = re.compile(
  '(^|/)(local3|local4|softmax_linear|cross_entropy)[^/]*(/|$)'
)

# Where each worker reads its own images: also a variable that holds them.
_INPUT = 'distorted_inputs/'


def device_function(task, settings):
  """Places the model's variables on parameter servers, all else on this worker.

  Args:
    task: cluster_spec.Task, a worker.
    settings: settings.Cluster; with `model_parallel` the convolutions stay on
      the tower's GPU, and the fully connected layers go to the second GPU.

  Returns:
    A function for tf.device.
  """
  strategy = None  # Round robin.
  if settings.ps_strategy == 'by_size':
    strategy = GreedyLoadBalancing(len(task.ps))
  worker_device = task.device + '/cpu:0'
  simple = tf.train.replica_device_setter(
    worker_device=worker_device,
    cluster={'ps': list(task.ps), 'worker': list(task.workers)},
    ps_strategy=strategy,
  )

  def place(op):
    if op.name.startswith(_INPUT):
      return worker_device
    device = tf.DeviceSpec.from_string(simple(op))
    if settings.model_parallel and _FULLY_CONNECTED.search(op.name):
      if device.device_type == 'GPU':
        device = device.replace(device_index=1)
    return device.to_string()

  return place


class GreedyLoadBalancing:
  """Puts each variable on the parameter server with the fewest bytes so far.

  Does what tf.contrib.training.GreedyLoadBalancingStrategy did with
  byte_size_load_fn; TensorFlow 2 has no contrib.
  """

  def __init__(self, num_ps):
    self._bytes = [0] * num_ps

  def __call__(self, op):
    index = self._bytes.index(min(self._bytes))
    self._bytes[index] += _size(op.outputs[0])
    return index


def partitioner(task, settings):
  """The partitioner of large variables; None if they are not to be split."""
  if not settings.partition_ps:
    return None
  return tf.min_max_variable_partitioner(len(task.ps))


def sent_as(gradients, dtype):
  """Sends gradients to the parameter servers in `dtype`.

  Args:
    gradients: list of pairs (float32 gradient, variable).
    dtype: name of the type in which they travel.

  Returns:
    A list like `gradients`.
  """
  sent = []
  for gradient, variable in gradients:
    cast = tf.cast(gradient, dtype)
    with tf.device(variable.device):
      sent.append((tf.cast(cast, tf.float32), variable))
  return sent


def bytes_of_step(train_op):
  """What one step of a worker receives and sends, in bytes.

  Args:
    train_op: operation that takes a step.

  Returns:
    received: bytes of the tensors that come from parameter servers.
    sent: bytes of the tensors that go there. Neither counts the overhead of
      the runtime, nor tensors of unknown size.
  """
  tensors = {('ps', 'worker'): set(), ('worker', 'ps'): set()}
  pending, seen = [train_op], {train_op}
  while pending:
    op = pending.pop()
    to = tf.DeviceSpec.from_string(op.device)
    for tensor in op.inputs:
      source = tf.DeviceSpec.from_string(tensor.device)
      if (source.job, to.job) in tensors:
        # A task receives it once, however many operations use it there.
        tensors[source.job, to.job].add((tensor.name, to.task))
    before = {tensor.op for tensor in op.inputs} | set(op.control_inputs)
    pending += before - seen
    seen |= before
  graph = train_op.graph
  received, sent = (
    sum(_size(graph.get_tensor_by_name(name)) for name, _ in found)
    for found in (tensors['ps', 'worker'], tensors['worker', 'ps'])
  )
  return received, sent


def _size(tensor):
  """The bytes of a tensor; 0 if its shape is not known."""
  return (tensor.shape.num_elements() or 0) * tensor.dtype.size
