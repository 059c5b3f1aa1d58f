"""The CIFAR-10 model: the graph, from images to a training step.

    images, labels = distorted_inputs()           batches of training images
    logits = inference(images)                    the model
    total_loss = loss(logits, labels)             the number to minimize
    train_op = train(total_loss, global_step)     one step towards that

The tutorial's sections "Model Inputs", "Model Prediction" and "Model
Training". Without settings each function is the tutorial's.
"""

import os
import sys

if not __package__:  # From this folder, `import cifar10` finds this file.
  sys.modules.pop('cifar10', None)
  folder = os.path.dirname(os.path.abspath(__file__))
  sys.path.insert(0, os.path.dirname(folder))
  import cifar10  # noqa: F401  The package takes the place of this module.

import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10.data import datasets
from cifar10.data import sources
from cifar10.nets import layers
from cifar10.nets import variable_scope
from cifar10.optim import averages
from cifar10.optim import optimizers
from cifar10.optim import schedules
from cifar10.util import graph_keys
from cifar10.util import summaries
from cifar10.util import tutorial_flags

FLAGS = tf.flags.FLAGS  # For programs that read or set the tutorial's flags.

# Constants describing the CIFAR-10 data set.
IMAGE_SIZE = cifar10_input.IMAGE_SIZE
NUM_CLASSES = cifar10_input.NUM_CLASSES
NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN = (
    cifar10_input.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN)
NUM_EXAMPLES_PER_EPOCH_FOR_EVAL = cifar10_input.NUM_EXAMPLES_PER_EPOCH_FOR_EVAL

# Constants describing the training process.
MOVING_AVERAGE_DECAY = 0.9999  # The decay of the moving averages.
NUM_EPOCHS_PER_DECAY = 350.0  # Epochs after which the learning rate falls.
LEARNING_RATE_DECAY_FACTOR = 0.1  # The factor by which it falls.
INITIAL_LEARNING_RATE = 0.1

# A multi-GPU trainer prefixes the names of each GPU's operations with this name
# and a number: tower_0, tower_1, ...
TOWER_NAME = 'tower'

_activation_summary = layers.activation_summary
_variable_on_cpu = layers.variable_on_cpu
_variable_with_weight_decay = layers.variable_with_weight_decay

DATA_URL = sources.SOURCES['cifar10'].official[0].url


def with_constants(settings):
  """Fills unset settings from the constants above; returns new Settings."""
  return optimizers.with_defaults(settings, globals())


def maybe_download_and_extract(settings=None):
  """Fetches the data set if it is missing; returns the checked DataSet.

  Raises UserError if it cannot be fetched, or a file is missing or damaged.
  """
  settings = settings or tutorial_flags.settings()
  return datasets.prepare(settings, DATA_URL, NUM_CLASSES)


def distorted_inputs(settings=None, data=None):
  """Batches of distorted training images, for one step of all towers.

  `data` is the datasets.DataSet of the settings. Without them, the tutorial's
  flags count.

  Returns:
    images: float32, [batch, size, size, depth], of CIFAR-10 [batch, IMAGE_SIZE,
      IMAGE_SIZE, 3]; float16 if the tutorial's flag use_fp16 is set.
    labels: int32, [batch].
  """
  if settings is not None:
    size = settings.examples_per_machine
    return cifar10_input.distorted_inputs(settings.data_dir, size, data,
                                          settings)
  settings = tutorial_flags.settings()
  images, labels = cifar10_input.distorted_inputs(settings.batch_size)
  return tf.cast(images, settings.compute_type), labels


def inputs(eval_data, settings=None, data=None):
  """Batches of undistorted images: the test images, or the training images.

  The tutorial's batches never end. With settings and their datasets.DataSet,
  each image comes once, and the last batch may be smaller.

  Returns images and labels as `distorted_inputs` does.
  """
  if settings is not None:
    return cifar10_input.inputs(eval_data, settings.data_dir,
                                settings.batch_size, data, settings)
  settings = tutorial_flags.settings()
  images, labels = cifar10_input.inputs(eval_data, settings.batch_size)
  return tf.cast(images, settings.compute_type), labels


