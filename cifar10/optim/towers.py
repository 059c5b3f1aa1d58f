"""Towers: copies of the model, one for each GPU, that share their variables.

The tutorial's section "Training a Model Using Multiple GPU Cards".
"""

import contextlib

import tensorflow.compat.v1 as tf


@contextlib.contextmanager
def tower(name, index):
  """The device and scopes of a tower; yields its name scope, 'tower_0/'."""
  # The first tower creates the variables, the others reuse them.
  reuse = True if index else None
  with tf.device(f'/gpu:{index}'), tf.variable_scope('', reuse=reuse):
    with tf.name_scope(f'{name}_{index}') as scope:
      yield scope


def split(images, labels, num_gpus):
  """Splits a batch equally: a list of (images, labels), one for each tower."""
  with tf.name_scope('parts'):
    return list(zip(tf.split(images, num_gpus), tf.split(labels, num_gpus)))


def staged(tensors, name):
  """Keeps the next batch in the memory of the current device.

  So no step waits for the copy. `name` must differ between towers. Returns an
  operation that copies a batch, tensors of known shapes, to the device, and the
  tensors of the next batch there, which block until it has arrived.
  """
  stage = tf.raw_ops.Stage(values=list(tensors), shared_name=name)
  waiting = tf.raw_ops.Unstage(dtypes=[tensor.dtype for tensor in tensors],
                               shared_name=name)
  for tensor, original in zip(waiting, tensors):
    tensor.set_shape(original.shape)
  return stage, waiting


def gradients(loss):
  """The gradients of a tower: a list of pairs (gradient, variable)."""
  # Any optimizer computes the same; that of `cifar10.train` applies their mean.
  return tf.train.GradientDescentOptimizer(0.0).compute_gradients(loss)


def named_losses(scope, total_loss):
  """A tower's losses by their names in its name scope, the total one last."""
  losses = tf.get_collection('losses', scope) + [total_loss]
  return {loss.op.name[len(scope):]: loss for loss in losses}


def mean_loss(tower_losses):
  """The mean of the towers' total losses; takes their `named_losses`.

  In the collection 'losses', the means of the other ones replace them.
  """
  means = [
      mean([losses[name]
            for losses in tower_losses], name)
      for name in tower_losses[0]
  ]
  tf.get_collection_ref('losses')[:] = means[:-1]
  return means[-1]


def mean(tensors, name=None):
  """The mean of tensors of one shape."""
  with tf.name_scope(name, 'mean') as scope:
    return tf.multiply(tf.add_n(tensors), 1 / len(tensors), name=scope)


def print_devices(settings):
  """Prints the number of images in a step, and warns if there are few GPUs."""
  num_gpus = settings.num_gpus
  found = len(tf.config.experimental.list_physical_devices('GPU'))
  towers = '1 tower' if num_gpus == 1 else f'{num_gpus} towers, each'
  what = 'Towers'
  if settings.devices:
    towers = f'1 tower, whose parts are on {", ".join(settings.devices)},'
    what = 'Parts'
  print(f'Training on {towers} with batches of {settings.batch_size}: '
        f'{settings.examples_per_machine} images a step.')
  if found < num_gpus:
    gpus = {0: 'no GPU', 1: '1 GPU'}.get(found, f'{found} GPUs')
    device = "another one's" if found else 'the CPU'
    print(f'WARNING: --num_gpus={num_gpus}, but TensorFlow finds {gpus} here. '
          f'{what} without a GPU of their own run on {device}' +
          (', which is hardly faster than one.' if num_gpus > 1 else '.'))
