"""The CIFAR-10 model: the graph, from images to a training step.

    images, labels = distorted_inputs(...)        batches of training images
    logits = inference(images)                    the model
    total_loss = loss(logits, labels)             the number to minimize
    train_op = train(total_loss, global_step, ..) one step towards that

The tutorial's sections "Model Inputs", "Model Prediction" and "Model
Training".
"""

import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10.data import distortions
from cifar10.model import airbench
from cifar10.model.layers import activation_summary as _activation_summary
from cifar10.model.layers import convolution as _convolution
from cifar10.model.layers import flatten as _flatten
from cifar10.model.layers import fully_connected as _fully_connected
from cifar10.model.layers import local_response_norm as _local_response_norm
from cifar10.model.layers import max_pool as _max_pool
from cifar10.model.layers import variable_on_cpu as _variable_on_cpu
from cifar10.model.layers import (
  variable_with_weight_decay as _variable_with_weight_decay,
)
from cifar10.model.local_layers import local_layer as _local_layer
from cifar10.model.settings import Model
from cifar10.model.techniques import Techniques
from cifar10.training import train_op

# Constants describing the CIFAR-10 data set.
IMAGE_SIZE = cifar10_input.IMAGE_SIZE
NUM_CLASSES = cifar10_input.NUM_CLASSES
NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN = (
  cifar10_input.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN
)
NUM_EXAMPLES_PER_EPOCH_FOR_EVAL = cifar10_input.NUM_EXAMPLES_PER_EPOCH_FOR_EVAL

# Constants describing the training process.
MOVING_AVERAGE_DECAY = 0.9999  # The decay of the moving averages.
NUM_EPOCHS_PER_DECAY = 350.0  # Epochs after which the learning rate falls.
LEARNING_RATE_DECAY_FACTOR = 0.1  # The factor by which it falls.
INITIAL_LEARNING_RATE = 0.1

# A multi-GPU trainer prefixes the names of each GPU's operations with this name
# and a number: tower_0, tower_1, ...
TOWER_NAME = 'tower'


def distorted_inputs(data, config, frozen=None):
  """Batches of training images for one step of all towers of a machine.

  Args:
    data: datasets.DataSet.
    config: config.Config.
    frozen: serving.frozen_layers.FrozenLayers whose outputs replace the images;
      or None.

  Returns:
    images: float32 tensor, [config.examples_per_machine, IMAGE_SIZE,
      IMAGE_SIZE, 3]; other data sets and --image_size have other sizes.
    labels: int32 tensor, [config.examples_per_machine].
  """
  seeded = config.optimization.seed is not None
  if frozen:
    return cifar10_input.pooled_inputs(
      frozen, config.examples_per_machine, seeded
    )
  return cifar10_input.distorted_inputs(
    data,
    config.examples_per_machine,
    seeded,
    augment=distortions.names(config.augmentation.augment),
    max_shift=config.augmentation.max_shift,
    source=config.pipeline.input,
    image_size=config.model.image_size,
  )


def inputs(data, config):
  """Batches of the images to evaluate on, each image once.

  Args:
    data: datasets.DataSet.
    config: config.Config.

  Returns:
    images: float32 tensor, [at most batch_size, IMAGE_SIZE, IMAGE_SIZE, 3];
      other data sets and --image_size have other sizes.
    labels: int32 tensor, [at most batch_size].
  """
  return cifar10_input.inputs(
    data,
    config.evaluation.eval_data,
    config.input.batch_size,
    config.model.image_size,
  )