@layers.network
def inference(images, num_classes=None):
  """Builds the CIFAR-10 model.

  Args:
    images: float, [batch, height, width, depth]; only batch may be unknown.
    num_classes: number of logits; None: NUM_CLASSES.

  Returns float32 logits, [batch, num_classes]. Raises ValueError if `images` is
  not of rank 4, or its size is unknown.
  """
  num_classes = num_classes or NUM_CLASSES

  # conv1
  with tf.variable_scope('conv1') as scope:
    kernel = _variable_with_weight_decay(
        'weights', [5, 5, images.shape.as_list()[3], 64], stddev=5e-2, wd=None)
    conv = layers.conv2d(images, kernel, [1, 1, 1, 1], padding='SAME')
    biases = _variable_on_cpu('biases', [64], tf.constant_initializer(0.0))
    pre_activation = layers.bias_add(conv, biases)
    conv1 = tf.nn.relu(pre_activation, name=scope.name)
    _activation_summary(conv1)  # [batch, 24, 24, 64]

  # pool1
  pool1 = tf.nn.max_pool(conv1, [1, 3, 3, 1], [1, 2, 2, 1], padding='SAME',
                         name='pool1')  # [batch, 12, 12, 64]
  # norm1
  norm1 = layers.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75,
                     name='norm1')

  # conv2
  with tf.variable_scope('conv2') as scope:
    kernel = _variable_with_weight_decay('weights', [5, 5, 64, 64], stddev=5e-2,
                                         wd=None)
    conv = layers.conv2d(norm1, kernel, [1, 1, 1, 1], padding='SAME')
    biases = _variable_on_cpu('biases', [64], tf.constant_initializer(0.1))
    pre_activation = layers.bias_add(conv, biases)
    conv2 = tf.nn.relu(pre_activation, name=scope.name)
    _activation_summary(conv2)  # [batch, 12, 12, 64]

  # norm2
  norm2 = layers.lrn(conv2, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75,
                     name='norm2')
  # pool2
  pool2 = tf.nn.max_pool(norm2, [1, 3, 3, 1], [1, 2, 2, 1], padding='SAME',
                         name='pool2')  # [batch, 6, 6, 64]

  # local3
  with tf.variable_scope('local3') as scope:
    # Each image becomes a row: one matrix product then serves the whole batch.
    dim = pool2.shape[1:].num_elements()
    reshape = tf.reshape(pool2, [-1, dim])
    weights = _variable_with_weight_decay('weights', [dim, 384], stddev=0.04,
                                          wd=0.004)
    product = layers.matmul(reshape, weights)
    biases = _variable_on_cpu('biases', [384], tf.constant_initializer(0.1))
    local3 = tf.nn.relu(layers.bias_add(product, biases), name=scope.name)
    _activation_summary(local3)  # [batch, 384]

  # local4
  with tf.variable_scope('local4') as scope:
    weights = _variable_with_weight_decay('weights', [384, 192], stddev=0.04,
                                          wd=0.004)
    product = layers.matmul(local3, weights)
    biases = _variable_on_cpu('biases', [192], tf.constant_initializer(0.1))
    local4 = tf.nn.relu(layers.bias_add(product, biases), name=scope.name)
    _activation_summary(local4)  # [batch, 192]

  # softmax_linear: the softmax itself is part of the loss, which takes logits.
  with tf.variable_scope('softmax_linear') as scope:
    weights = _variable_with_weight_decay('weights', [192, num_classes],
                                          stddev=1 / 192.0, wd=None)
    biases = _variable_on_cpu('biases', [num_classes],
                              tf.constant_initializer(0.0), dtype=tf.float32)
    product = tf.cast(layers.matmul(local4, weights), tf.float32)
    softmax_linear = tf.add(product, biases, name=scope.name)
    _activation_summary(softmax_linear)  # [batch, num_classes]

  return softmax_linear


