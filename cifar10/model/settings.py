"""The settings of the model: what it is, and how its layers are trained."""

import dataclasses

from cifar10.util.flag_field import LARGEST
from cifar10.util.flag_field import MOST
from cifar10.util.flag_field import flag


@dataclasses.dataclass(frozen=True)
class Model:
  """What the model is made of."""

  network: str = flag(
    'tutorial',
    "The layers: tutorial, the tutorial's; or airbench, six convolutions on "
    'whitened images, with batch normalization, which learn fast.',
    choices=('tutorial', 'airbench'),
    fixed=True,
    exported=True,
  )
  image_size: int = flag(
    0,
    'Height and width, in pixels, that images are cropped to; 0: three '
    "quarters, the tutorial's 24 of 32.",
    lower_bound=0,
    upper_bound=MOST,
    fixed=True,
    exported=True,
  )
  top_layers: str = flag(
    'full',
    'What local3 and local4 are: full, fully connected; or local, locally '
    'connected as in cuda-convnet.',
    choices=('full', 'local'),
    needs=('network', ('tutorial',)),
    fixed=True,
    exported=True,
  )
  activation: str = flag(
    'relu',
    'The activation function of all layers but the last.',
    choices=(
      'relu',
      'leaky_relu',
      'rrelu',
      'prelu',
      'elu',
      'selu',
      'gelu',
      'tanh',
      'sigmoid',
    ),
    fixed=True,
    exported=True,
  )
  normalization: str = flag(
    'lrn',
    'lrn, local response normalization after the convolutions; batch, batch '
    'normalization before each activation; or none.',
    choices=('lrn', 'batch', 'none'),
    fixed=True,
    exported=True,
  )


@dataclasses.dataclass(frozen=True)
class Initialization:
  """The values that weights begin with."""

  initializer: str = flag(
    'tutorial',
    "How weights are drawn: tutorial, with the tutorial's standard deviation "
    'of each layer; or with a variance that the number of inputs and outputs '
    'of a unit gives: xavier, he or lecun.',
    choices=('tutorial', 'xavier', 'he', 'lecun'),
    agreed=False,
  )
  initializer_distribution: str = flag(
    'normal',
    'The distribution of xavier, he and lecun; normal is truncated.',
    choices=('normal', 'uniform'),
    needs=('initializer', ('xavier', 'he', 'lecun')),
    agreed=False,
  )
  initializer_fan: str = flag(
    'default',
    'What the variance of xavier, he and lecun is divided by: the inputs of a '
    'unit (in), its outputs (out) or their mean (mean). Default: mean for '
    'xavier, in for the others.',
    choices=('default', 'in', 'out', 'mean'),
    needs=('initializer', ('xavier', 'he', 'lecun')),
    agreed=False,
  )


@dataclasses.dataclass(frozen=True)
class Regularization:
  """What keeps the model from learning its training images by heart."""

  regularizer: str = flag(
    'tutorial',
    "tutorial, the tutorial's weight decay of local3 and local4; or a penalty "
    'on the weights of all layers: l1, l2 or both, l1_l2; or none.',
    choices=('tutorial', 'l1', 'l2', 'l1_l2', 'none'),
  )
  l1_scale: float = flag(
    0.0001,
    'Factor of the sum of absolute weights.',
    lower_bound=0.0,
    upper_bound=LARGEST,
    needs=('regularizer', ('l1', 'l1_l2')),
  )
  l2_scale: float = flag(
    0.001,
    'Factor of half the sum of squared weights.',
    lower_bound=0.0,
    upper_bound=LARGEST,
    needs=('regularizer', ('l2', 'l1_l2')),
  )
  input_dropout: float = flag(
    0.0,
    'Fraction of the numbers of an image that each training step drops.',
    lower_bound=0.0,
    upper_bound=0.99,
  )
  conv_dropout: float = flag(
    0.0,
    'Fraction of the outputs of the convolutional layers, after pooling, that '
    'each training step drops.',
    lower_bound=0.0,
    upper_bound=0.99,
  )
  dropout: float = flag(
    0.0,
    'Fraction of the outputs of local3 and local4 that each training step '
    'drops.',
    lower_bound=0.0,
    upper_bound=0.99,
    needs=('network', ('tutorial',)),
  )
  max_norm: float = flag(
    0.0,
    'Largest norm of the weights of a unit, kept after each step; 0: no limit.',
    lower_bound=0.0,
    upper_bound=LARGEST,
  )
  label_smoothing: float = flag(
    0.0,
    'Share of the probability of each label that is spread over all classes.',
    lower_bound=0.0,
    upper_bound=0.99,
  )
  batch_norm_decay: float = flag(
    0.99,
    'Decay of the moving mean and variance of --normalization=batch.',
    lower_bound=0.0,
    upper_bound=1.0,
    needs=('normalization', ('batch',)),
  )
