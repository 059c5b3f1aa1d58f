"""The network that the settings choose.

Each network is a function with the signature of `cifar10.inference`.
"""

import functools

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.nets import airbench
from cifar10.nets import columns
from cifar10.nets import hidden_layers
from cifar10.nets import local_layers
from cifar10.nets import variable_scope
from cifar10.nets.techniques import Techniques
from cifar10.settings import FIELDS
from cifar10.util import graph_keys

_BY_NAMES = {  # By `network` and `top_layers`.
    ('tutorial', 'full'): cifar10.inference,
    ('tutorial', 'local'): local_layers.inference,
    ('airbench', 'full'): airbench.inference
}


def inference(images, settings, is_training=False, portable=False):
  """Builds the network of the settings.

  Args:
    images: float, [batch, height, width, depth]; in training with
      --cache_frozen the outputs of `frozen_layers.FrozenLayers`.
    settings: settings.Settings with the classes of the data set.
    is_training, portable: as those of Techniques.

  Returns:
    float32 logits, [batch, num_classes].

  Raises:
    UserError: --freeze leaves nothing to train, or names nothing; or
      --hidden_layers is malformed.
    ValueError: `images` is not of rank 4, or its size or a setting is unknown.
  """
  frozen = tf.get_collection(graph_keys.FROZEN_LAYERS)
  if frozen:
    logits = frozen[0].inference(images)
  else:
    num_classes = len(settings.classes) or cifar10.NUM_CLASSES
    build = network(settings, is_training)
    logits = build(images,
                   Techniques(settings, is_training, portable, num_classes))
  if is_training:
    variable_scope.check_freezing(settings.freeze)
  return logits


def network(settings, is_training=True):
  """The function that builds the network of the settings."""
  names = settings.network, settings.top_layers
  if names not in _BY_NAMES:
    raise ValueError(
        f'network and top_layers are {names}; expected one of {list(_BY_NAMES)}'
    )
  count = settings.columns
  if is_training and settings.model_parallelism == 'filters':
    count = len(settings.devices)
  if count > 1:
    return functools.partial(columns.inference, count=count)
  tutorials = FIELDS['hidden_layers'].default
  if names == ('tutorial', 'full') and settings.hidden_layers != tutorials:
    return hidden_layers.inference
  return _BY_NAMES[names]