def loss(logits, labels, scope=None, label_smoothing=0.0):
  """Adds up the mean cross entropy and the penalties on the weights.

  Args:
    logits: float32, [batch, num_classes], from `inference`.
    labels: integers, [batch].
    scope: name scope of the tower whose losses to add up, 'tower_0/'; None: all
      losses of the graph.
    label_smoothing: share of the probability that is spread over all classes.

  Returns a float32 scalar, whose terms are in the collection 'losses'.
  """
  with tf.name_scope('loss'):
    labels = tf.cast(labels, tf.int64)
    if label_smoothing:
      cross_entropy = layers.smoothed_cross_entropy(labels, logits,
                                                    label_smoothing)
    else:
      cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
          labels=labels, logits=logits, name='cross_entropy_per_example')
    cross_entropy_mean = tf.reduce_mean(cross_entropy,
                                        name='cross_entropy_mean')
  # Outside the scope 'loss': checkpoints name its average cross_entropy/avg.
  tf.add_to_collection('losses', tf.identity(cross_entropy_mean,
                                             'cross_entropy'))
  variable_scope.add_penalties()
  return tf.add_n(tf.get_collection('losses', scope), name='total_loss')


def train(total_loss, global_step, settings=None, pace=None, grads=None,
          worker=None):
  """Returns the operation that updates variables, averages and global step.

  Args:
    total_loss: float32 scalar, from `loss`.
    global_step: integer variable that counts the steps.
    settings: settings.Settings; None: the tutorial's.
    pace: schedules.Pace of the run; None: that of a new run on CIFAR-10.
    grads: list of pairs (gradient, variable); None: those of `total_loss`.
    worker: optimizer.WorkerOptimizer of a cluster; None: a single machine.
  """
  settings = with_constants(settings or tutorial_flags.settings())
  pace = pace or schedules.Pace(
      NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN / settings.examples_per_machine,
      offset=0, last_step=settings.max_steps)

  with tf.name_scope('train/'):
    # The rate falls with the examples seen, see schedules.Pace.
    if settings.schedule == 'exponential':
      lr = tf.train.exponential_decay(
          settings.learning_rate, global_step + pace.offset,
          pace.decay_steps(settings.num_epochs_per_decay),
          settings.learning_rate_decay_factor, staircase=settings.staircase)
    else:
      lr = schedules.create(global_step + pace.offset, pace, settings)
    summaries.scalar('learning_rate', lr)
    tf.add_to_collection(graph_keys.LEARNING_RATE, lr)

    opt = tf.train.GradientDescentOptimizer(lr)
    if not optimizers.is_plain(settings):
      opt = optimizers.create(settings, lr)
    grads = grads or opt.compute_gradients(total_loss)
    grads = [(grad, var) for grad, var in grads if grad is not None]

    losses = tf.get_collection('losses') + [total_loss]
    loss_averages_op = _add_loss_summaries(total_loss)
    for grad, var in grads:
      summaries.histogram(var.op.name + '/values', var.read_value())
      summaries.histogram(var.op.name + '/gradients', grad)
    # A step reports the losses before its update.
    before = losses + averages.statistics_updates(global_step, settings, worker)
    with tf.control_dependencies(before):
      grads = [(tf.identity(grad), var) for grad, var in grads]

    def apply(grads):
      """Applies gradients; then counts the step and averages the variables."""
      with tf.name_scope('train/'):
        apply_gradient_op = optimizers.apply(opt, grads, settings)
        with tf.control_dependencies(apply_gradient_op):
          # TensorFlow may move a separate read before the assignment.
          step = tf.assign_add(global_step, 1)
          variable_averages = tf.train.ExponentialMovingAverage(
              settings.moving_average_decay, num_updates=step)
          return tf.group(*averages.updates(variable_averages))

    other_ops = [loss_averages_op, *tf.get_collection(tf.GraphKeys.UPDATE_OPS)]
    if worker is not None:  # It may average the gradients of all workers.
      return worker.apply(apply, grads, global_step, other_ops)
    return tf.group(apply(grads), *other_ops)


def _add_loss_summaries(total_loss):
  """Adds summaries of all losses and of their moving averages.

  A loss has the tag losses/NAME_raw, its average losses/NAME; checkpoints name
  the average NAME/avg. Returns the operation that updates the averages.
  """
  losses = tf.get_collection('losses') + [total_loss]
  loss_averages = tf.train.ExponentialMovingAverage(0.9, name='avg')
  with tf.device('/cpu:0'):
    loss_averages_op = loss_averages.apply(losses)
  for term in losses:
    name = 'losses/' + term.op.name
    summaries.scalar(name + '_raw', term)
    summaries.scalar(name, loss_averages.average(term))
  return loss_averages_op
