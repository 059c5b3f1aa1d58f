"""Placement of variables and operations, and the bytes sent between tasks.

The parameter servers hold the variables, the workers compute. In each step a
worker reads the variables and sends gradients.
"""

import tensorflow.compat.v1 as tf

from cifar10.util import graph_keys

# The operations of the input, and the variable of --input=preloaded. Each
# worker keeps them on its own device.
_INPUT = graph_keys.INPUT_SCOPE + '/'


def device_function(task, settings):
  """A function for tf.device: variables on parameter servers, the rest here.

  An operation stays where optim/model_parallelism.py has put it.
  """
  worker_device, loads = task.device + '/cpu:0', [0] * len(task.ps)

  # As tf.contrib.training.GreedyLoadBalancingStrategy with byte_size_load_fn;
  # TensorFlow 2 has no contrib.
  def fewest_bytes(variable):
    index = loads.index(min(loads))
    loads[index] += _size(variable.outputs[0])
    return index

  strategies = {'by_size': fewest_bytes, 'round_robin': None}
  place = tf.train.replica_device_setter(
      len(task.ps), worker_device=worker_device,
      ps_strategy=strategies[settings.ps_strategy])
  return lambda op: (worker_device if op.name.startswith(_INPUT) else place(op))


def bytes_of_step(train_op):
  """The bytes of one step, three numbers.

  Those that a worker receives from parameter servers and sends there, and those
  between workers that have parts of one model; without the runtime's overhead
  and tensors of unknown size.
  """
  # Sizes of tensors between two jobs, by their names and receivers.
  sizes = {('ps', 'worker'): {}, ('worker', 'ps'): {}, ('worker', 'worker'): {}}
  pending, seen = [train_op], {train_op}
  while pending:
    op = pending.pop()
    to = tf.DeviceSpec.from_string(op.device)
    for tensor in op.inputs:
      source = tf.DeviceSpec.from_string(tensor.device)
      jobs = source.job, to.job
      if jobs in sizes and (source.job, source.task) != (to.job, to.task):
        # A task receives it once, however many operations use it there.
        sizes[jobs][tensor.name, to.task] = _size(tensor)
    before = {tensor.op for tensor in op.inputs} | set(op.control_inputs)
    pending += before - seen
    seen |= before
  return tuple(sum(by_tensor.values()) for by_tensor in sizes.values())


def _size(tensor):
  """The bytes of a tensor; 0 if its shape is not known."""
  return (tensor.shape.num_elements() or 0) * tensor.dtype.size
