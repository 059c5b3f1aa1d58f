"""Which network the settings choose.

All have the signature of `cifar10.inference`: `airbench.inference`, and
`local_layers.inference` with locally connected layers.
"""

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.nets import airbench
from cifar10.nets import freezing
from cifar10.nets import local_layers
from cifar10.nets.techniques import Techniques
from cifar10.util import graph_keys


def _chosen(settings):
  """The function that builds the network."""
  if settings.network == 'airbench':
    return airbench.inference
  if settings.network != 'tutorial':
    raise ValueError(
      'network is %r; expected tutorial or airbench' % settings.network
    )
  if settings.top_layers not in ('full', 'local'):
    raise ValueError(
      'top_layers is %r; expected full or local' % settings.top_layers
    )
  if settings.top_layers == 'local':
    return local_layers.inference
  return cifar10.inference


def inference(images, settings, is_training=False, portable=False):
  """Builds the network of the settings.

  Args:
    images: float tensor, [batch, height, width, depth]; in training with
      --cache_frozen what `frozen_layers.FrozenLayers` keeps of them.
    settings: settings.Settings; `classes` are those of the data set.
    is_training, portable: as Techniques takes them.

  Returns:
    logits: float32 tensor, [batch, num_classes], not normalized.

  Raises:
    UserError: --freeze leaves nothing to train, or names nothing.
    ValueError: `images` is not of rank 4, or its size or a setting is unknown.
  """
  num_classes = len(settings.classes) or cifar10.NUM_CLASSES
  build = _chosen(settings)
  frozen = tf.get_collection(graph_keys.FROZEN_LAYERS)
  if frozen:
    return frozen[0].inference(images, build, num_classes)
  logits = build(
    images, Techniques(settings, is_training, portable, num_classes)
  )
  if is_training:
    freezing.check(settings.freeze)
  return logits