def inference(
  images,
  num_classes=NUM_CLASSES,
  model=Model(),
  training=None,
  portable=False,
  conv_form='auto',
  pooled=False,
):
  """Builds the model: convolutions, layers on top of them, and the logits.

  Layers compute in the type of the variable scope, see `layers.compute_in`.
  Variables and logits are always float32.

  Args:
    images: float32 tensor, [batch, height, width, depth]; only the batch size
      may be unknown.
    num_classes: number of classes.
    model: model.settings.Model; by default the tutorial's.
    training: model.settings.Regularization of a model that is trained; None for
      one that is used.
    portable: use TensorFlow's own operations only, for a graph that is to run
      elsewhere.
    conv_form: how convolutions are computed, as `layers.conv2d` takes it; they
      are direct if `portable`.
    pooled: whether `images` are the output of `convolutions`.

  Returns:
    logits: float32 tensor, [batch, num_classes], not normalized.

  Raises:
    ValueError: `images` is not of rank 4, or its size or a setting is unknown.
  """
  shape = images.shape
  if shape.rank != 4 or not shape[1:].is_fully_defined():
    raise ValueError(
      'inference: %s has shape %s; expected [batch, height, width, depth]'
      % (images.name, shape)
    )
  if model.top_layers not in ('full', 'local'):
    raise ValueError(
      'inference: top_layers is %r; expected full or local' % model.top_layers
    )
  techniques = Techniques(model, training)
  pool2 = images
  if not pooled:
    pool2 = convolutions(images, model, training, portable, conv_form)
  pool2 = tf.cast(pool2, tf.get_variable_scope().dtype)
  if model.network == 'airbench':
    return airbench.softmax_linear(pool2, num_classes)
  pool2 = techniques.dropout(pool2, 'conv_dropout')

  # local3, local4
  if model.top_layers == 'local':
    # [batch, 6, 6, 64], [batch, 6, 6, 32]
    local3 = _local_layer(pool2, 64, 'local3', techniques)
    local4 = _local_layer(local3, 32, 'local4', techniques)
  else:
    # [batch, 384], [batch, 192]
    local3 = _fully_connected(pool2, 384, 'local3', techniques)
    local4 = _fully_connected(local3, 192, 'local4', techniques)

  # The softmax itself is part of the loss, which takes logits.
  with tf.variable_scope('softmax_linear') as scope:
    rows, dim = _flatten(local4)  # dim is 192, or 1152 if local.
    weights = _variable_with_weight_decay(
      'weights', [dim, num_classes], stddev=1 / dim
    )
    biases = _variable_on_cpu(
      'biases', [num_classes], tf.constant_initializer(0.0), dtype=tf.float32
    )
    product = tf.cast(tf.matmul(rows, weights), tf.float32)
    softmax_linear = tf.add(product, biases, name=scope.name)
    _activation_summary(softmax_linear)  # [batch, num_classes]

  return softmax_linear


def convolutions(
  images, model=Model(), training=None, portable=False, conv_form='auto'
):
  """The lower part of the model: the convolutions, up to the second pooling.

  Args:
    images: float32 tensor, [batch, height, width, depth].
    model, training, portable, conv_form: as `inference` takes them.

  Returns:
    Tensor of the type of the variable scope, [batch, height / 4, width / 4,
    64], sizes rounded up; other networks have other sizes.
  """
  if portable:
    conv_form = 'direct'
  techniques = Techniques(model, training)
  if model.network == 'airbench':
    return airbench.convolutions(images, techniques, conv_form)
  images = techniques.dropout(images, 'input_dropout')

  # conv1
  conv1 = _convolution(  # [batch, 24, 24, 64]
    images, 64, 'conv1', techniques, bias=0.0, form=conv_form
  )
  # pool1
  pool1 = _max_pool(conv1, name='pool1')  # [batch, 12, 12, 64]
  # norm1
  norm1 = pool1
  if model.normalization == 'lrn':
    norm1 = _local_response_norm(
      pool1, 4, alpha=0.001 / 9.0, name='norm1', portable=portable
    )
  norm1 = techniques.dropout(norm1, 'conv_dropout')

  # conv2
  conv2 = _convolution(  # [batch, 12, 12, 64]
    norm1, 64, 'conv2', techniques, bias=0.1, form=conv_form
  )
  # norm2
  norm2 = conv2
  if model.normalization == 'lrn':
    norm2 = _local_response_norm(
      conv2, 4, alpha=0.001 / 9.0, name='norm2', portable=portable
    )
  # pool2
  return _max_pool(norm2, name='pool2')  # [batch, 6, 6, 64]


