"""The network that the settings choose.

The tutorial's, `cifar10.inference`, unless a setting departs from it.
"""

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.nets import airbench
from cifar10.nets import convnet
from cifar10.nets import layers
from cifar10.nets import variable_scope
from cifar10.nets.techniques import Techniques
from cifar10.util import graph_keys

# Settings that change the layers of cifar10.inference. Dropout does so only in
# training; but who edits one of the two builders must not train with one, and
# evaluate with the other.
_CHANGES = ('network', 'top_layers', 'hidden_layers', 'columns', 'activation',
            'normalization', 'normalize_logits', 'input_dropout',
            'conv_dropout', 'dropout')

# Modules with an `inference` that takes Techniques, by network and top_layers.
_BUILDERS = {
    ('tutorial', 'full'): convnet,
    ('tutorial', 'local'): convnet,
    ('airbench', 'full'): airbench
}


def inference(images, settings, is_training=False, portable=False,
              varied=False):
  """Builds the network of the settings.

  Args:
    images: float, [batch, height, width, depth]; in training with
      --cache_frozen the outputs of `frozen_layers.FrozenLayers`.
    settings: settings.Settings with the classes of the data set.
    is_training: for training, with dropout.
    portable: use TensorFlow's own operations only.
    varied: build as for settings that change the layers, even if none does.

  Returns:
    float32 logits, [batch, num_classes].

  Raises:
    UserError: --freeze leaves nothing to train, or names nothing; or
      --hidden_layers is malformed.
    ValueError: `images` is not of rank 4, or its size or a setting is unknown.
  """
  frozen = tf.get_collection(graph_keys.FROZEN_LAYERS)
  num_classes = len(settings.classes) or cifar10.NUM_CLASSES
  with layers.build_options(conv=settings.conv, is_portable=portable,
                            is_training=is_training):
    if frozen:
      logits = frozen[0].inference(images)
    elif (varied or any(map(settings.differs, _CHANGES)) or
          is_training and settings.model_parallelism == 'filters'):
      build = varied_network(settings)
      logits = build(images, Techniques(settings, is_training, num_classes))
    elif num_classes == cifar10.NUM_CLASSES:  # A program's own function in its
      logits = cifar10.inference(images)  # place may take images alone.
    else:
      logits = cifar10.inference(images, num_classes)
  if is_training:
    variable_scope.check_freezing(settings.freeze)
  return logits


def varied_network(settings):
  """The builder of the settings' network, a function of images and Techniques.

  Raises ValueError for other values of `network` and `top_layers`.
  """
  names = settings.network, settings.top_layers
  if names not in _BUILDERS:
    raise ValueError(f'network and top_layers are {names}; expected one of '
                     f'{list(_BUILDERS)}')
  return _BUILDERS[names].inference
