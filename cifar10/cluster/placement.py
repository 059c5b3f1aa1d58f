"""What is placed where in a cluster, and what travels between.

The variables are on the parameter servers; what is computed with them is on
the workers. Each step a worker reads the variables and sends gradients.
"""

import re

import tensorflow.compat.v1 as tf

# Operations of the fully connected layers, forward and backward.
_FULLY_CONNECTED = re.compile(
  '(^|/)(local3|local4|softmax_linear|cross_entropy)[^/]*(/|$)'
)


def device_function(task, config):
  """What places operations: variables on parameter servers, the rest here.

  Args:
    task: cluster.Task, a worker.
    config: Config; with `model_parallel`, what a tower's only GPU would get
      is divided: the convolutions stay, the fully connected layers go to the
      second GPU.

  Returns:
    A function for tf.device.
  """
  strategy = None  # Round robin.
  if config.ps_strategy == 'by_size':
    strategy = GreedyLoadBalancing(len(task.ps))
  simple = tf.train.replica_device_setter(
    worker_device=task.device + '/cpu:0',
    cluster={'ps': list(task.ps), 'worker': list(task.workers)},
    ps_strategy=strategy,
  )

  def divided(op):
    device = tf.DeviceSpec.from_string(simple(op))
    if device.device_type == 'GPU' and _FULLY_CONNECTED.search(op.name):
      device = device.replace(device_index=1)
    return device.to_string()

  return divided if config.model_parallel else simple


class GreedyLoadBalancing:
  """Puts each variable on the parameter server with the fewest bytes so far.

  As tf.contrib.training.GreedyLoadBalancingStrategy with its byte_size_load_fn
  did, which TensorFlow 2 no longer has.
  """

  def __init__(self, num_ps):
    self._bytes = [0] * num_ps

  def __call__(self, op):
    index = self._bytes.index(min(self._bytes))
    self._bytes[index] += _size(op.outputs[0])
    return index


def partitioner(task, config):
  """What splits variables that are large; None where none is to be split."""
  if not config.partition_ps:
    return None
  return tf.min_max_variable_partitioner(len(task.ps))


def sent_as(gradients, dtype):
  """Gradients that go to the parameter servers in `dtype`.

  Args:
    gradients: list of pairs (float32 gradient, variable).
    dtype: name of a type, for the way only.

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
    sent: bytes of those that go there. What the runtime adds to them, and
      tensors of unknown size, are not counted.
  """
  tensors = {('ps', 'worker'): set(), ('worker', 'ps'): set()}
  pending, seen = [train_op], {train_op}
  while pending:
    op = pending.pop()
    to = tf.DeviceSpec.from_string(op.device)
    for tensor in op.inputs:
      source = tf.DeviceSpec.from_string(tensor.device)
      if (source.job, to.job) in tensors:
        # To one task it is sent once, however many take it there.
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
  """The bytes of a tensor; 0 where its shape is not known."""
  return (tensor.shape.num_elements() or 0) * tensor.dtype.size