def softmax(logits):
  """The probabilities: float32 [batch, num_classes]; each row sums to 1."""
  return tf.nn.softmax(logits, name='softmax')


def loss(logits, labels, scope=None, label_smoothing=0.0):
  """The total loss: mean cross entropy plus the penalties on the weights.

  Args:
    logits: float32 tensor, [batch, num_classes], from `inference`.
    labels: integer tensor, [batch].
    scope: name scope of the tower whose losses are added up, 'tower_0/'; None:
      the losses of the whole graph.
    label_smoothing: share of the probability that is spread over all classes:
      Szegedy et al., "Rethinking the Inception Architecture", arXiv 1512.00567,
      section 7.

  Returns:
    float32 scalar tensor. Its terms are in the collection 'losses'.
  """
  with tf.name_scope('loss'):
    if label_smoothing:
      num_classes = logits.shape.as_list()[1]
      spread = label_smoothing / num_classes
      per_example = tf.nn.softmax_cross_entropy_with_logits_v2(
        tf.one_hot(labels, num_classes, 1 - label_smoothing + spread, spread),
        logits,
        name='cross_entropy_per_example',
      )
    else:
      per_example = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, name='cross_entropy_per_example'
      )
    mean = tf.reduce_mean(per_example, name='cross_entropy_mean')
  # Outside the scope `loss`: checkpoints name the averages after these two.
  cross_entropy = tf.identity(mean, name='cross_entropy')
  return penalized(cross_entropy, scope)


def penalized(data_loss, scope=None):
  """A loss plus the penalties on the weights.

  Args:
    data_loss: float32 scalar tensor, the mean over a batch.
    scope: as `loss` takes it.

  Returns:
    float32 scalar tensor. Its terms are in the collection 'losses'.
  """
  tf.add_to_collection('losses', data_loss)
  # Those of --regularizer, of the variables that all towers share.
  penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
  if penalties:
    penalty = tf.add_n(penalties, name='regularization_loss')
    tf.add_to_collection('losses', penalty)
  return tf.add_n(tf.get_collection('losses', scope), name='total_loss')


def tower_loss(
  scope,
  images,
  labels,
  num_classes=NUM_CLASSES,
  model=Model(),
  training=None,
  conv_form='auto',
  pooled=False,
):
  """The total loss of one tower of a multi-GPU trainer.

  Args:
    scope: name scope of the tower, 'tower_0/'.
    images: float32 tensor, [batch, height, width, depth], the tower's part of
      the batch.
    labels: int32 tensor, [batch].
    num_classes: number of classes.
    model, training, conv_form, pooled: as `inference` takes them.

  Returns:
    float32 scalar tensor.
  """
  logits = inference(
    images,
    num_classes,
    model,
    training,
    conv_form=conv_form,
    pooled=pooled,
  )
  smoothing = training.label_smoothing if training else 0.0
  return loss(logits, labels, scope, smoothing)


def train(total_loss, global_step, config, run_state):
  """Builds the operation that takes one training step.

  Args:
    total_loss: float32 scalar tensor, from `loss`.
    global_step: integer variable, counts the steps.
    config: config.Config.
    run_state: run_state.RunState; the learning rate falls with the examples
      that the run has seen.

  Returns:
    The operation that updates the variables, their moving averages and
    `global_step`.
  """
  opt = train_op.optimizer(global_step, config, run_state)
  with train_op.in_train_scope():
    grads = opt.compute_gradients(total_loss)
  losses = tf.get_collection('losses') + [total_loss]
  return train_op.build(opt, grads, losses, global_step, config)
