"""Settings of the model: its images, its layers, its initial weights."""

from typing import Tuple

from cifar10.settings.field import amount
from cifar10.settings.field import choice
from cifar10.settings.field import count
from cifar10.settings.field import flag
from cifar10.settings.field import group
from cifar10.settings.field import share


@group(exported=True, searched=False)
class Data:
  """Which data set, and where it lies."""

  dataset: str = choice(
    'cifar10',
    ('cifar10', 'cifar100', 'svhn', 'sample'),
    'The data set. cifar10 means the data set that --data_dir/dataset.json '
    'describes, if there is one.',
    fixed=True,
  )
  cifar100_labels: str = choice(
    'fine',
    ('fine', 'coarse'),
    'Which labels of CIFAR-100: its 100 classes or its 20 groups of classes.',
    fixed=True,
    needs=('dataset', ('cifar100',)),
  )
  data_dir: str = flag(
    '/tmp/cifar10_data',
    'The folder of the data set; fetched data goes there.',
    agreed=False,
    is_path=True,
  )
  classes: Tuple[str, ...] = ()
  image_shape: Tuple[int, ...] = ()


@group(saved=False)
class Download:
  """Where a data set is fetched from."""

  data_url: str = flag(
    '',
    'Address to fetch the data set from, a mirror or a file:// address: of '
    'the archive, or for svhn of the folder of its two files. Default: the '
    'official address.',
  )
  data_sha256: str = flag(
    '',
    'SHA-256 of the file to fetch; for svhn both, with a comma between. '
    'Default: that of the official file.',
  )


@group()
class Input:
  """How images are put into batches."""

  batch_size: int = count(
    128, 'Images in a batch; each GPU takes one batch.', least=1, most=1 << 16
  )


@group(agreed=False)
class Pipeline:
  """How training images get from the disk into the graph."""

  input: str = choice(
    'queues',
    ('queues', 'preloaded', 'tf_data'),
    "Where batches of training images come from: queues, the tutorial's; "
    'preloaded, one variable that holds all records; or tf_data, a '
    'tf.data.Dataset.',
  )


@group()
class Augmentation:
  """How training images are distorted, each in its own way."""

  augment: str = flag(
    'crop,flip,brightness,contrast',
    'The distortions of training images, with commas between: crop, flip, '
    'brightness, contrast, shift, rotate, resize, saturation, hue, cutout, '
    'alternating_flip; empty: none.',
  )
  max_shift: float = share(
    0.125,
    'The share of the side of an image by which shift moves it at most.',
    most=0.5,
    needs=('augment', ('shift',)),
  )


@group(exported=True, fixed=True)
class Model:
  """What the model is made of."""

  network: str = choice(
    'tutorial',
    ('tutorial', 'airbench'),
    "The layers: tutorial, the tutorial's; or airbench, six convolutions on "
    'whitened images, with batch normalization, which learn fast.',
  )
  image_size: int = count(
    0,
    'Height and width, in pixels, that images are cropped to; 0: three '
    "quarters, the tutorial's 24 of 32.",
  )
  top_layers: str = choice(
    'full',
    ('full', 'local'),
    'What local3 and local4 are: full, fully connected; or local, locally '
    'connected as in cuda-convnet.',
    needs=('network', ('tutorial',)),
  )
  activation: str = choice(
    'relu',
    (
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
    'The activation function of all layers but the last.',
  )
  normalization: str = choice(
    'lrn',
    ('lrn', 'batch', 'none'),
    'lrn, local response normalization after the convolutions; batch, batch '
    'normalization before each activation; or none.',
  )


@group(agreed=False)
class Initialization:
  """The values that weights begin with."""

  initializer: str = choice(
    'tutorial',
    ('tutorial', 'xavier', 'he', 'lecun'),
    "How weights are drawn: tutorial, with the tutorial's standard deviation "
    'of each layer; or with a variance that the number of inputs and outputs '
    'of a unit gives: xavier, he or lecun.',
  )
  initializer_distribution: str = choice(
    'normal',
    ('normal', 'uniform'),
    'The distribution of xavier, he and lecun; normal is truncated.',
    needs=('initializer', ('xavier', 'he', 'lecun')),
  )
  initializer_fan: str = choice(
    'default',
    ('default', 'in', 'out', 'mean'),
    'What the variance of xavier, he and lecun is divided by: the inputs of '
    'a unit (in), its outputs (out) or their mean (mean). Default: mean for '
    'xavier, in for the others.',
    needs=('initializer', ('xavier', 'he', 'lecun')),
  )


@group()
class Regularization:
  """What keeps the model from learning its training images by heart."""

  regularizer: str = choice(
    'tutorial',
    ('tutorial', 'l1', 'l2', 'l1_l2', 'none'),
    "tutorial, the tutorial's weight decay of local3 and local4; or a "
    'penalty on the weights of all layers: l1, l2 or both, l1_l2; or none.',
  )
  l1_scale: float = amount(
    0.0001,
    'Factor of the sum of absolute weights.',
    needs=('regularizer', ('l1', 'l1_l2')),
  )
  l2_scale: float = amount(
    0.001,
    'Factor of half the sum of squared weights.',
    needs=('regularizer', ('l2', 'l1_l2')),
  )
  input_dropout: float = share(
    0.0,
    'Fraction of the numbers of an image that each training step drops.',
    most=0.99,
  )
  conv_dropout: float = share(
    0.0,
    'Fraction of the outputs of the convolutional layers, after pooling, '
    'that each training step drops.',
    most=0.99,
  )
  dropout: float = share(
    0.0,
    'Fraction of the outputs of local3 and local4 that each training step '
    'drops.',
    most=0.99,
    needs=('network', ('tutorial',)),
  )
  max_norm: float = amount(
    0.0,
    'Largest norm of the weights of a unit, kept after each step; 0: no limit.',
  )
  label_smoothing: float = share(
    0.0,
    'Share of the probability of each label that is spread over all classes.',
    most=0.99,
  )
  batch_norm_decay: float = share(
    0.99,
    'Decay of the moving mean and variance of --normalization=batch.',
    needs=('normalization', ('batch',)),
  )
