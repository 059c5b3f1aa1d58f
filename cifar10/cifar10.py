"""The CIFAR-10 model: the graph, from images to a training step.

    images, labels = distorted_inputs(data)       batches of training images
    logits = inference(images)                    the model
    total_loss = loss(logits, labels)             what is to be made small
    train_op = train(total_loss, global_step)     one step towards that

The tutorial's sections "Model Inputs", "Model Prediction" and "Model
Training".
"""

import re

import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10.training import train_op
from cifar10.config import Config
from cifar10.model.layers import activation_summary
from cifar10.model.layers import local_response_norm
from cifar10.model.layers import variable_on_cpu
from cifar10.model.layers import variable_with_weight_decay
from cifar10.model.local_layers import local_layer

NUM_CLASSES = 10

# A multi-GPU trainer prefixes the operations of each GPU with this name and
# a number: tower_0, tower_1, ...
TOWER_NAME = 'tower'


def distorted_inputs(data, config=Config()):
  """Batches of training images for one step of all towers of a machine.

  Args:
    data: dataset.DataSet.
    config: Config.

  Returns:
    images: float32 tensor, [config.examples_per_machine, 24, 24, 3]; other data
      sets have other sizes.
    labels: int32 tensor, [config.examples_per_machine].
  """
  return cifar10_input.distorted_inputs(
    data, config.examples_per_machine, seeded=config.seed is not None
  )


def inputs(data, config=Config()):
  """Batches of the images to evaluate on, each image once.

  Args:
    data: dataset.DataSet.
    config: Config.

  Returns:
    images: float32 tensor, [at most config.batch_size, 24, 24, 3]; other data
      sets have other sizes.
    labels: int32 tensor, [at most config.batch_size].
  """
  return cifar10_input.inputs(data, config.eval_data, config.batch_size)


def inference(
  images, num_classes=NUM_CLASSES, precision='float32', top_layers='full'
):
  """Builds the model: two convolutions, two layers on top, and the logits.

  Args:
    images: float32 tensor, [batch, height, width, depth]; the batch size may
      be unknown, the others not.
    num_classes: number of classes.
    precision: type that convolutions and matrix products are computed in, and
      what lies between them; 'float32', 'bfloat16' or 'float16'. Variables
      and logits are float32 always.
    top_layers: what local3 and local4 are; 'full', fully connected, or
      'local', locally connected as in cuda-convnet.

  Returns:
    logits: float32 tensor, [batch, num_classes], not normalized.

  Raises:
    ValueError: `images` has another rank, or an unknown size.
  """
  shape = images.shape
  if shape.rank != 4 or not shape[1:].is_fully_defined():
    raise ValueError(
      'inference: %s has shape %s; expected [batch, height, width, depth]'
      % (images.name, shape)
    )

  dtype = tf.as_dtype(precision)

  with tf.variable_scope('conv1') as scope:
    images = tf.cast(images, dtype)
    kernel = variable_with_weight_decay(
      'weights', [5, 5, shape.as_list()[3], 64], stddev=5e-2, dtype=dtype
    )
    conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding='SAME')
    biases = variable_on_cpu(
      'biases', [64], tf.constant_initializer(0.0), dtype=dtype
    )
    pre_activation = tf.nn.bias_add(conv, biases)
    conv1 = tf.nn.relu(pre_activation, name=scope.name)
    activation_summary(conv1)  # [batch, 24, 24, 64]

  pool1 = _max_pool(conv1, name='pool1')  # [batch, 12, 12, 64]
  norm1 = local_response_norm(pool1, 4, alpha=0.001 / 9.0, name='norm1')

  with tf.variable_scope('conv2') as scope:
    kernel = variable_with_weight_decay(
      'weights', [5, 5, 64, 64], stddev=5e-2, dtype=dtype
    )
    conv = tf.nn.conv2d(norm1, kernel, [1, 1, 1, 1], padding='SAME')
    biases = variable_on_cpu(
      'biases', [64], tf.constant_initializer(0.1), dtype=dtype
    )
    pre_activation = tf.nn.bias_add(conv, biases)
    conv2 = tf.nn.relu(pre_activation, name=scope.name)
    activation_summary(conv2)  # [batch, 12, 12, 64]

  norm2 = local_response_norm(conv2, 4, alpha=0.001 / 9.0, name='norm2')
  pool2 = _max_pool(norm2, name='pool2')  # [batch, 6, 6, 64]

  if top_layers == 'local':
    local3 = local_layer(pool2, 64, name='local3')  # [batch, 6, 6, 64]
    local4 = local_layer(local3, 32, name='local4')  # [batch, 6, 6, 32]
  else:
    local3 = _fully_connected(pool2, 384, name='local3')  # [batch, 384]
    local4 = _fully_connected(local3, 192, name='local4')  # [batch, 192]

  # The softmax itself is part of the loss, which takes logits.
  with tf.variable_scope('softmax_linear') as scope:
    rows, dim = _as_rows(local4)  # dim is 192, or 1152.
    weights = variable_with_weight_decay(
      'weights', [dim, num_classes], stddev=1 / dim, dtype=dtype
    )
    biases = variable_on_cpu(
      'biases', [num_classes], tf.constant_initializer(0.0)
    )
    product = tf.cast(tf.matmul(rows, weights), tf.float32)
    softmax_linear = tf.add(product, biases, name=scope.name)
    activation_summary(softmax_linear)  # [batch, num_classes]

  return softmax_linear


