"""Towers: copies of the model, one for each GPU of a machine.

The tutorial's section "Training a Model Using Multiple GPU Cards". Towers share
their variables, and each takes its own part of every batch.
"""

import contextlib

import tensorflow.compat.v1 as tf


@contextlib.contextmanager
def tower(name, index):
  """The device, variable scope and name scope of a tower.

  Args:
    name: name of the towers; the tutorial's is 'tower'.
    index: number of the tower, and of its GPU.

  Yields:
    The name scope of the tower, 'tower_0/' for the first one.
  """
  # The first tower creates the variables, the others reuse them.
  reuse = True if index else None
  with tf.device('/gpu:%d' % index), tf.variable_scope('', reuse=reuse):
    with tf.name_scope('%s_%d' % (name, index)) as scope:
      yield scope


def split(images, labels, num_gpus):
  """Splits a batch into equal parts, one for each tower.

  Args:
    images: float32 tensor, [num_gpus * batch, height, width, depth].
    labels: int32 tensor, [num_gpus * batch].
    num_gpus: number of towers.

  Returns:
    A list of pairs (images, labels), each of `batch` examples.
  """
  with tf.name_scope('parts'):
    return list(zip(tf.split(images, num_gpus), tf.split(labels, num_gpus)))


def staged(tensors, name):
  """Keeps a batch waiting in the memory of the current device.

  So the step that needs the batch does not wait for its copy from the memory
  of the CPU to that of a GPU.

  Args:
    tensors: sequence of tensors of known shapes, the next batch.
    name: name of the staging area, different for each tower.

  Returns:
    stage: operation that copies the next batch to the device.
    staged: list of tensors like `tensors`, the batch that waits there; running
      them waits until there is one.
  """
  stage = tf.raw_ops.Stage(values=list(tensors), shared_name=name)
  waiting = tf.raw_ops.Unstage(
    dtypes=[tensor.dtype for tensor in tensors], shared_name=name
  )
  for tensor, original in zip(waiting, tensors):
    tensor.set_shape(original.shape)
  return stage, waiting


def named_losses(scope, total_loss):
  """The losses of one tower, by their names without the tower's.

  Args:
    scope: name scope of the tower, 'tower_0/'.
    total_loss: its total loss.

  Returns:
    dict of float32 scalar tensors; 'total_loss' is the last one.
  """
  losses = tf.get_collection('losses', scope) + [total_loss]
  return {loss.op.name[len(scope) :]: loss for loss in losses}


def mean_losses(tower_losses):
  """The mean of each loss over all towers.

  Args:
    tower_losses: for each tower a dict as `named_losses` returns it.

  Returns:
    dict of float32 scalar tensors, whose operations have the same names.
  """
  return {
    name: mean([losses[name] for losses in tower_losses], name)
    for name in tower_losses[0]
  }


def mean(tensors, name=None):
  """The mean of tensors of one shape."""
  with tf.name_scope(name, 'mean') as scope:
    return tf.multiply(tf.add_n(tensors), 1 / len(tensors), name=scope)


def print_devices(settings):
  """Prints how many images a step takes, and warns if there are few GPUs."""
  num_gpus = settings.num_gpus
  found = len(tf.config.experimental.list_physical_devices('GPU'))
  print(
    'Training on %s with batches of %d: %d images a step.'
    % (
      '1 tower' if num_gpus == 1 else '%d towers, each' % num_gpus,
      settings.batch_size,
      settings.examples_per_machine,
    )
  )
  if found < num_gpus:
    print(
      'WARNING: --num_gpus=%d, but TensorFlow finds %s here. Towers without a '
      'GPU of their own run on %s, which is hardly faster than one.'
      % (
        num_gpus,
        {0: 'no GPU', 1: '1 GPU'}.get(found, '%d GPUs' % found),
        "another one's" if found else 'the CPU',
      )
    )
