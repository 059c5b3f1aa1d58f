"""The CIFAR-10 model: the graph, from images to a training step.

    images, labels = distorted_inputs()           batches of training images
    logits = inference(images)                    the model
    total_loss = loss(logits, labels)             the number to minimize
    train_op = train(total_loss, global_step)     one step towards that

The tutorial's sections "Model Inputs", "Model Prediction" and "Model
Training". Without settings each function is the tutorial's.
"""

import dataclasses
import os
import sys

if not __package__:  # A program in this folder says `import cifar10`.
  sys.modules.pop('cifar10', None)
  folder = os.path.dirname(os.path.abspath(__file__))
  sys.path.insert(0, os.path.dirname(folder))
  import cifar10  # noqa: F401  The package takes the place of this module.

import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10 import settings as settings_lib
from cifar10.data import datasets
from cifar10.data import sources
from cifar10.nets import layers
from cifar10.optim import averages
from cifar10.optim import optimizers
from cifar10.optim import schedules
from cifar10.settings import Settings
from cifar10.util import graph_keys
from cifar10.util import paths
from cifar10.util import summaries
from cifar10.util import tutorial_flags

FLAGS = tf.flags.FLAGS

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


def settings_of_flags(*names):
  """The Settings of an old program: the defaults, with those flags of it.

  Besides `names`, batch_size, data_dir and use_fp16 count. Raises UserError if
  the default of a folder belongs to another user.
  """
  values = tutorial_flags.values('batch_size', 'data_dir', 'use_fp16', *names)
  paths.refuse_defaults(values, values.get('given', ()))
  if values.pop('use_fp16', False):
    values['precision'] = 'float16'
  return Settings(classes=datasets.unnamed(NUM_CLASSES), **values)


def with_constants(settings):
  """Fills settings that are None, or unknown, with the constants above."""
  unset = {
      name: globals()[constant]
      for name, constant in settings_lib.with_policy('constant').items()
      if getattr(settings, name) is None
  }
  if settings.learning_rate is None:
    unset['learning_rate'] = optimizers.LEARNING_RATES.get(
        settings.optimizer, INITIAL_LEARNING_RATE)
  if settings.momentum is None:
    unset['momentum'] = 0.0 if settings.optimizer == 'rmsprop' else 0.9
  if settings.dataset == 'cifar10' and not settings.classes:
    unset['classes'] = datasets.unnamed(NUM_CLASSES)
  return dataclasses.replace(settings, **unset)


def maybe_download_and_extract(settings=None):
  """Fetches the data set if it is missing; returns the checked DataSet.

  Raises:
    UserError: it cannot be fetched, or a file is missing or damaged.
  """
  settings = settings or settings_of_flags()
  is_edited = DATA_URL != sources.SOURCES['cifar10'].official[0].url
  if is_edited and settings.dataset == 'cifar10' and not settings.data_url:
    settings = dataclasses.replace(settings, data_url=DATA_URL)
  return datasets.prepare(settings)


def distorted_inputs(settings=None, data=None):
  """Batches of distorted training images, for one step of all towers.

  Args:
    settings: settings.Settings, with the datasets.DataSet `data`; None: those
      of the flags.

  Returns:
    images: float32, or float16 with --use_fp16: [batch, IMAGE_SIZE, IMAGE_SIZE,
      3]; a batch has --batch_size images for each of --num_gpus. Other data
      sets and --image_size have other sizes.
    labels: int32, [batch].
  """
  if settings is not None:
    return cifar10_input.distorted_inputs(settings.data_dir,
                                          settings.examples_per_machine, data,
                                          settings)
  settings = settings_of_flags()
  images, labels = cifar10_input.distorted_inputs(
      batch_size=settings.batch_size)
  return tf.cast(images, settings.precision), labels


def inputs(eval_data, settings=None):
  """Batches of undistorted images: the test images, or the training images.

  The tutorial's batches never end. With settings, each image comes once, and
  the last batch may be smaller.

  Returns:
    images: float32, [batch_size, IMAGE_SIZE, IMAGE_SIZE, 3].
    labels: int32, [batch_size].
  """
  if settings is not None:
    data = datasets.describe(settings)
    return cifar10_input.inputs(eval_data, settings.data_dir,
                                settings.batch_size, data, settings)
  settings = settings_of_flags()
  images, labels = cifar10_input.inputs(eval_data,
                                        batch_size=settings.batch_size)
  return tf.cast(images, settings.precision), labels


@layers.network
def inference(images, num_classes=None):
  """Builds the CIFAR-10 model.

  Args:
    images: float, [batch, height, width, depth]; only batch may be unknown.
    num_classes: None: NUM_CLASSES.

  Returns:
    float32 logits, [batch, num_classes].

  Raises:
    ValueError: `images` is not of rank 4, or its size is unknown.
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
    scope: name scope of one tower, 'tower_0/', whose losses are added up; None:
      those of the whole graph.
    label_smoothing: share of the probability that is spread over all classes:
      Szegedy et al., arXiv 1512.00567, section 7.

  Returns:
    float32 scalar. Its terms are in the collection 'losses'.
  """
  with tf.name_scope('loss'):
    labels = tf.convert_to_tensor(labels)
    if labels.dtype != tf.int32:
      labels = tf.cast(labels, tf.int64)
    if label_smoothing:
      num_classes = logits.shape.as_list()[1]
      spread = label_smoothing / num_classes
      cross_entropy = tf.nn.softmax_cross_entropy_with_logits_v2(
          tf.one_hot(labels, num_classes, 1 - label_smoothing + spread, spread),
          logits, name='cross_entropy_per_example')
    else:
      cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
          labels=labels, logits=logits, name='cross_entropy_per_example')
    cross_entropy_mean = tf.reduce_mean(cross_entropy,
                                        name='cross_entropy_mean')
  # Outside the scope `loss`: checkpoints name the averages after these two.
  return penalized(tf.identity(cross_entropy_mean, 'cross_entropy'), scope)