def softmax(logits):
  """The probability of each class: float32 [batch, num_classes], rows of 1."""
  return tf.nn.softmax(logits, name='softmax')


def loss(logits, labels):
  """The total loss: mean cross entropy plus the decay of the weights.

  Args:
    logits: float32 tensor, [batch, num_classes], from `inference`.
    labels: integer tensor, [batch].

  Returns:
    float32 scalar tensor. What it sums up is in the collection 'losses'; a
    tower adds up its own part of it.
  """
  with tf.name_scope('loss'):
    per_example = tf.nn.sparse_softmax_cross_entropy_with_logits(
      labels=labels, logits=logits, name='cross_entropy_per_example'
    )
    mean = tf.reduce_mean(per_example, name='cross_entropy_mean')
  # These two are outside: checkpoints name their averages after them.
  cross_entropy = tf.identity(mean, name='cross_entropy')
  tf.add_to_collection('losses', cross_entropy)
  scope = tf.get_default_graph().get_name_scope() + '/'
  tower = re.match('(.*/)?%s_[0-9]+/' % TOWER_NAME, scope)
  losses = tf.get_collection('losses', tower.group() if tower else None)
  return tf.add_n(losses, name='total_loss')


def train(total_loss, global_step, config=Config()):
  """Builds one step of training.

  Args:
    total_loss: float32 scalar tensor, from `loss`.
    global_step: integer variable, counts the steps.
    config: Config; its learning rate decays by the examples seen.

  Returns:
    The operation that updates the variables, their moving averages and
    `global_step`.
  """
  losses_averaged = train_op.average_losses(
    tf.get_collection('losses') + [total_loss]
  )
  learning_rate = train_op.learning_rate(global_step, config)
  optimizer = tf.train.GradientDescentOptimizer(learning_rate)
  with tf.control_dependencies([losses_averaged]), train_op.box():
    gradients = optimizer.compute_gradients(total_loss)
  train_op.summarize(gradients)
  return train_op.update(optimizer, gradients, global_step, config)


def _max_pool(x, name):
  """Halves height and width; 3 x 3 windows that overlap."""
  return tf.nn.max_pool(
    x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding='SAME', name=name
  )


def _fully_connected(x, units, name):
  """A layer in which each unit sees all of `x`: float [batch, units]."""
  with tf.variable_scope(name) as scope:
    rows, dim = _as_rows(x)
    weights = variable_with_weight_decay(
      'weights', [dim, units], stddev=0.04, wd=0.004, dtype=x.dtype
    )
    biases = variable_on_cpu(
      'biases', [units], tf.constant_initializer(0.1), dtype=x.dtype
    )
    layer = tf.nn.relu(tf.matmul(rows, weights) + biases, name=scope.name)
    activation_summary(layer)
  return layer


def _as_rows(x):
  """Each image of `x` as a row, whatever the batch size; and its length."""
  dim = x.shape[1:].num_elements()
  return tf.reshape(x, [-1, dim]), dim
