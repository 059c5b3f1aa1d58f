"""The variable scope of training: type, initializer, regularizer, freezing."""

import re
import types

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import graph_keys

# Scale and default mode of tf.initializers.variance_scaling.
_VARIANCE = {
    # Glorot and Bengio, "Understanding the difficulty of training deep
    # feedforward neural networks", 2010, equation 16.
    'xavier': (1.0, 'fan_avg'),
    # He et al., "Delving Deep into Rectifiers", arXiv 1502.01852, equation 10.
    'he': (2.0, 'fan_in'),
    # LeCun et al., "Efficient BackProp", 1998, section 4.6; SELU needs it.
    'lecun': (1.0, 'fan_in')
}

# TensorFlow's names for those of --initializer_fan.
_FANS = {'in': 'fan_in', 'out': 'fan_out', 'mean': 'fan_avg', 'default': None}


def training_scope(settings):
  """The variable scope in which to build a model for training."""
  return tf.variable_scope('', dtype=tf.as_dtype(settings.compute_type),
                           initializer=initializer(settings),
                           regularizer=regularizer(settings),
                           custom_getter=freezing_getter(settings.freeze))


def initializer(settings):
  """The initializer of weights; None: that of each layer, the tutorial's."""
  if settings.initializer == 'tutorial':
    return None
  scale, fan = _VARIANCE[settings.initializer]
  # TensorFlow's normal distribution is a truncated one here.
  scaling = tf.initializers.variance_scaling(
      scale, _FANS[settings.initializer_fan] or fan,
      settings.initializer_distribution)

  def initial_value(shape, dtype, partition_info=None):
    # The shape that counts: the whole one if the variable is split over
    # servers; the filters of one position in a locally connected layer.
    whole = partition_info.full_shape if partition_info else shape
    counted = types.SimpleNamespace(full_shape=whole[-4:])
    return scaling(shape, dtype, counted)

  return initial_value


def regularizer(settings):
  """The regularizer of weights; None: that of each layer, the tutorial's."""

  # Sparse weights: Tibshirani, "Regression Shrinkage via the Lasso", 1996.
  def l1(weights):
    return settings.l1_scale * tf.reduce_sum(tf.abs(weights))

  # Weight decay: Krogh and Hertz, "A Simple Weight Decay Can Improve
  # Generalization", 1991; half the sum of squares, as in the tutorial.
  def l2(weights):
    return settings.l2_scale * tf.nn.l2_loss(weights)

  return {
      'tutorial': None,
      'none': tf.no_regularizer,
      'l1': l1,
      'l2': l2,
      'l1_l2': lambda weights: l1(weights) + l2(weights)
  }[settings.regularizer]


def add_penalties():
  """Adds the sum of the penalties of --regularizer to the losses."""
  # They are on the variables, which all towers share.
  penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
  if penalties:
    penalty = tf.add_n(penalties, name='regularization_loss')
    tf.add_to_collection('losses', penalty)


def freezing_getter(pattern):
  """A custom getter that freezes the variables whose names match `pattern`.

  They join the collections FROZEN and MODEL_VARIABLES. Returns None if the
  regular expression is empty.
  """
  if not pattern:
    return None

  def get(getter, name, *args, **kwargs):
    # Variables that are not trained anyway need no freezing.
    if kwargs.get('trainable') is False or not re.match(pattern, name):
      return getter(name, *args, **kwargs)
    variable = getter(name, *args, **dict(kwargs, trainable=False))
    for collection in (graph_keys.FROZEN, tf.GraphKeys.MODEL_VARIABLES):
      known = {v.op.name for v in tf.get_collection(collection)}
      for part in parts(variable):
        if part.op.name not in known:
          tf.add_to_collection(collection, part)
    return variable

  return get


def parts(variable):
  """A list of the parts of a partitioned variable, or of a whole one alone."""
  return [variable] if hasattr(variable, 'read_value') else list(variable)


def check_freezing(pattern):
  """Raises UserError if --freeze freezes no variable of the graph, or all."""
  frozen = tf.get_collection(graph_keys.FROZEN)
  trained = tf.trainable_variables()
  if not pattern or (frozen and trained):
    return
  problem = 'no trained variable begins like that'
  if frozen:
    problem = 'nothing is left to train'
  layers = {variable.op.name.split('/')[0] for variable in trained + frozen}
  names = ', '.join(sorted(layers))
  raise UserError(f'--freeze={pattern}: {problem}; the layers are {names}')
