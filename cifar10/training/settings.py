"""The settings of optimizers and of transfer."""

import dataclasses

from cifar10.util.flag_field import LARGEST
from cifar10.util.flag_field import flag


@dataclasses.dataclass(frozen=True)
class Optimizer:
  """What becomes of gradients."""

  optimizer: str = flag(
    'sgd',
    'The optimizer.',
    choices=(
      'sgd',
      'momentum',
      'nesterov',
      'adagrad',
      'rmsprop',
      'adam',
      'ftrl',
      'muon',
    ),
  )
  bias_rate: float = flag(
    1.0,
    'Learning rate of biases, and of all that is not weights, as a multiple of '
    'that of weights.',
    lower_bound=0.0,
    upper_bound=LARGEST,
  )
  softmax_rate: float = flag(
    1.0,
    'Learning rate of the weights of the last layer, as a multiple of that of '
    'the others.',
    lower_bound=0.0,
    upper_bound=LARGEST,
  )
  momentum: float = flag(
    0.9,
    'Momentum of momentum and nesterov, and of what muon does not train.',
    lower_bound=0.0,
    upper_bound=1.0,
    needs=('optimizer', ('momentum', 'nesterov', 'muon')),
  )
  muon_momentum: float = flag(
    0.6,
    'Momentum of muon.',
    lower_bound=0.0,
    upper_bound=1.0,
    needs=('optimizer', ('muon',)),
  )
  rmsprop_decay: float = flag(
    0.9,
    'Decay of the mean square of gradients of rmsprop.',
    lower_bound=0.0,
    upper_bound=1.0,
    needs=('optimizer', ('rmsprop',)),
  )
  adam_beta1: float = flag(
    0.9,
    'Decay of the mean of gradients of adam.',
    lower_bound=0.0,
    upper_bound=1.0,
    needs=('optimizer', ('adam',)),
  )
  adam_beta2: float = flag(
    0.999,
    'Decay of the mean square of gradients of adam.',
    lower_bound=0.0,
    upper_bound=1.0,
    needs=('optimizer', ('adam',)),
  )
  epsilon: float = flag(
    1e-8,
    'What rmsprop adds to the mean square of gradients, and adam to its root.',
    lower_bound=0.0,
    upper_bound=LARGEST,
    needs=('optimizer', ('rmsprop', 'adam')),
  )
  ftrl_l1: float = flag(
    0.0,
    'L1 penalty of ftrl, which sets weights to zero.',
    lower_bound=0.0,
    upper_bound=LARGEST,
    needs=('optimizer', ('ftrl',)),
  )
  ftrl_l2: float = flag(
    0.0,
    'L2 penalty of ftrl.',
    lower_bound=0.0,
    upper_bound=LARGEST,
    needs=('optimizer', ('ftrl',)),
  )
  clip_norm: float = flag(
    0.0,
    'Largest global norm of the gradients; 0: no limit.',
    lower_bound=0.0,
    upper_bound=LARGEST,
  )
  clip_norm_each: float = flag(
    0.0,
    'Largest norm of the gradient of each variable; 0: no limit.',
    lower_bound=0.0,
    upper_bound=LARGEST,
  )
  clip_value: float = flag(
    0.0,
    'Largest absolute value in the gradients; 0: no limit.',
    lower_bound=0.0,
    upper_bound=LARGEST,
  )


@dataclasses.dataclass(frozen=True)
class Pretraining:
  """What is learnt from images without labels."""

  task: str = flag(
    'autoencoder',
    'autoencoder, or rbm, a restricted Boltzmann machine: layer by layer, to '
    'reconstruct the inputs of each layer; corrupted or max_margin: to tell '
    'images from corrupted ones, by cross entropy or by a margin between their '
    'scores.',
    choices=('autoencoder', 'rbm', 'corrupted', 'max_margin'),
    saved=False,
  )


@dataclasses.dataclass(frozen=True)
class Transfer:
  """What a run takes over from another one, and what stays as it is."""

  init_from: str = flag(
    '',
    'A checkpoint, the --train_dir of a run, or a model that comes with the '
    'package, pretrained:tutorial or pretrained:fast, whose variables a new '
    'run begins with: their moving averages, if it has them.',
    agreed=False,
    holds_checkpoints=True,
  )
  init_scope: str = flag(
    '',
    'Regular expression for the beginning of the names of these variables, '
    'such as conv[12]; empty: all that fit.',
    needs=('init_from', None),
    agreed=False,
  )
  init_map: str = flag(
    '',
    'Names there that differ from those here: conv1:layer1,conv2:layer2 takes '
    'conv1 from layer1.',
    needs=('init_from', None),
    agreed=False,
  )
  freeze: str = flag(
    '',
    'Regular expression for the beginning of the names of variables that are '
    'not trained, such as conv[12].',
  )
  cache_frozen: int = flag(
    0,
    'Compute the frozen convolutional layers once, before training, for as '
    'many distorted versions of each training image; 0: in each step.',
    lower_bound=0,
    upper_bound=10000,
    agreed=False,
  )
  hold_zeros: bool = flag(
    False, 'Weights that are zero stay zero, as in a sparse checkpoint.'
  )