def penalized(data_loss, scope=None):
  """Adds the penalties on the weights, such as weight decay, to a mean loss."""
  tf.add_to_collection('losses', data_loss)
  # From --regularizer; on the variables that all towers share.
  penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
  if penalties:
    penalty = tf.add_n(penalties, name='regularization_loss')
    tf.add_to_collection('losses', penalty)
  return tf.add_n(tf.get_collection('losses', scope), name='total_loss')


def train(total_loss, global_step, settings=None, state=None, grads=None,
          worker=None):
  """Builds the operation that takes one training step.

  It updates the variables, their moving averages and `global_step`.

  Args:
    total_loss: float32 scalar, from `loss`.
    global_step: integer variable that counts the steps.
    settings: settings.Settings; None: the tutorial's.
    state: run_state.RunState with the examples that the run has seen; None:
      none, and NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN in an epoch.
    grads: list of pairs (gradient, variable), the means of several towers;
      None: the gradients of `total_loss`.
    worker: cluster.optimizer.Worker of a cluster; None: no other one trains
      the same variables.
  """
  settings = with_constants(settings or settings_of_flags())
  if state is not None:
    pace = state.pace(settings)
  else:
    num_batches_per_epoch = (NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN /
                             settings.examples_per_machine)
    pace = schedules.Pace(num_batches_per_epoch, 0, settings.max_steps)

  with tf.name_scope('train/'):
    # The learning rate falls by the number of examples seen.
    if settings.schedule == 'exponential':
      lr = tf.train.exponential_decay(
          settings.learning_rate, global_step + pace.offset,
          pace.decay_steps(settings.num_epochs_per_decay),
          settings.learning_rate_decay_factor, staircase=settings.staircase)
    else:
      lr = schedules.create(global_step + pace.offset, pace, settings)
    summaries.scalar('learning_rate', lr)
    tf.add_to_collection(graph_keys.LEARNING_RATE, lr)

    # Compute the gradients.
    if optimizers.is_plain(settings):
      opt = tf.train.GradientDescentOptimizer(lr)
    else:
      opt = optimizers.create(settings, lr)
    if grads is None:
      grads = opt.compute_gradients(total_loss)
    grads = [(grad, var) for grad, var in grads if grad is not None]

    # Average and summarize the losses, and add histograms.
    losses = tf.get_collection('losses') + [total_loss]
    loss_averages_op = _add_loss_summaries(losses)
    for grad, var in grads:
      summaries.histogram(var.op.name + '/values', var.read_value())
      summaries.histogram(var.op.name + '/gradients', grad)
    statistics_averages = averages.of_statistics(global_step,
                                                 settings.moving_average_decay)
    # The losses of a step are those before its update.
    before = list(losses)
    if worker is None or worker.averages_statistics:
      before += statistics_averages
    with tf.control_dependencies(before):
      grads = [(tf.identity(grad), var) for grad, var in grads]

  def apply(grads):
    """Applies gradients; then counts the step and averages the variables."""
    with tf.name_scope('train/'):
      grads = optimizers.constrained(grads, settings)
      apply_gradient_op = opt.apply_gradients(grads)
      with tf.control_dependencies([apply_gradient_op]):
        limits = optimizers.limit_norms(settings.max_norm)
      with tf.control_dependencies([apply_gradient_op, *limits]):
        # The step is the value of the assignment: TensorFlow's graph optimizer
        # may move a separate read before it.
        step = tf.assign_add(global_step, 1)
        variable_averages = tf.train.ExponentialMovingAverage(
            settings.moving_average_decay, num_updates=step)
        # Frozen variables too: evaluation knows of no freezing.
        averaged = tf.trainable_variables() + tf.get_collection(
            graph_keys.FROZEN)
        return tf.group(*averages.of_variables(variable_averages, averaged))

  with tf.name_scope('train/'):
    # The gradients of several workers may be applied together.
    update = apply(grads) if worker is None else worker.apply(
        apply, grads, global_step)
    if worker is not None and not worker.is_chief:
      return update
    normalization_updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    return tf.group(update, loss_averages_op, *normalization_updates)


def _add_loss_summaries(losses):
  """Adds summaries of losses and of their moving averages.

  The names of the losses' operations are those of the summaries and, with
  `/avg`, of the averages in checkpoints. Returns the operation that updates
  the averages.
  """
  loss_averages = tf.train.ExponentialMovingAverage(0.9, name='avg')
  with tf.device('/cpu:0'):
    loss_averages_op = loss_averages.apply(losses)
  for term in losses:
    name = 'losses/' + term.op.name
    summaries.scalar(name + '_raw', term)
    summaries.scalar(name, loss_averages.average(term))
  return loss_averages_op
